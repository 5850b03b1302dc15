/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper
#include "kernels/common/testing.h"
#include "kernels/mimo/demapper/qa_soft_demapper_oracle.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <limits>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

soft_demapper::parameters
parameters_of(const std::string& name, bool max_log = true, int llr_positive = 0)
{
    return { constellation::make(name), max_log, llr_positive };
}

//! Points that no standard has: a spiral, whose labels are in no order.
constellation spiral(int bits)
{
    constellation c{ "spiral", bits, {} };
    const int count = 1 << bits;
    for (int label = 0; label < count; ++label) {
        const float turn = (label * 5 % count) + 0.5f;
        c.points.push_back(std::polar(std::sqrt(2.0f * turn / count), 2.4f * turn));
    }
    return c;
}

//! The constellations of every name, and of every number of bits.
std::vector<constellation> all_constellations()
{
    std::vector<constellation> all;
    for (const auto& name : constellation_names()) {
        all.push_back(constellation::make(name));
    }
    for (int bits = 1; bits <= 8; ++bits) {
        all.push_back(spiral(bits));
    }
    return all;
}

std::vector<float> demap_on(backend where,
                            const soft_demapper::parameters& p,
                            const std::vector<complex64>& x,
                            const std::vector<float>& noise)
{
    const auto q = queue::make(where);
    const array<complex64> x_there(*q, view<const complex64>(x));
    const array<float> noise_there(*q, view<const float>(noise));
    auto llr = poisoned<float>(*q, x.size() * p.points.bits);
    soft_demapper::make(p, where)->run(x_there, noise_there, llr, *q);
    return llr.to_host();
}

std::vector<float> demap(const soft_demapper::parameters& p,
                         const std::vector<complex64>& x,
                         const std::vector<float>& noise)
{
    return demap_on(tested_backend(), p, x, noise);
}

} // namespace

BOOST_AUTO_TEST_CASE(bpsk_gives_4_re_x_over_n)
{
    for (const bool max_log : { true, false }) {
        const std::vector<complex64> x{ { 1.0f, 0.0f },
                                        { -0.25f, 3.0f },
                                        { 0.0f, -1.0f } };
        const auto llr = demap(parameters_of("bpsk", max_log), x, { 0.5f, 2.0f, 1.0f });
        BOOST_TEST(std::abs(llr[0] - 8.0f) < 4e-6f);
        BOOST_TEST(std::abs(llr[1] + 0.5f) < 4e-6f);
        BOOST_TEST(std::abs(llr[2]) < 4e-6f);
    }
}

// Each axis is BPSK of amplitude 1 / sqrt(2): 4 / sqrt(2) times the coordinate over N.
BOOST_AUTO_TEST_CASE(qpsk_gives_2_sqrt_2_times_each_coordinate_over_n)
{
    for (const bool max_log : { true, false }) {
        const auto x = gaussian<complex64>(257);
        const auto llr = demap(parameters_of("qpsk", max_log), x, { 0.25f });
        const auto wifi = demap(parameters_of("wifi_qpsk", max_log), x, { 0.25f });
        for (size_t i = 0; i < x.size(); ++i) {
            const double scale = 2.0 * std::sqrt(2.0) / 0.25;
            BOOST_TEST(std::abs(llr[2 * i] - scale * x[i].real()) < 1e-5);
            BOOST_TEST(std::abs(llr[2 * i + 1] - scale * x[i].imag()) < 1e-5);
            BOOST_TEST(std::abs(wifi[2 * i] + scale * x[i].real()) < 1e-5);
            BOOST_TEST(std::abs(wifi[2 * i + 1] + scale * x[i].imag()) < 1e-5);
        }
    }
}

BOOST_AUTO_TEST_CASE(llrs_equal_the_definition_for_every_constellation)
{
    for (const auto& c : all_constellations()) {
        const auto in = noisy_symbols(c, c.bits > 6 ? 333 : 1111);
        for (const bool max_log : { true, false }) {
            BOOST_TEST_CONTEXT(c.name << " of " << c.bits << " bits, max_log " << max_log)
            {
                const soft_demapper::parameters p{ c, max_log, 0 };
                check_against_definition(p, in, demap(p, in.x, in.noise));
            }
        }
    }
}

