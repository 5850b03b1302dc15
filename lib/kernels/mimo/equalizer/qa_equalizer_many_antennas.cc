/* SPDX-License-Identifier: GPL-3.0-or-later */
// More antennas than most_solved_antennas, which go by Gram matrices.
#define BOOST_TEST_MODULE equalizer_many_antennas
#include "kernels/common/fused_testing.h"
#include "kernels/mimo/equalizer/qa_equalizer_oracle.h"

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
    b.n0.resize(groups);
    for (auto& value : b.n0) {
        value = n0 * float(1 + generator()() % 3);
    }
    send(p, groups, b);
    return b;
}

//! `count` covariances of two interferers and noise.
std::vector<complex64> random_covariances(size_t count, int nr, float n0)
{
    std::vector<complex64> out(count * nr * nr);
    for (size_t m = 0; m < count; ++m) {
        const auto a = gaussian<complex64>(2 * nr);
        for (int r = 0; r < nr; ++r) {
            for (int c = 0; c <= r; ++c) {
                complex sum = r == c ? n0 : 0;
                for (int i = 0; i < 2; ++i) {
                    sum += complex(a[2 * r + i]) * std::conj(complex(a[2 * c + i]));
                }
                // Above the diagonal stands what must not be read.
                out[(m * nr + c) * nr + r] = { NAN, NAN };
                out[(m * nr + r) * nr + c] = complex64(sum);
            }
        }
    }
    return out;
}

//! H and y after the covariance's Cholesky factor is undone, in double precision.
struct white_problem {
    dense h;
    std::vector<std::vector<complex>> y;
};

void whiten(const complex64* covariance, int nr, white_problem& of)
{
    dense l(nr, std::vector<complex>(nr));
    for (int r = 0; r < nr; ++r) {
        for (int c = 0; c <= r; ++c) {
            complex sum = complex(covariance[r * nr + c]);
            for (int k = 0; k < c; ++k) {
                sum -= l[r][k] * std::conj(l[c][k]);
            }
            l[r][c] = r == c ? std::sqrt(sum.real()) : sum / l[c][c];
        }
    }
    const auto solve = [&](const auto& at) {
        for (int r = 0; r < nr; ++r) {
            for (int c = 0; c < r; ++c) {
                at(r) -= l[r][c] * at(c);
            }
            at(r) /= l[r][r];
        }
    };
    for (size_t t = 0; t < of.h[0].size(); ++t) {
        solve([&](int r) -> complex& { return of.h[r][t]; });
    }
    for (auto& y : of.y) {
        solve([&](int r) -> complex& { return y[r]; });
    }
}

/*!
 * Compares with the textbook in double precision. A Gram matrix in floats is off by a few
 * units in the last place of its norm: an error of eps |A| in A moves x by eps |A^-1|
 * (|A| |x| + |H| |y|) at most.
 */
