/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE equalizer_detectors
#include "kernels/common/testing.h"
#include "kernels/mimo/equalizer/qa_equalizer_oracle.h"
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;
using parameters = equalizer::parameters;
using complex = std::complex<double>;

namespace {

constexpr auto zf = detector::zero_forcing;
constexpr auto mmse = detector::mmse;
constexpr auto irc = detector::mmse_irc;
constexpr auto mrc = detector::max_ratio;

batch random_batch(const parameters& p, size_t groups, float n0)
{
    batch b;
    b.h = gaussian<complex64>(groups * p.tones * p.receive_antennas * p.layers);
    b.n0.assign(1, n0);
    send(p, groups, b);
    return b;
}

//! Rayleigh channels whose neighbouring antennas, on both sides, are correlated by rho.
void correlate(const parameters& p, float rho, std::vector<complex64>& h)
{
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    const float fresh = std::sqrt(1 - rho * rho);
    for (size_t first = 0; first < h.size(); first += nr * nt) {
        for (int r = 0; r < nr; ++r) {
            for (int t = 1; t < nt; ++t) {
                auto* e = &h[first + r * nt + t];
                *e = rho * e[-1] + fresh * *e;
            }
        }
        for (int e = nt; e < nr * nt; ++e) {
            h[first + e] = rho * h[first + e - nt] + fresh * h[first + e];
        }
    }
}

//! Covariances sum_i power a_i a_i^H + n0 I of interferers a_i.
std::vector<complex64> covariance_of(
    size_t count, int nr, int interferers, float n0, std::vector<complex64>& arrivals)
{
    arrivals = gaussian<complex64>(count * interferers * nr);
    std::vector<complex64> out(count * nr * nr);
    for (size_t m = 0; m < count; ++m) {
        for (int r = 0; r < nr; ++r) {
            for (int c = 0; c < nr; ++c) {
                complex sum = r == c ? n0 : 0;
                for (int i = 0; i < interferers; ++i) {
                    const auto* a = &arrivals[(m * interferers + i) * nr];
                    sum += complex(a[r]) * std::conj(complex(a[c]));
                }
                out[(m * nr + r) * nr + c] = complex64(sum);
            }
        }
    }
    return out;
}

dense matrix_of(const complex64* from, int rows, int columns)
{
    dense out(rows, std::vector<complex>(columns));
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            out[r][c] = complex(from[r * columns + c]);
        }
    }
    return out;
}

//! Unbiased MMSE by the textbook: W = (H^H R^-1 H + I)^-1 H^H R^-1 in double precision.
void mmse_irc_theory(const dense& h,
                     const dense& covariance,
                     const complex64* y,
                     std::vector<complex>& x,
                     std::vector<double>& noise)
{
    const size_t nr = h.size();
    const size_t nt = h[0].size();
    const auto r_inverse = inverse_of(covariance);
    dense back(nt, std::vector<complex>(nr)); // H^H R^-1
    for (size_t t = 0; t < nt; ++t) {
        for (size_t c = 0; c < nr; ++c) {
            for (size_t r = 0; r < nr; ++r) {
                back[t][c] += std::conj(h[r][t]) * r_inverse[r][c];
            }
        }
    }
    dense gram(nt, std::vector<complex>(nt));
    for (size_t i = 0; i < nt; ++i) {
        gram[i][i] = 1;
        for (size_t j = 0; j < nt; ++j) {
            for (size_t r = 0; r < nr; ++r) {
                gram[i][j] += back[i][r] * h[r][j];
            }
        }
    }
    const auto inverse = inverse_of(gram);
    x.assign(nt, 0);
    noise.assign(nt, 0);
    for (size_t i = 0; i < nt; ++i) {
        const double error = inverse[i][i].real();
        for (size_t j = 0; j < nt; ++j) {
            for (size_t r = 0; r < nr; ++r) {
                x[i] += inverse[i][j] * back[j][r] * complex(y[r]);
            }
        }
        x[i] /= 1 - error;
        noise[i] = error / (1 - error);
    }
}