// Where levels are told by one term of a sum, by two that tie, or by all; on boundaries
// of bits, between points and far beyond them.
BOOST_AUTO_TEST_CASE(llrs_of_qam_hold_from_much_noise_to_hardly_any)
{
    std::uniform_real_distribution<float> decade(-6.0f, 1.0f);
    std::uniform_real_distribution<float> place(-2.5f, 2.5f);
    for (const char* name :
         { "qpsk", "qam16", "qam64", "qam256", "qam1024", "wifi_qam64" }) {
        const auto p = parameters_of(name, false, 1);
        float unit = 1.0f;
        for (const auto s : p.points.points) {
            unit = std::min(unit, std::abs(s.real()));
        }
        symbols in;
        for (int i = 0; i < 2000; ++i) {
            const float re = place(generator());
            const float im = place(generator());
            in.noise.push_back(std::pow(10.0f, decade(generator())));
            in.x.push_back(i % 3 ? complex64(re, im)
                                 : complex64(std::round(re / unit) * unit, im * 20.0f));
        }
        BOOST_TEST_CONTEXT(name)
        check_against_definition(p, in, demap(p, in.x, in.noise));
    }
}

BOOST_AUTO_TEST_CASE(every_batch_size_gives_each_symbol_its_own_llrs)
{
    for (const char* name : { "bpsk",
                              "qpsk",
                              "dvbs2_8psk",
                              "dvbs2_16apsk_3/4",
                              "qam16",
                              "qam64",
                              "qam256" }) {
        const auto p = parameters_of(name);
        for (const size_t count : { 0, 1, 2, 7, 31, 32, 33, 255, 256, 257, 9001 }) {
            const auto in = noisy_symbols(p.points, count);
            BOOST_TEST_CONTEXT(name << ", " << count << " symbols")
            check_against_definition(p, in, demap(p, in.x, in.noise));
        }
    }
}

// What stands in memory around the arrays, and at addresses of their items' own
// alignment only, as in GNU Radio's buffers.
BOOST_AUTO_TEST_CASE(nothing_is_read_or_written_beyond_the_views)
{
    for (const char* name : { "bpsk", "qpsk", "dvbs2_8psk", "qam64", "qam256" }) {
        const auto p = parameters_of(name);
        const int bits = p.points.bits;
        for (const size_t count : { 1, 13, 300 }) {
            const auto in = noisy_symbols(p.points, count);
            auto x = gaussian<complex64>(count + 2);
            std::copy(in.x.begin(), in.x.end(), x.begin() + 1);
            std::vector<float> noise(count + 2, nan_value);
            std::copy(in.noise.begin(), in.noise.end(), noise.begin() + 1);

            const auto q = queue::make(tested_backend());
            const array<complex64> x_there(*q, view<const complex64>(x));
            const array<float> noise_there(*q, view<const float>(noise));
            auto llr = poisoned<float>(*q, count * bits + 2);
            const auto plan = soft_demapper::make(p, tested_backend());
            plan->run(view<const complex64>(x_there).part(1, count),
                      view<const float>(noise_there).part(1, count),
                      llr.all().part(1, count * bits),
                      *q);
            auto got = llr.to_host();
            const auto poison = poisoned<float>(*q, 1).to_host();
            BOOST_TEST(std::memcmp(&got.front(), poison.data(), sizeof(float)) == 0);
            BOOST_TEST(std::memcmp(&got.back(), poison.data(), sizeof(float)) == 0);
            got.erase(got.begin());
            got.pop_back();
            check_against_definition(p, in, got);
        }
    }
}

