/* SPDX-License-Identifier: GPL-3.0-or-later */
// The parts of the receivers alone. What receivers decode, qa_nr_receive.py tests.
#define BOOST_TEST_MODULE nr_receiver
#include "kernels/common/testing.h"
#include "kernels/nr_receiver/frequency_filter.h"
#include "kernels/nr_receiver/noise_covariance.h"
#include "kernels/nr_receiver/time_weights.h"
#include <cmath>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr;

namespace {

constexpr double pi = 3.14159265358979323846;

struct gaussian {
    std::mt19937 engine{ 1 };
    std::normal_distribution<float> normal{ 0, std::sqrt(0.5f) };
    complex64 operator()() { return { normal(engine), normal(engine) }; }
};

struct comb {
    std::vector<float> re, im;
    explicit comb(int pilots)
    {
        gaussian draw;
        for (int i = 0; i < pilots; ++i) {
            const auto z = draw();
            re.push_back(z.real());
            im.push_back(z.imag());
        }
    }
    complex64 at(int i) const { return { re[i], im[i] }; }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_tone_is_the_weighted_sum_of_its_window)
{
    for (const int spacing : { 4, 6 }) {
        for (const int pilots : { 2, 3, 5, 24, 25, 40, 156 }) {
            const int taps = std::min(24, pilots), tones = spacing * pilots;
            const wiener_table table(taps, spacing, 0.01, 30);
            const comb z(pilots);
            for (int start = 0; start < spacing; ++start) {
                std::vector<float> re(tones, NAN), im(tones, NAN);
                filter_run(table,
                           z.re.data(),
                           z.im.data(),
                           pilots,
                           start,
                           tones,
                           re.data(),
                           im.data());
                for (int t = 0; t < tones; ++t) {
                    const int tap = first_tap(table, pilots, start, t);
                    const size_t row = table.row(t - start - spacing * tap);
                    complex64 sum = 0;
                    for (int i = 0; i < taps; ++i) {
                        sum += complex64(table.re[row * taps + i],
                                         table.im[row * taps + i]) *
                               z.at(tap + i);
                    }
                    BOOST_REQUIRE_SMALL(std::abs(sum - complex64(re[t], im[t])), 2e-5f);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(weights_follow_the_profile)
{
    // Of a flat channel with taps values the estimate is their mean, less its bias.
    const wiener_table flat(8, 4, 1e-9, 1e4);
    for (int d = -3; d < 32; ++d) {
        for (int i = 0; i < 8; ++i) {
            BOOST_REQUIRE_CLOSE(flat.re[flat.row(d) * 8 + i], 0.125f, 0.1f);
        }
        BOOST_REQUIRE_CLOSE(flat.error[flat.row(d)], 1 / 8e4, 1.0);
    }
    // Without correlation only a pilot's own value counts: r / (r + 1).
    const wiener_table wild(8, 4, 1e5, 3);
    BOOST_REQUIRE_CLOSE(wild.re[wild.row(12) * 8 + 3], 0.75f, 0.1f);
    BOOST_REQUIRE_CLOSE(wild.error[wild.row(12)], 0.25f, 0.1f);
    BOOST_REQUIRE_CLOSE(wild.error[wild.row(14)], 1.0f, 0.1f);
}

BOOST_AUTO_TEST_CASE(prediction_leaves_each_pilot_out)
{
    // Two values: each predicts the other as correlation / (1 + noise) times itself.
    const double spread = 0.01, snr = 10;
    const wiener_table table(2, 4, spread, snr);
    const comb z(2);
    const double x = 2 * pi * spread * 4;
    const auto correlation = std::polar(1.0, x) / complex128(1, x);
    const auto gain = correlation / (1 + 1 / snr);
    const complex128 a = z.at(0), b = z.at(1);
    const double expected = std::norm(b - gain * a) + std::norm(a - std::conj(gain) * b);
    BOOST_REQUIRE_CLOSE(
        prediction_error(table, z.re.data(), z.im.data(), 2), expected, 0.01);
}

BOOST_AUTO_TEST_CASE(a_covariance_is_colored_only_beyond_chance)
{
    constexpr int n = 4, bundles = 10, samples = 60;
    for (const double interference : { 0.0, 2.0 }) {
        gaussian draw;
        residual_sums sums(n, bundles);
        const float strength = static_cast<float>(std::sqrt(interference));
        for (int b = 0; b < bundles; ++b) {
            for (int s = 0; s < samples; ++s) {
                const auto other = draw() * strength;
                std::vector<complex64> r;
                for (int i = 0; i < n; ++i) {
                    r.push_back(draw() + other);
                }
                for (int i = 0; i < n; ++i) {
                    for (int k = 0; k <= i; ++k) {
                        sums.products[(b * n + i) * n + k] +=
                            complex128(r[i] * std::conj(r[k]));
                    }
                }
            }
            sums.samples[b] = samples;
        }
        const auto found = find_noise_covariance(sums, 24, 0.5, false);
        BOOST_REQUIRE_CLOSE(found.mean, 0.5 * (1 + interference), 10.0);
        BOOST_REQUIRE_EQUAL(found.colored, interference > 0);
        if (found.colored) {
            BOOST_REQUIRE_EQUAL(found.matrices.size(), size_t(bundles) * n * n);
            BOOST_REQUIRE_CLOSE(found.matrices[n].real(), 1.0f, 30.0f); // row 1, column 0
        }
        const auto always = find_noise_covariance(sums, 24, 0.5, true);
        BOOST_REQUIRE(always.colored);
    }
    const auto none = find_noise_covariance(residual_sums(2, 3), 24, 1, true);
    BOOST_REQUIRE(!none.colored && none.mean == 0);
}

BOOST_AUTO_TEST_CASE(a_frequency_offset_is_found_from_uneven_positions)
{
    const std::vector<double> times{ 2, 5, 8, 11 };
    const double turns = 0.13, error = 1e-4;
    time_correlation products{ 4, std::vector<complex128>(16), 100 };
    for (int p = 0; p < 4; ++p) {
        for (int q = p; q < 4; ++q) {
            products.sums[p * 4 + q] =
                100.0 * std::polar(1.0, 2 * pi * turns * (times[q] - times[p]));
        }
    }
    const auto found =
        find_time_weights(times, 14, products, error, error, -1, true, true);
    BOOST_REQUIRE_CLOSE(found.turns_a_symbol, turns, 1e-6);
    BOOST_REQUIRE_SMALL(found.doppler_turns, 1e-3);
    for (int symbol = 0; symbol < 14; ++symbol) {
        complex128 sum = 0; // of estimates 1, turned on
        for (int p = 0; p < 4; ++p) {
            sum += complex128(found.weights[symbol * 4 + p]) *
                   std::polar(1.0, 2 * pi * turns * times[p]);
        }
        BOOST_REQUIRE_SMALL(std::abs(sum - std::polar(1.0, 2 * pi * turns * symbol)),
                            1e-3);
    }
    // Straight lines, held at the ends.
    const auto lines =
        find_time_weights(times, 14, products, error, error, -1, false, false);
    BOOST_REQUIRE_EQUAL(lines.weights[0], complex64(1));
    BOOST_REQUIRE_CLOSE(lines.weights[3 * 4].real(), 2 / 3.0f, 1e-3f);
    BOOST_REQUIRE_EQUAL(lines.weights[13 * 4 + 3], complex64(1));
}