double decibels(double ratio) { return 10 * std::log10(ratio); }

} // namespace

BOOST_AUTO_TEST_CASE(correlated_rayleigh_channels_agree_with_double_precision)
{
    for (const float rho : { 0.0f, 0.9f }) {
        for (const int n : { 1, 2, 3, 4, 6, 8, 12, 16 }) {
            for (const int symbols : { 1, 3 }) {
                for (const auto method : { zf, mmse }) {
                    const parameters p{ n, n, method, true, symbols };
                    auto b = random_batch(p, 70, 0.01f);
                    correlate(p, rho, b.h);
                    send(p, 70, b);
                    compare(p, b, run(p, b));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(irc_agrees_with_the_textbook)
{
    for (const int symbols : { 1, 3 }) {
        for (const auto& [nr, nt] : { std::pair{ 1, 1 },
                                      { 2, 1 },
                                      { 2, 2 },
                                      { 3, 2 },
                                      { 4, 2 },
                                      { 4, 4 },
                                      { 8, 3 },
                                      { 8, 8 },
                                      { 13, 7 },
                                      { 2, 3 },
                                      { 3, 7 },
                                      { 4, 11 },
                                      { 9, 10 } }) {
            for (const int shared : { 0, 1, 2 }) { // each its own, a group's, one for all
                const size_t groups = 12;
                const parameters p{ nr, nt, irc, true, symbols, 3 };
                auto b = random_batch(p, groups, 0.1f);
                const size_t count = shared == 0 ? groups * 3 : shared == 1 ? groups : 1;
                std::vector<complex64> arrivals;
                b.covariance = covariance_of(count, nr, 1, 0.1f, arrivals);
                const auto out = run(p, b);
                for (size_t v = 0; v < groups * symbols * 3; ++v) {
                    const size_t m = v / (symbols * 3) * 3 + v % 3;
                    const size_t c = shared == 0 ? m : shared == 1 ? m / 3 : 0;
                    std::vector<complex> x;
                    std::vector<double> noise;
                    mmse_irc_theory(matrix_of(&b.h[m * nr * nt], nr, nt),
                                    matrix_of(&b.covariance[c * nr * nr], nr, nr),
                                    &b.y[v * nr],
                                    x,
                                    noise);
                    BOOST_TEST(out.status[m] == 0);
                    for (int t = 0; t < nt; ++t) {
                        const auto i = v * nt + t;
                        BOOST_TEST(std::abs(out.noise[i] / noise[t] - 1) < 2e-3);
                        BOOST_TEST(std::abs(complex(out.x[i]) - x[t]) <
                                   2e-3 * (1 + std::abs(x[t])));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(irc_without_interference_is_mmse)
{
    for (const int n : { 2, 4, 5, 8, 11 }) {
        for (const int symbols : { 1, 2 }) {
            auto b = random_batch({ n, n, mmse, true, symbols }, 40, 0.05f);
            const auto plain = run({ n, n, mmse, true, symbols }, b);
            const auto by_number = run({ n, n, irc, true, symbols }, b);
            BOOST_TEST((plain.x == by_number.x));
            BOOST_TEST((plain.noise == by_number.noise));
            b.covariance.assign(n * n, 0);
            for (int r = 0; r < n; ++r) {
                b.covariance[r * n + r] = 0.05f;
            }
            const auto white = run({ n, n, irc, true, symbols }, b);
            for (size_t i = 0; i < plain.x.size(); ++i) {
                const float noise = plain.noise[i];
                BOOST_TEST(std::abs(white.noise[i] - noise) < 1e-4f * noise);
                BOOST_TEST(std::abs(white.x[i] - plain.x[i]) <
                           1e-4f * (1 + std::abs(plain.x[i])));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(irc_sees_through_an_interferer_that_mmse_does_not)
{
    const int nr = 4;
    const int nt = 2;
    const int symbols = 4000;
    const float n0 = 0.01f;
    parameters p{ nr, nt, irc, true, symbols };
    auto b = random_batch(p, 1, n0);
    std::vector<complex64> arrivals;
    b.covariance = covariance_of(1, nr, 1, n0, arrivals);
    const auto interference = gaussian<complex64>(symbols);
    for (int s = 0; s < symbols; ++s) {
        for (int r = 0; r < nr; ++r) {
            b.y[s * nr + r] += arrivals[r] * interference[s];
        }
    }
    const auto error_of = [&](const result& out) {
        double sum = 0;
        for (size_t i = 0; i < out.x.size(); ++i) {
            sum += std::norm(out.x[i] - b.sent[i]) / out.x.size();
        }
        return sum;
    };
    const auto with = run(p, b);
    const double reported = (with.noise[0] + with.noise[1]) / 2;
    BOOST_TEST(std::abs(decibels(error_of(with) / reported)) < 0.3);
    auto white = b;
    white.covariance.clear();
    const auto without = run({ nr, nt, mmse, true, symbols }, white);
    BOOST_TEST(error_of(with) < 0.5 * error_of(without));
}

BOOST_AUTO_TEST_CASE(a_covariance_that_can_not_be_used_erases_what_it_serves_alone)
{
    for (const auto& [nr, symbols] : { std::pair{ 2, 1 },
                                       { 2, 2 },
                                       { 4, 1 },
                                       { 7, 1 },
                                       { 7, 2 },
                                       { 12, 1 },
                                       { 12, 2 } }) {
        const parameters p{ nr, nr, irc, true, symbols };
        auto b = random_batch(p, 20, 0.1f);
        std::vector<complex64> arrivals;
        b.covariance = covariance_of(20, nr, 2, 0.1f, arrivals);
        const auto clean = run(p, b);
        const auto set = [&](int group, int r, int c, complex64 value) {
            b.covariance[(group * nr + r) * nr + c] = value;
        };
        set(3, nr - 1, nr - 1, -1);
        set(5, nr - 1, 0, { NAN, 0 });
        set(7, 0, 0, { float_infinity, 0 });
        set(9, 0, 0, 0);
        std::fill_n(&b.covariance[11 * nr * nr], nr * nr, complex64(1)); // rank 1
        const auto out = run(p, b);
        for (int g = 0; g < 20; ++g) {
            const bool bad = g % 2 && g >= 3 && g <= 11;
            BOOST_TEST(out.status[g] == (bad ? -1 : 0), "group " << g << " of " << nr);
            for (int i = g * symbols * nr; i < (g + 1) * symbols * nr; ++i) {
                BOOST_TEST(out.x[i] == (bad ? complex64(0) : clean.x[i]));
                BOOST_TEST(out.noise[i] == (bad ? float_infinity : clean.noise[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(max_ratio_equals_theory)
{
    for (const auto& [nr, nt] : { std::pair{ 1, 1 },
                                  { 2, 1 },
                                  { 3, 2 },
                                  { 4, 1 },
                                  { 4, 4 },
                                  { 8, 1 },
                                  { 8, 5 },
                                  { 16, 1 },
                                  { 16, 16 } }) {
        for (const int symbols : { 1, 20 }) {
            for (const float size : { 1e-12f, 1.0f, 1e9f }) {
                const parameters p{ nr, nt, mrc, true, symbols };
                auto b = random_batch(p, 33, 0.2f * size * size);
                for (auto& h : b.h) {
                    h *= size;
                }
                send(p, 33, b);
                const auto out = run(p, b);
                for (size_t i = 0; i < out.x.size(); ++i) {
                    const size_t v = i / nt;
                    const auto h = matrix_of(&b.h[v / symbols * nr * nt], nr, nt);
                    const auto dot = [&](size_t a, const auto& other) {
                        complex sum = 0;
                        for (int r = 0; r < nr; ++r) {
                            sum += std::conj(h[r][a]) * other(r);
                        }
                        return sum;
                    };
                    const size_t t = i % nt;
                    const double energy = dot(t, [&](int r) { return h[r][t]; }).real();
                    double noise = double(b.n0[0]) / energy;
                    for (int j = 0; j < nt; ++j) {
                        if (size_t(j) != t) {
                            noise += std::norm(dot(t, [&](int r) { return h[r][j]; })) /
                                     (energy * energy);
                        }
                    }
                    const auto x =
                        dot(t, [&](int r) { return complex(b.y[v * nr + r]); }) / energy;
                    BOOST_TEST(std::abs(out.noise[i] / noise - 1) < 1e-4);
                    BOOST_TEST(std::abs(complex(out.x[i]) - x) <
                               1e-4 * (1 + std::abs(x)));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(max_ratio_erases_a_layer_that_is_not_there_and_no_other)
{
    for (const int n : { 2, 4, 9 }) {
        const parameters p{ n, n, mrc };
        auto b = random_batch(p, 5, 0.1f);
        for (int r = 0; r < n; ++r) {
            b.h[(2 * n + r) * n + 1] = 0;
        }
        b.h[3 * n * n] = { NAN, 0 };
        const auto out = run(p, b);
        BOOST_TEST(out.status == (std::vector<int>{ 0, 0, 2, -1, 0 }));
        for (int i = 0; i < 5 * n; ++i) {
            const bool bad = i == 2 * n + 1 || i / n == 3;
            BOOST_TEST((out.noise[i] == float_infinity) == bad);
            BOOST_TEST((out.x[i] == complex64(0)) == bad);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_inverse_route_agrees_on_good_channels)
{
    for (const auto& [nr, nt] : { std::pair{ 1, 1 }, { 3, 2 }, { 8, 4 }, { 16, 8 } }) {
        for (const auto method : { zf, mmse }) {
            for (const bool unbiased : { true, false }) {
                parameters p{ nr, nt, method, unbiased, 2, 3 };
                const auto b = random_batch(p, 21, 0.1f);
                const auto solved = run(p, b);
                p.route = equalizer_route::inverse;
                const auto inverted = run(p, b);
                BOOST_TEST(inverted.status == solved.status);
                for (size_t i = 0; i < solved.x.size(); ++i) {
                    const float noise = solved.noise[i];
                    const float bad = 1 + noise / 0.1f; // of the inverse, about
                    BOOST_TEST(std::abs(inverted.noise[i] - noise) < 2e-4f * bad * noise);
                    BOOST_TEST(std::abs(inverted.x[i] - solved.x[i]) <
                               1e-3f * bad * (1 + std::abs(solved.x[i])));
                }
            }
        }
    }
    BOOST_CHECK_THROW(equalizer::make({ 2, 2, mrc, true, 1, 1, equalizer_route::inverse },
                                      tested_backend()),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_inverse_route_erases_channels_without_an_inverse)
{
    for (const auto method : { zf, mmse }) {
        const parameters p{ 3, 3, method, true, 1, 1, equalizer_route::inverse };
        auto b = random_batch(p, 6, 0.1f);
        b.n0.assign(6, 0.1f);
        b.n0[1] = -1;
        b.h[2 * 9 + 4] = { 0, NAN };
        for (int r = 0; r < 3; ++r) {
            b.h[(4 * 3 + r) * 3 + 2] = b.h[(4 * 3 + r) * 3]; // rank 2
        }
        const auto out = run(p, b);
        const std::vector<int> expected{ 0, -1, -1, 0, method == zf ? 3 : 0, 0 };
        BOOST_TEST(out.status == expected);
        for (int i = 0; i < 18; ++i) {
            const bool bad = expected[i / 3] != 0;
            BOOST_TEST((out.noise[i] == float_infinity) == bad);
            BOOST_TEST((out.x[i] == complex64(0)) == bad);
        }
    }
}

BOOST_AUTO_TEST_CASE(one_channel_serves_all_groups)
{
    for (const auto method : { zf, mmse, mrc }) {
        for (const int n : { 2, 5 }) {
            const parameters p{ n, n, method, true, 2, 3 };
            auto many = random_batch(p, 1, 0.1f);
            many.y = gaussian<complex64>(40 * 2 * 3 * n);
            const auto out = run(p, many);
            BOOST_TEST(out.status == std::vector<int>(3, 0));
            auto each = many;
            each.h.clear();
            for (int g = 0; g < 40; ++g) {
                each.h.insert(each.h.end(), many.h.begin(), many.h.end());
            }
            const auto expected = run(p, each);
            BOOST_TEST((out.x == expected.x));
            BOOST_TEST((out.noise == expected.noise));
        }
    }
}

// The ratio of signal to interference and noise at the output, against theory in double
// precision: 1 / (1 - b) - 1 for MMSE.
BOOST_AUTO_TEST_CASE(the_signal_to_noise_ratio_at_the_output_is_that_of_theory)
{
    for (const auto method : { zf, mmse, irc, mrc }) {
        // Enough for a deviation of 0.02 dB.
        const parameters p{ 4, 2, method, true, 65536 };
        auto b = random_batch(p, 3, 0.1f);
        for (size_t e = 0; e < b.h.size(); ++e) { // good channels: the sample is finite
            b.h[e] += e % 8 == 0 || e % 8 == 3 ? 2.0f : 0.0f;
        }
        send(p, 3, b);
        const auto out = run(p, b);
        for (int g = 0; g < 3; ++g) {
            for (int t = 0; t < 2; ++t) {
                complex gain = 0;
                double power = 0;
                for (int s = 0; s < p.symbols; ++s) {
                    const size_t i = (size_t(g) * p.symbols + s) * 2 + t;
                    gain += complex(std::conj(b.sent[i]) * out.x[i]);
                    power += std::norm(out.x[i]);
                }
                const double signal = std::norm(gain / double(p.symbols));
                const double sinr = signal / (power / p.symbols - signal);
                const double reported = 1 / out.noise[size_t(g) * p.symbols * 2 + t];
                BOOST_TEST(std::abs(decibels(sinr / reported)) < 0.1);
            }
        }
    }
}

// LLRs are honest if of bits with LLRs about L one in 1 + e^L is wrong. MMSE's bias moves
// 16-QAM's points inwards, so that LLRs of biased layers are wrong.
BOOST_AUTO_TEST_CASE(llrs_of_unbiased_layers_are_honest_and_of_biased_ones_are_not)
{
    const auto points = constellation::make("qam16");
    const auto mismatch = [&](bool unbiased) {
        const parameters p{ 2, 2, mmse, unbiased };
        const size_t count = 100000;
        auto b = random_batch(p, count, 0.15f);
        std::vector<int> labels(count * 2);
        auto y = gaussian<complex64>(count * 2);
        for (size_t i = 0; i < labels.size(); ++i) {
            labels[i] = generator()() % 16;
        }
        for (size_t v = 0; v < count; ++v) {
            for (int r = 0; r < 2; ++r) {
                y[v * 2 + r] *= std::sqrt(0.15f);
                for (int t = 0; t < 2; ++t) {
                    y[v * 2 + r] +=
                        b.h[(v * 2 + r) * 2 + t] * points.points[labels[v * 2 + t]];
                }
            }
        }
        b.y = y;
        const auto out = run(p, b);
        auto q = queue::make(tested_backend());
        const array<complex64> x(*q, view<const complex64>(out.x));
        const array<float> noise(*q, view<const float>(out.noise));
        array<float> llr(*q, out.x.size() * 4);
        soft_demapper::make({ points, false, 0 }, tested_backend())
            ->run(x, noise, llr, *q);
        const auto host = llr.to_host();
        double reported[4] = {}, seen[4] = {};
        for (size_t i = 0; i < host.size(); ++i) {
            const int bit = labels[i / 4] >> (3 - i % 4) & 1;
            const double certainty = std::abs(host[i]);
            const int bin = int(certainty);
            if (bin < 4) {
                reported[bin] += 1 / (1 + std::exp(certainty));
                seen[bin] += (host[i] < 0) != (bit == 1);
            }
        }
        double worst = 0;
        for (int bin = 0; bin < 4; ++bin) {
            worst = std::max(worst, std::abs(std::log(seen[bin] / reported[bin])));
        }
        return worst;
    };
    BOOST_TEST(mismatch(true) < 0.15);
    BOOST_TEST(mismatch(false) > 0.3);
}