void compare_gram(const parameters& p, const batch& b, const result& got)
{
    const double eps = (b.covariance.empty() ? 4 : 32) * 1.2e-7;
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    const bool is_mmse = p.method == mmse || p.method == irc;
    const size_t matrices = b.h.size() / (size_t(nr) * nt);
    const size_t groups = matrices / p.tones;
    const size_t covariances = b.covariance.size() / (size_t(nr) * nr);
    for (size_t m = 0; m < matrices; ++m) {
        BOOST_TEST(got.status[m] == 0);
        const size_t group = m / p.tones;
        white_problem of;
        of.h.assign(nr, std::vector<complex>(nt));
        for (int e = 0; e < nr * nt; ++e) {
            of.h[e / nt][e % nt] = complex(b.h[m * nr * nt + e]);
        }
        for (int s = 0; s < p.symbols; ++s) {
            const size_t v = (group * p.symbols + s) * p.tones + m % p.tones;
            of.y.emplace_back(&b.y[v * nr], &b.y[v * nr] + nr);
        }
        double n0 = 1;
        if (covariances) {
            const size_t c = covariances == matrices ? m
                             : covariances == groups ? group
                                                     : 0;
            whiten(&b.covariance[c * nr * nr], nr, of);
        } else {
            n0 = b.n0[b.n0.size() == 1 ? 0 : group];
        }
        dense gram(nt, std::vector<complex>(nt));
        for (int i = 0; i < nt; ++i) {
            for (int j = 0; j < nt; ++j) {
                for (int r = 0; r < nr; ++r) {
                    gram[i][j] += std::conj(of.h[r][i]) * of.h[r][j];
                }
            }
        }
        auto a = gram;
        double trace = 0;
        for (int i = 0; i < nt; ++i) {
            a[i][i] += is_mmse ? n0 : 0;
            trace += a[i][i].real();
        }
        const auto inverse = inverse_of(a);
        double inverse_trace = 0;
        for (int i = 0; i < nt; ++i) {
            inverse_trace += inverse[i][i].real();
        }
        for (int s = 0; s < p.symbols; ++s) {
            std::vector<complex> z(nt), x(nt);
            for (int i = 0; i < nt; ++i) {
                for (int r = 0; r < nr; ++r) {
                    z[i] += std::conj(of.h[r][i]) * of.y[s][r];
                }
            }
            for (int i = 0; i < nt; ++i) {
                for (int j = 0; j < nt; ++j) {
                    x[i] += inverse[i][j] * z[j];
                }
            }
            const double moved =
                eps * inverse_trace *
                (trace * norm_of(x) + std::sqrt(trace) * norm_of(of.y[s]));
            for (int i = 0; i < nt; ++i) {
                complex expected = x[i];
                double noise = n0 * inverse[i][i].real();
                double allowed = moved;
                double relative = eps * trace * inverse_trace;
                if (p.method == mrc) {
                    const double energy = gram[i][i].real();
                    expected = z[i] / energy;
                    noise = n0 / energy;
                    for (int j = 0; j < nt; ++j) {
                        noise += j == i ? 0 : std::norm(gram[i][j]) / (energy * energy);
                    }
                    allowed = eps * norm_of(of.y[s]) / std::sqrt(energy);
                    relative = 1e-4;
                } else if (is_mmse) {
                    double bias = 0;
                    for (int j = 0; j < nt; ++j) {
                        bias += (inverse[i][j] * gram[j][i]).real();
                    }
                    relative *= 1 + 1 / bias;
                    const double gain = p.unbiased ? 1 / bias : 1;
                    noise = p.unbiased ? noise / bias : noise * bias;
                    expected *= gain;
                    allowed = allowed * gain + relative * std::abs(expected);
                }
                const size_t v = (group * p.symbols + s) * p.tones + m % p.tones;
                const double off[] = {
                    std::abs(complex(got.x[v * nt + i]) - expected) / allowed,
                    std::abs(got.noise[v * nt + i] / noise - 1) / relative
                };
                if (!(off[0] <= 1 && off[1] <= 1)) {
                    BOOST_ERROR(nr << " x " << nt << ", detector " << int(p.method)
                                   << ": x is off by " << off[0] << " and noise by "
                                   << off[1] << " of what is allowed");
                }
            }
        }
    }
}

constexpr int antennas[] = { 17, 33, 64, 100, 128 };

int some_layers() { return 1 + int(generator()() % 16); }

} // namespace

