/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE equalizer
#include "kernels/common/fused_testing.h"
#include "kernels/mimo/equalizer/qa_equalizer_oracle.h"
#include <cstring>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;
using parameters = equalizer::parameters;

namespace {

constexpr auto zf = detector::zero_forcing;
constexpr auto mmse = detector::mmse;

void scale(std::vector<complex64>& values, float by)
{
    for (auto& value : values) {
        value *= by;
    }
}

//! A batch of random channels with y = H s + noise, s QPSK.
batch random_batch(const parameters& p, size_t groups, float n0, bool one_n0 = false)
{
    batch b;
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    b.h = gaussian<complex64>(groups * p.tones * nr * nt);
    b.n0.assign(one_n0 ? 1 : groups, n0);
    for (size_t g = 0; g < groups; ++g) {
        b.n0[one_n0 ? 0 : g] *= one_n0 ? 1.0f : 1.0f + float(g % 5);
    }
    send(p, groups, b);
    return b;
}

} // namespace

BOOST_AUTO_TEST_CASE(names_of_detectors_are_known)
{
    BOOST_TEST((detector_from_name("zf") == zf));
    BOOST_TEST((detector_from_name("mmse") == mmse));
    BOOST_TEST((detector_from_name("mmse_irc") == detector::mmse_irc));
    BOOST_TEST((detector_from_name("mrc") == detector::max_ratio));
    BOOST_TEST((equalizer_route_from_name("solve") == equalizer_route::solve));
    BOOST_TEST((equalizer_route_from_name("inverse") == equalizer_route::inverse));
    BOOST_CHECK_THROW(equalizer_route_from_name("lu"), std::invalid_argument);
    BOOST_CHECK_THROW(detector_from_name("ml"), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_parameter_out_of_range_is_refused_with_its_range)
{
    const auto refused = [](parameters p, const std::string& value, const char* range) {
        try {
            equalizer::make(p, tested_backend());
            BOOST_ERROR("accepted " + value);
        } catch (const std::invalid_argument& problem) {
            const std::string what = problem.what();
            BOOST_TEST(what.find(value) != std::string::npos, what);
            BOOST_TEST(what.find(range) != std::string::npos, what);
        }
    };
    refused({ 0, 1 }, "0", "1 to 128");
    refused({ 129, 1 }, "129", "1 to 128");
    refused({ 4, 0 }, "0", "1 to 16");
    refused({ 4, 17 }, "17", "1 to 16");
    refused({ 4, 5, zf }, "5", "1 to 4");
    refused({ 4, 4, mmse, true, 0 }, "0", "1 to 65536");
    refused({ 4, 4, mmse, true, 65537 }, "65537", "1 to 65536");
    refused({ 4, 4, mmse, true, 1, 0 }, "0", "1 to 65536");
    refused({ 4, 4, mmse, true, 1, 65537 }, "65537", "1 to 65536");
    refused({ 4, 4, static_cast<detector>(7) }, "7", "mmse");
}

BOOST_AUTO_TEST_CASE(views_that_do_not_fit_are_refused)
{
    const parameters p{ 4, 2, mmse, true, 3, 5 };
    auto q = queue::make(tested_backend());
    const auto equal = equalizer::make(p, tested_backend());
    const array<complex64> y(*q, 2 * 3 * 5 * 4), h(*q, 2 * 5 * 8);
    array<complex64> x(*q, 2 * 3 * 5 * 2);
    const array<float> n0(*q, 2);
    array<float> noise(*q, 2 * 3 * 5 * 2);
    array<int> status(*q, 2 * 5);
    const auto run = [&](size_t y_less, size_t h_less, size_t n0_size, size_t x_less) {
        equal->run(view<const complex64>(y).part(0, y.size() - y_less),
                   view<const complex64>(h).part(0, h.size() - h_less),
                   { n0.data(), n0_size },
                   x.all().part(0, x.size() - x_less),
                   noise,
                   status,
                   *q);
    };
    BOOST_CHECK_THROW(run(1, 0, 2, 0), std::invalid_argument);
    BOOST_CHECK_THROW(run(0, 1, 2, 0), std::invalid_argument);
    BOOST_CHECK_THROW(run(0, 40, 2, 0), std::invalid_argument);
    BOOST_CHECK_THROW(run(0, 0, 0, 0), std::invalid_argument);
    BOOST_CHECK_THROW(run(0, 0, 3, 0), std::invalid_argument);
    BOOST_CHECK_THROW(run(0, 0, 2, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_textbook_formulas_hold)
{
    for (const auto& [nr, nt] : { std::pair{ 1, 1 }, { 2, 1 }, { 3, 3 }, { 8, 5 } }) {
        for (const auto method : { zf, mmse }) {
            for (const bool unbiased : { true, false }) {
                const parameters p{ nr, nt, method, unbiased };
                const auto b = random_batch(p, 50, 0.1f);
                compare(p, b, run(p, b, backend::reference));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_batch_size_agrees_with_the_textbook)
{
    for (const size_t groups : { 0, 1, 31, 32, 33, 3001 }) {
        for (const int n : { 1, 2, 3, 4, 8 }) {
            for (const auto method : { zf, mmse }) {
                const parameters p{ n, n, method, groups % 2 == 0 };
                const auto b = random_batch(p, groups, 0.03f);
                compare(p, b, run(p, b));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_number_of_antennas_and_layers_agrees_with_the_textbook)
{
    for (int nr = 1; nr <= 16; ++nr) {
        for (int nt = 1; nt <= nr; ++nt) {
            const auto method = generator()() % 2 ? zf : mmse;
            const parameters p{ nr, nt, method, generator()() % 2 == 0, 1 + nr % 3 };
            const auto b = random_batch(p, 19, 0.01f, nt % 2);
            compare(p, b, run(p, b));
        }
    }
}

BOOST_AUTO_TEST_CASE(mmse_serves_more_layers_than_antennas)
{
    for (int nr = 1; nr < 16; ++nr) {
        for (int nt = nr + 1; nt <= 16; ++nt) {
            for (const int symbols : { 1, 1 + nr % 3, 9 }) {
                const bool unbiased = generator()() % 2;
                const parameters p{ nr, nt, mmse, unbiased, symbols };
                const auto b = random_batch(p, 19, 0.1f, nt % 2);
                compare(p, b, run(p, b));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(correlated_channels_of_any_scale_agree_with_the_textbook)
{
    // With as many antennas as layers, some channels would be singular by chance.
    for (const int n : { 2, 4, 7, 13 }) {
        for (const auto method : { zf, mmse }) {
            for (const float apart : { 1e-1f, 1e-2f, 1e-3f }) {
                for (const float size : { 1e-6f, 1.0f, 1e6f }) {
                    const parameters p{ n + 3, n, method };
                    batch b;
                    b.h = gaussian<complex64>(200 * (n + 3) * n);
                    for (size_t e = 0; e < b.h.size(); e += n) {
                        for (int t = 1; t < n; ++t) {
                            b.h[e + t] = b.h[e] + apart * b.h[e + t];
                        }
                    }
                    scale(b.h, size);
                    b.n0.assign(1, 1e-5f * size * size);
                    send(p, 200, b);
                    compare(p, b, run(p, b));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(without_noise_the_layers_come_back)
{
    for (const int n : { 1, 2, 4, 6, 16 }) {
        for (const auto method : { zf, mmse }) {
            const parameters p{ n, n, method };
            auto b = random_batch(p, 300, 1e-10f);
            const auto out = run(p, b);
            for (size_t i = 0; i < out.x.size(); ++i) {
                // The inverse's condition number, as the noise reveals it.
                const float bad = std::sqrt(out.noise[i] / 1e-10f) * 16 * n;
                BOOST_TEST(std::abs(out.x[i] - b.sent[i]) <
                           1e-5f * (1 + bad) + 2e-5f * bad);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(vectors_of_one_matrix_are_those_of_many_equal_ones)
{
    for (const auto& [nr, nt] : { std::pair{ 2, 2 }, { 4, 4 }, { 5, 3 }, { 8, 8 } }) {
        for (const auto& [symbols, tones] :
             { std::pair{ 1, 7 }, { 14, 1 }, { 3, 5 }, { 150, 2 } }) {
            for (const bool one_n0 : { false, true }) {
                const size_t groups = 9;
                const parameters p{ nr, nt, mmse, true, symbols, tones };
                const auto b = random_batch(p, groups, 0.05f, one_n0);
                const auto out = run(p, b);
                // If a matrix serves several vectors, repeat each vector, so that the
                // same kernel runs.
                const int repeat = symbols > 1 ? 2 : 1;
                batch flat;
                const int elements = nr * nt;
                for (size_t v = 0; v < groups * symbols * tones; ++v) {
                    const size_t g = v / (symbols * tones);
                    const auto* h = &b.h[(g * tones + v % tones) * elements];
                    flat.h.insert(flat.h.end(), h, h + elements);
                    flat.n0.push_back(b.n0[one_n0 ? 0 : g]);
                    for (int copy = 0; copy < repeat; ++copy) {
                        flat.y.insert(flat.y.end(), &b.y[v * nr], &b.y[v * nr] + nr);
                    }
                }
                const auto expected = run({ nr, nt, mmse, true, repeat }, flat);
                const auto equal = [&](const auto& values, const auto& copies) {
                    bool same = repeat * values.size() == copies.size();
                    for (size_t i = 0; same && i < values.size(); ++i) {
                        const size_t at = i / nt * repeat * nt + i % nt;
                        same = values[i] == copies[at] &&
                               values[i] == copies[at + (repeat - 1) * nt];
                    }
                    return same;
                };
                BOOST_TEST(equal(out.x, expected.x));
                BOOST_TEST(equal(out.noise, expected.noise));
                BOOST_TEST(out.status == std::vector<int>(groups * tones, 0));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(layers_do_not_depend_on_where_views_begin)
{
    for (const int n : { 4, 8 }) {
        for (const auto method : { zf, mmse }) {
            for (const int symbols : { 1, 2, 5, 14 }) {
                const parameters p{ n, n, method, true, symbols, 67 };
                const auto b = random_batch(p, 9, 0.03f);
                const auto one = run(p, b, tested_backend(), 1);
                const auto four = run(p, b, tested_backend(), 4);
                compare(p, b, four);
                BOOST_TEST(one.x == four.x, boost::test_tools::per_element());
                BOOST_TEST(one.noise == four.noise, boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_nan_in_one_received_vector_leaves_the_others_alone)
{
    for (const int n : { 2, 4, 5 }) {
        const parameters p{ n, n, mmse, true, 3, 11 };
        auto b = random_batch(p, 4, 0.1f);
        const auto clean = run(p, b);
        const size_t bad = 57;
        b.y[bad * n + n - 1] = { 0, n == 4 ? float_infinity : NAN };
        const auto out = run(p, b);
        BOOST_TEST(out.status == clean.status);
        for (size_t v = 0; v < b.y.size() / n; ++v) {
            for (size_t i = v * n; i < (v + 1) * n; ++i) {
                BOOST_TEST(out.x[i] == (v == bad ? complex64(0) : clean.x[i]));
                BOOST_TEST(out.noise[i] == (v == bad ? float_infinity : clean.noise[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_bad_channel_or_noise_variance_leaves_the_others_alone)
{
    for (const int n : { 2, 4, 5 }) {
        for (const auto method : { zf, mmse }) {
            const parameters p{ n, n, method, true, 2, 3 };
            auto b = random_batch(p, 40, 0.1f);
            const auto clean = run(p, b);
            std::vector<bool> spoilt(120);
            const auto spoil = [&](size_t matrix) { spoilt[matrix] = true; };
            b.h[10 * n * n] = { NAN, 0 };
            spoil(10);
            b.h[50 * n * n + n * n - 1] = { 0, -float_infinity };
            spoil(50);
            size_t group = 20;
            for (const float n0 : { 0.0f, -1.0f, NAN, float_infinity, -float_infinity }) {
                for (int tone = 0; tone < 3; ++tone) {
                    spoil(group * 3 + tone);
                }
                b.n0[group++] = n0;
            }
            const auto out = run(p, b);
            for (size_t i = 0; i < out.x.size(); ++i) {
                const size_t v = i / n;
                const size_t matrix = v / 6 * 3 + v % 3;
                const bool bad = spoilt[matrix];
                BOOST_TEST(out.status[matrix] == (bad ? -1 : 0));
                BOOST_TEST(out.x[i] == (bad ? complex64(0) : clean.x[i]));
                BOOST_TEST(out.noise[i] == (bad ? float_infinity : clean.noise[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(zero_forcing_erases_what_has_no_full_rank)
{
    for (const float size : { 1e-20f, 1e-6f, 1.0f, 1e6f, 1e18f }) {
        for (const int n : { 2, 3, 4, 8, 16 }) {
            const parameters p{ n, n, zf };
            auto b = random_batch(p, 100, 1.0f);
            lower_ranks(n, n, b.h);
            scale(b.h, size);
            const auto out = run(p, b);
            for (size_t m = 0; m < 100; ++m) {
                const int expected[] = { 1, n, 2, 0 };
                BOOST_TEST(out.status[m] == expected[m % 4]);
                for (size_t i = m * n; i < (m + 1) * n; ++i) {
                    if (m % 4 < 3) {
                        BOOST_TEST(out.x[i] == complex64(0));
                        BOOST_TEST(out.noise[i] == float_infinity);
                    } else {
                        BOOST_TEST((out.noise[i] > 0 && out.noise[i] < float_infinity) ==
                                   (size > 1e-19f));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(mmse_stays_finite_whatever_the_rank_and_the_noise)
{
    for (const float n0 : { 1e-38f, 1e-30f, 1e-12f, 1.0f, 1e12f, 3e38f }) {
        for (const float size : { 0.0f, 1e-19f, 1e-6f, 1.0f, 1e6f, 1e18f }) {
            for (const bool unbiased : { true, false }) {
                for (const int n : { 2, 4, 6 }) {
                    const parameters p{ n, n, mmse, unbiased };
                    auto b = random_batch(p, 40, n0, true);
                    for (size_t e = 0; e < b.h.size() / 2; e += n) {
                        b.h[e + n - 1] = b.h[e];
                    }
                    scale(b.h, size);
                    const auto out = run(p, b);
                    BOOST_TEST(out.status == std::vector<int>(40, 0));
                    for (size_t i = 0; i < out.x.size(); ++i) {
                        BOOST_TEST(std::isfinite(out.x[i].real()));
                        BOOST_TEST(std::isfinite(out.x[i].imag()));
                        BOOST_TEST(out.noise[i] > 0); // an erased layer has +inf
                        if (size == 0) {
                            BOOST_TEST(out.noise[i] == float_infinity);
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(mmse_does_not_trust_layers_that_are_equal_in_single_precision)
{
    // Layer n - 1 repeats layer 0, so that half of each estimate is the other layer, at
    // any N0.
    for (const float n0 : { 1e-38f, 1e-20f, 1e-12f }) {
        for (const int n : { 2, 4, 6 }) {
            const parameters p{ n, n, mmse };
            auto b = random_batch(p, 40, n0, true);
            for (size_t e = 0; e < b.h.size(); e += n) {
                b.h[e + n - 1] = b.h[e];
            }
            const auto out = run(p, b);
            for (size_t i = 0; i < out.x.size(); i += n) {
                BOOST_TEST(out.noise[i] > 0.01f);
                BOOST_TEST(out.noise[i + n - 1] > 0.01f);
            }
        }
    }
}

//! Sends many vectors over a few channels. Calls check(sent, x, noise) for each layer.
template <typename Check>
void observe(const parameters& p, float n0, const Check& check)
{
    const auto b = random_batch(p, 6, n0, true);
    const auto out = run(p, b);
    for (size_t layer = 0; layer < size_t(6 * p.layers); ++layer) {
        const size_t first = layer / p.layers * p.symbols * p.layers + layer % p.layers;
        complex64 correlation = 0;
        double energy = 0;
        for (int s = 0; s < p.symbols; ++s) {
            const size_t i = first + s * p.layers;
            correlation += std::conj(b.sent[i]) * out.x[i] / float(p.symbols);
            energy += std::norm(out.x[i] - b.sent[i]) / p.symbols;
        }
        check(correlation, energy, out.noise[first]);
    }
}

BOOST_AUTO_TEST_CASE(unbiased_mmse_has_the_noise_that_it_reports)
{
    for (const int n : { 2, 4, 8 }) {
        observe(
            { n, n, mmse, true, 40000 }, 0.5f, [](auto gain, auto energy, auto noise) {
                BOOST_TEST(energy / noise == 1.0, boost::test_tools::tolerance(0.04));
                BOOST_TEST(std::abs(gain - 1.0f) < 0.03f * (1 + std::sqrt(noise)));
            });
    }
}

BOOST_AUTO_TEST_CASE(biased_mmse_shrinks_layers_by_the_bias_that_its_noise_implies)
{
    observe({ 4, 4, mmse, false, 40000 }, 0.5f, [](auto gain, auto energy, auto noise) {
        // x = b s + noise of variance b (1 - b), so E|x - s|^2 = 1 - b.
        const float b = gain.real();
        BOOST_TEST(b < 1);
        BOOST_TEST(std::abs(noise - b * (1 - b)) < 0.02f);
        BOOST_TEST(std::abs(energy - (1 - b)) < 0.02f);
    });
}

BOOST_AUTO_TEST_CASE(zero_forcing_has_the_noise_that_it_reports)
{
    for (const int n : { 2, 4, 8 }) {
        observe({ n, n, zf, true, 40000 }, 0.02f, [](auto gain, auto energy, auto noise) {
            BOOST_TEST(energy / noise == 1.0, boost::test_tools::tolerance(0.04));
            BOOST_TEST(std::abs(gain - 1.0f) < 0.03f * (1 + std::sqrt(noise)));
        });
    }
}

BOOST_AUTO_TEST_CASE(the_gpu_gives_the_bits_of_the_cpu)
{
    if (!cuda_can_be_held_to_the_cpu()) {
        return;
    }
    for (const auto method : { zf, mmse, detector::max_ratio }) {
        for (int nr = 1; nr <= 16; ++nr) {
            for (int nt = 1; nt <= nr; ++nt) {
                // With other numbers of symbols one backend projects and the other forms
                // weights.
                const bool projects = nr > 4 && nr <= 8 && method != detector::max_ratio;
                const int symbols = nr > 8 ? 3 : projects ? 1 : 1 + nt % 2;
                const parameters p{ nr, nt, method, true, symbols, 1 + nt % 4 };
                const auto b = random_batch(p, 37, 0.02f);
                const auto here = run(p, b, backend::cpu);
                const auto there = run(p, b, backend::cuda);
                BOOST_TEST((here.x == there.x), nr << " x " << nt);
                BOOST_TEST((here.noise == there.noise), nr << " x " << nt);
            }
        }
    }
}