BOOST_AUTO_TEST_CASE(noiseless_points_have_the_signs_of_their_labels)
{
    for (const auto& c : all_constellations()) {
        // Of pairs that hardly differ, the points beside them tip the sums at more noise.
        const float most_noise = c.name == "dvbs2x_256apsk_20/30" ? 1e-5f : 1e-3f;
        for (const bool max_log : { true, false }) {
            for (const float noise : { most_noise, 1e-30f }) {
                const auto llr = demap({ c, max_log, 0 }, c.points, { noise });
                size_t wrong = 0;
                for (size_t i = 0; i < llr.size(); ++i) {
                    const int bit = (i / c.bits >> (c.bits - 1 - i % c.bits)) & 1;
                    wrong += bit ? !(llr[i] < 0.0f) : !(llr[i] > 0.0f);
                }
                BOOST_TEST(wrong == 0u, c.name << ", " << c.bits << " bits, N " << noise);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(llr_positive_1_turns_every_sign)
{
    for (const char* name : { "qpsk", "dvbs2_8psk", "qam256" }) {
        for (const bool max_log : { true, false }) {
            const auto in = noisy_symbols(constellation::make(name), 100);
            const auto zero = demap(parameters_of(name, max_log, 0), in.x, in.noise);
            const auto one = demap(parameters_of(name, max_log, 1), in.x, in.noise);
            size_t wrong = 0;
            for (size_t i = 0; i < zero.size(); ++i) {
                wrong += zero[i] != -one[i];
            }
            BOOST_TEST(wrong == 0u, name);
        }
    }
}

BOOST_AUTO_TEST_CASE(one_noise_variance_serves_all_symbols)
{
    for (const char* name : { "qam16", "dvbs2_16apsk_2/3" }) {
        const auto p = parameters_of(name);
        const auto in = noisy_symbols(p.points, 1000);
        const auto shared = demap(p, in.x, { 0.3f });
        const auto each = demap(p, in.x, std::vector<float>(1000, 0.3f));
        BOOST_TEST(shared == each, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(symbols_and_noise_that_cannot_be_used_are_erasures_and_harm_no_other)
{
    for (const char* name : { "bpsk", "qpsk", "dvbs2_8psk", "qam64", "qam256" }) {
        for (const bool max_log : { true, false }) {
            const auto p = parameters_of(name, max_log);
            auto in = noisy_symbols(p.points, 200);
            const auto good = demap(p, in.x, in.noise);
            const std::vector<std::pair<complex64, float>> bad{
                { { nan_value, 0.5f }, 1.0f }, { { 0.5f, nan_value }, 1.0f },
                { { infinity, 0.5f }, 1.0f },  { { 0.5f, -infinity }, 1.0f },
                { { 0.5f, 0.5f }, 0.0f },      { { 0.5f, 0.5f }, -0.0f },
                { { 0.5f, 0.5f }, -1.0f },     { { 0.5f, 0.5f }, infinity },
                { { 0.5f, 0.5f }, -infinity }, { { 0.5f, 0.5f }, nan_value }
            };
            const auto place = [](size_t k) { return 3 + 17 * k; };
            for (size_t k = 0; k < bad.size(); ++k) {
                std::tie(in.x[place(k)], in.noise[place(k)]) = bad[k];
            }
            auto wanted = good;
            for (size_t k = 0; k < bad.size(); ++k) {
                std::fill_n(
                    wanted.begin() + place(k) * p.points.bits, p.points.bits, 0.0f);
            }
            BOOST_TEST(demap(p, in.x, in.noise) == wanted,
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_noise_variance_for_all_that_cannot_be_used_erases_all)
{
    for (const float noise : { 0.0f, -1.0f, infinity, nan_value }) {
        const auto llr =
            demap(parameters_of("qam16"), gaussian<complex64>(40), { noise });
        BOOST_TEST(llr == std::vector<float>(160, 0.0f),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(finite_input_of_any_size_gives_finite_llrs_of_the_right_sign)
{
    const float largest = std::numeric_limits<float>::max();
    const float smallest = std::numeric_limits<float>::denorm_min();
    for (const auto& c : all_constellations()) {
        for (const bool max_log : { true, false }) {
            symbols in;
            for (const float size : { smallest, 1e-20f, 1.0f, 1e6f, 1e19f, largest }) {
                for (const float noise : { smallest, 1e-38f, 1.0f, 1e6f, largest }) {
                    for (const complex64 corner : { complex64(size, size),
                                                    complex64(-size, 0.5f),
                                                    complex64(0, size) }) {
                        in.x.push_back(corner);
                        in.noise.push_back(noise);
                    }
                }
            }
            const auto llr = demap({ c, max_log, 0 }, in.x, in.noise);
            BOOST_TEST(std::all_of(llr.begin(),
                                   llr.end(),
                                   [](float each) { return std::abs(each) <= 1e9f; }),
                       c.name);
        }
    }
    const std::vector<complex64> x{ { largest, -largest }, { -1e6f, 1e-3f } };
    for (const bool max_log : { true, false }) {
        const auto llr = demap(parameters_of("qpsk", max_log), x, { 1e-3f });
        BOOST_TEST((llr[0] > 1e6f && llr[1] < -1e6f && llr[2] < -1e6f));
        BOOST_TEST(std::abs(llr[3] - 2.828f) < 0.01f);
    }
}

BOOST_AUTO_TEST_CASE(max_log_gives_the_same_bits_on_cpu_and_cuda)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    for (const auto& c : all_constellations()) {
        const soft_demapper::parameters p{ c, true, 0 };
        const auto in = noisy_symbols(c, 2003);
        BOOST_TEST(demap(p, in.x, in.noise) == demap_on(backend::cpu, p, in.x, in.noise),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_max_log_bits)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const auto& c : all_constellations()) {
        const auto in = noisy_symbols(c, 1003);
        const soft_demapper::parameters exact{ c, false, 0 };
        const soft_demapper::parameters max_log{ c, true, 0 };
        const auto wanted = demap(max_log, in.x, in.noise);
        const auto defined = definitions(exact, in);
        for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
            hwy::SetSupportedTargetsForTest(target);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            BOOST_TEST_CONTEXT(hwy::TargetName(target))
            {
                // One check for all, because a Boost check an element is slow.
                BOOST_TEST((demap(max_log, in.x, in.noise) == wanted));
                check_against(defined, exact, in, demap(exact, in.x, in.noise));
            }
            hwy::SetSupportedTargetsForTest(0);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        }
    }
}

BOOST_AUTO_TEST_CASE(every_backend_equals_the_reference)
{
    if (tested_backend() == backend::reference) {
        return; // it would be compared with itself
    }
    for (const auto& c : all_constellations()) {
        for (const bool max_log : { true, false }) {
            const soft_demapper::parameters p{ c, max_log, 1 };
            const auto in = noisy_symbols(c, 517);
            const auto got = demap(p, in.x, in.noise);
            const auto wanted = demap_on(backend::reference, p, in.x, in.noise);
            const double furthest = furthest_point(c);
            size_t wrong = 0;
            for (size_t i = 0; i < got.size(); ++i) {
                const size_t k = i / c.bits;
                wrong += !(std::abs(got[i] - wanted[i]) <=
                           tolerance(c, furthest, max_log, in.x[k], in.noise[k]));
            }
            BOOST_TEST(wrong == 0u,
                       c.name << " of " << c.bits << " bits, max_log " << max_log);
        }
    }
}

// What a demapper is for: P(bit = 0) is 1 / (1 + exp(-LLR)) where LLRs are exact.
BOOST_AUTO_TEST_CASE(exact_llrs_are_the_odds_that_bits_have)
{
    const auto p = parameters_of("qam16", false);
    const size_t count = 100000;
    std::vector<size_t> labels(count);
    auto x = gaussian<complex64>(count);
    const float noise = 0.2f;
    for (size_t i = 0; i < count; ++i) {
        labels[i] = generator()() % 16;
        x[i] = p.points.points[labels[i]] + std::sqrt(noise) * x[i];
    }
    const auto llr = demap(p, x, { noise });
    double expected[4] = {};
    double variance[4] = {};
    double seen[4] = {};
    for (size_t i = 0; i < llr.size(); ++i) {
        const int group = std::min(3, int(std::abs(llr[i])));
        const int bit = (labels[i / 4] >> (3 - i % 4)) & 1;
        const double wrong = 1.0 / (1.0 + std::exp(std::abs(double(llr[i]))));
        expected[group] += wrong;
        variance[group] += wrong * (1.0 - wrong);
        seen[group] += (llr[i] > 0.0f) == (bit == 1);
    }
    for (int group = 0; group < 4; ++group) {
        BOOST_TEST(std::abs(seen[group] - expected[group]) <
                   6.0 * std::sqrt(variance[group]));
    }
}

BOOST_AUTO_TEST_CASE(parameters_and_sizes_out_of_range_are_refused)
{
    const auto refused = [](const soft_demapper::parameters& p,
                            const std::string& saying) {
        BOOST_CHECK_EXCEPTION(soft_demapper::make(p, tested_backend()),
                              std::invalid_argument,
                              [&](const std::invalid_argument& problem) {
                                  return std::string(problem.what()).find(saying) !=
                                         std::string::npos;
                              });
    };
    auto p = parameters_of("qpsk");
    p.llr_positive = 2;
    refused(p, "llr_positive is 2; it is 0 or 1");
    p = parameters_of("qpsk");
    p.points.bits = 11;
    refused(p, "11 bits per symbol; 1 to 10");
    p.points.bits = 0;
    refused(p, "0 bits per symbol; 1 to 10");
    p.points = spiral(9);
    refused(p, "more than 8 bits per symbol is the product of two axes");
    p = parameters_of("qpsk");
    p.points.bits = 3;
    refused(p, "4 points for 3 bits per symbol; it takes 8");
    p = parameters_of("qpsk");
    p.points.points[2] = { 0.0f, nan_value };
    refused(p, "point 2");
    p.points.points[2] = { 2e6f, 0.0f };
    refused(p, "point 2");

    const auto q = queue::make(tested_backend());
    const auto plan = soft_demapper::make(parameters_of("qam16"), tested_backend());
    const array<complex64> x(*q, 10);
    const array<float> noise(*q, 10);
    array<float> llr(*q, 40);
    const view<const float> noise_view = noise;
    BOOST_CHECK_THROW(plan->run(x, noise_view.part(0, 9), llr, *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(plan->run(x, noise_view.part(0, 0), llr, *q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(plan->run(x, noise_view, llr.all().part(0, 39), *q),
                      std::invalid_argument);
}