BOOST_AUTO_TEST_CASE(every_detector_agrees_with_double_precision)
{
    for (const int nr : antennas) {
        for (const int nt : { 1, 2, 3, 4, 8, some_layers(), 15, 16 }) {
            for (const auto method : { zf, mmse, irc, mrc }) {
                const bool unbiased = generator()() % 2;
                const int symbols[] = { 1, 3, 14, 17, 70 };
                const parameters p{ nr,
                                    nt,
                                    method,
                                    unbiased,
                                    symbols[generator()() % 5],
                                    1 + int(generator()() % 3) };
                const auto b = random_batch(p, 5, 0.1f);
                compare_gram(p, b, run(p, b));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(covariances_agree_with_double_precision)
{
    for (const int nr : antennas) {
        for (const int nt : { 1, 4, some_layers(), 16 }) {
            for (const int shared : { 0, 1, 2 }) { // each its own, a group's, one for all
                const size_t groups = 3;
                const parameters p{ nr, nt, irc, true, shared == 1 ? 18 : 1 + nt % 4, 2 };
                auto b = random_batch(p, groups, 0.1f);
                const size_t count = shared == 0 ? groups * 2 : shared == 1 ? groups : 1;
                b.covariance = random_covariances(count, nr, 0.1f);
                compare_gram(p, b, run(p, b));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_small_number_of_antennas_above_sixteen_has_a_tile)
{
    for (int nr = 17; nr <= 34; ++nr) {
        const parameters p{ nr, some_layers(), mmse, true, 1 + nr % 3, 3 };
        auto b = random_batch(p, 4, 0.05f);
        compare_gram(p, b, run(p, b));
        const parameters coloured{ nr, p.layers, irc, true, p.symbols, 3 };
        b.covariance = random_covariances(4, nr, 0.05f);
        compare_gram(coloured, b, run(coloured, b));
    }
}

BOOST_AUTO_TEST_CASE(channels_of_any_scale_agree)
{
    for (const float size : { 1e-15f, 1e-6f, 1e6f, 1e15f }) {
        for (const auto method : { zf, mmse, mrc }) {
            const parameters p{ 40, 5, method, true, 2 };
            auto b = random_batch(p, 9, 0.1f * size * size);
            for (auto& h : b.h) {
                h *= size;
            }
            send(p, 9, b);
            compare_gram(p, b, run(p, b));
        }
    }
}

BOOST_AUTO_TEST_CASE(both_routes_are_one)
{
    parameters p{ 32, 6, mmse, true, 3, 4 };
    const auto b = random_batch(p, 7, 0.1f);
    const auto solved = run(p, b);
    p.route = equalizer_route::inverse;
    const auto inverted = run(p, b);
    BOOST_TEST((solved.x == inverted.x));
    BOOST_TEST((solved.noise == inverted.noise));
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_erases_what_it_serves_alone)
{
    for (const auto& [nr, nt] : { std::pair{ 17, 3 }, { 65, 16 }, { 128, 4 } }) {
        for (const auto method : { zf, mmse, mrc }) {
            const parameters p{ nr, nt, method, true, 3, 2 };
            auto b = random_batch(p, 20, 0.1f);
            const auto clean = run(p, b);
            std::vector<bool> bad_matrix(40);
            b.h[size_t(5) * nr * nt + nt - 1] = { NAN, 0 };
            b.h[size_t(9) * nr * nt + nr * nt - 1] = { 0, -float_infinity };
            bad_matrix[5] = bad_matrix[9] = true;
            size_t group = 10;
            for (const float n0 : { 0.0f, -1.0f, NAN, float_infinity }) {
                bad_matrix[2 * group] = bad_matrix[2 * group + 1] = true;
                b.n0[group++] = n0;
            }
            const size_t bad_vector = 100;
            b.y[bad_vector * nr + nr - 1] = { 0, nr == 65 ? float_infinity : NAN };
            const auto out = run(p, b);
            for (size_t i = 0; i < out.x.size(); ++i) {
                const size_t v = i / nt;
                const size_t matrix = v / 6 * 2 + v % 2;
                const bool bad = bad_matrix[matrix] || v == bad_vector;
                BOOST_TEST(out.status[matrix] == (bad_matrix[matrix] ? -1 : 0));
                BOOST_TEST(out.x[i] == (bad ? complex64(0) : clean.x[i]));
                BOOST_TEST(out.noise[i] == (bad ? float_infinity : clean.noise[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_covariance_that_can_not_be_used_erases_what_it_serves_alone)
{
    for (const int nr : { 17, 50, 128 }) {
        const parameters p{ nr, 3, irc, true, 2 };
        auto b = random_batch(p, 12, 0.1f);
        b.covariance = random_covariances(12, nr, 0.1f);
        b.y[nr + 2] = { NAN, 0 }; // vector 1, of group 0
        const auto clean = run(p, b);
        BOOST_TEST(clean.x[3] == complex64(0));
        BOOST_TEST(clean.noise[3] == float_infinity);
        BOOST_TEST(clean.noise[2] < float_infinity);
        const auto set = [&](int group, int r, int c, complex64 value) {
            b.covariance[(group * nr + r) * nr + c] = value;
        };
        set(3, nr - 1, nr - 1, -1);
        set(5, nr - 1, 0, { NAN, 0 });
        set(7, 0, 0, { float_infinity, 0 });
        set(9, 0, 0, 0);
        std::fill_n(&b.covariance[11 * nr * nr], nr * nr, complex64(1)); // rank 1
        const auto out = run(p, b);
        for (int g = 0; g < 12; ++g) {
            const bool bad = g % 2 && g >= 3;
            BOOST_TEST(out.status[g] == (bad ? -1 : 0), "group " << g << " of " << nr);
            for (int i = g * 6; i < (g + 1) * 6; ++i) {
                BOOST_TEST(out.x[i] == (bad ? complex64(0) : clean.x[i]));
                BOOST_TEST(out.noise[i] == (bad ? float_infinity : clean.noise[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(zero_forcing_erases_what_has_no_full_rank)
{
    for (const float size : { 1e-6f, 1.0f, 1e6f }) {
        for (const auto& [nr, n] : { std::pair{ 18, 2 }, { 64, 9 }, { 127, 16 } }) {
            const parameters p{ nr, n, zf };
            auto b = random_batch(p, 40, 1.0f);
            lower_ranks(nr, n, b.h);
            for (auto& h : b.h) {
                h *= size;
            }
            const auto out = run(p, b);
            for (size_t m = 0; m < 40; ++m) {
                const int expected[] = { 1, n, 2, 0 };
                BOOST_TEST(out.status[m] == expected[m % 4]);
                for (size_t i = m * n; i < (m + 1) * n; ++i) {
                    BOOST_TEST((out.noise[i] == float_infinity) == (m % 4 < 3));
                    BOOST_TEST((out.x[i] == complex64(0)) == (m % 4 < 3));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(max_ratio_erases_a_layer_that_is_not_there_and_no_other)
{
    const int nr = 35, nt = 7;
    const parameters p{ nr, nt, mrc };
    auto b = random_batch(p, 3, 0.1f);
    for (int r = 0; r < nr; ++r) {
        b.h[(nr + r) * nt + 4] = 0;
    }
    const auto out = run(p, b);
    BOOST_TEST(out.status == (std::vector<int>{ 0, 5, 0 }));
    for (int i = 0; i < 3 * nt; ++i) {
        BOOST_TEST((out.noise[i] == float_infinity) == (i == nt + 4));
        BOOST_TEST((out.x[i] == complex64(0)) == (i == nt + 4));
    }
}

BOOST_AUTO_TEST_CASE(mmse_stays_finite_whatever_the_rank_and_the_noise)
{
    for (const float n0 : { 1e-38f, 1e-12f, 1.0f, 1e12f, 3e38f }) {
        for (const float size : { 0.0f, 1e-19f, 1.0f, 1e18f }) {
            for (const bool unbiased : { true, false }) {
                for (const int n : { 2, 6, 16 }) {
                    const parameters p{ 96, n, mmse, unbiased };
                    auto b = random_batch(p, 10, 1.0f);
                    b.n0.assign(1, n0);
                    for (size_t e = 0; e < b.h.size(); e += n) {
                        b.h[e + n - 1] = b.h[e];
                    }
                    for (auto& h : b.h) {
                        h *= size;
                    }
                    const auto out = run(p, b);
                    BOOST_TEST(out.status == std::vector<int>(10, 0));
                    for (size_t i = 0; i < out.x.size(); ++i) {
                        BOOST_TEST(std::isfinite(out.x[i].real()));
                        BOOST_TEST(std::isfinite(out.x[i].imag()));
                        BOOST_TEST(out.noise[i] > 0);
                        if (size == 0) {
                            BOOST_TEST(out.noise[i] == float_infinity);
                        }
                        // Half of each of two equal layers is the other.
                        if (unbiased && i % n % (n - 1) == 0 && size > 0) {
                            BOOST_TEST(out.noise[i] > 0.01f);
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_strong_interferer_is_suppressed_to_the_noise)
{
    const int nr = 64, nt = 4, symbols = 2000;
    const float n0 = 0.01f, strong = 30.0f;
    const parameters p{ nr, nt, irc, true, symbols };
    auto b = random_batch(p, 1, n0);
    b.n0.assign(1, n0);
    send(p, 1, b);
    const auto arrival = gaussian<complex64>(nr);
    const auto interference = gaussian<complex64>(symbols);
    b.covariance.resize(nr * nr);
    for (int r = 0; r < nr; ++r) {
        for (int c = 0; c < nr; ++c) {
            b.covariance[r * nr + c] =
                strong * strong * arrival[r] * std::conj(arrival[c]) + (r == c ? n0 : 0);
        }
        for (int s = 0; s < symbols; ++s) {
            b.y[s * nr + r] += strong * arrival[r] * interference[s];
        }
    }
    const auto out = run(p, b);
    double error = 0, reported = 0;
    for (size_t i = 0; i < out.x.size(); ++i) {
        error += std::norm(out.x[i] - b.sent[i]) / out.x.size();
        reported += out.noise[i] / out.x.size();
    }
    BOOST_TEST(std::abs(10 * std::log10(error / reported)) < 0.4);
    BOOST_TEST(reported < 2 * n0 / nr);
}

BOOST_AUTO_TEST_CASE(more_layers_than_antennas_on_every_backend)
{
    for (const auto& [nr, nt] : { std::pair{ 1, 2 }, { 2, 16 }, { 8, 12 }, { 15, 16 } }) {
        for (const int symbols : { 1, 4 }) {
            const parameters p{ nr, nt, mmse, true, symbols, 2 };
            const auto b = random_batch(p, 6, 0.1f);
            compare(p, b, run(p, b));
            compare(p, b, run(p, b, backend::reference));
            parameters coloured = p;
            coloured.method = irc;
            auto of = b;
            of.n0.assign(6, 0.2f);
            const auto white = run(p, of);
            of.covariance.assign(nr * nr, 0);
            for (int r = 0; r < nr; ++r) {
                of.covariance[r * nr + r] = 0.2f;
            }
            for (const auto where : { tested_backend(), backend::reference }) {
                const auto out = run(coloured, of, where);
                for (size_t i = 0; i < white.x.size(); ++i) {
                    BOOST_TEST(std::abs(out.noise[i] / white.noise[i] - 1) < 1e-3f);
                    BOOST_TEST(std::abs(out.x[i] - white.x[i]) <
                               1e-3f * (1 + std::abs(white.x[i])));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(sizes_out_of_range_are_refused)
{
    const auto refused = [](const parameters& p) {
        BOOST_CHECK_THROW(equalizer::make(p, tested_backend()), std::invalid_argument);
    };
    refused({ 129, 4, mmse });
    refused({ 0, 1, mmse });
    refused({ 64, 17, mmse });
    refused({ 64, 17, zf });
    refused({ 64, 4, mrc, true, 1, 1, equalizer_route::inverse });
}

BOOST_AUTO_TEST_CASE(no_matrix_is_no_work)
{
    const parameters p{ 64, 16, mmse };
    const auto out = run(p, random_batch(p, 0, 0.1f));
    BOOST_TEST(out.x.empty());
}

BOOST_AUTO_TEST_CASE(the_gpu_gives_the_bits_of_the_cpu)
{
    if (!cuda_can_be_held_to_the_cpu()) {
        return;
    }
    for (const auto method : { zf, mmse, mrc }) {
        for (const int nr : antennas) {
            for (int nt = 1; nt <= 16; ++nt) {
                const parameters p{ nr, nt, method, true, 1 + 9 * (nt % 3), 1 + nt % 4 };
                const auto b = random_batch(p, 7, 0.02f);
                const auto here = run(p, b, backend::cpu);
                const auto there = run(p, b, backend::cuda);
                BOOST_TEST((here.x == there.x), nr << " x " << nt);
                BOOST_TEST((here.noise == there.noise), nr << " x " << nt);
                BOOST_TEST(here.status == there.status);
            }
        }
    }
}
