/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The oracle of the equalizer's tests: the public header's formulas by Gauss-Jordan
// elimination in double precision, with bounds of rounding errors.

#include "kernels/common/testing.h"
#include "kernels/mimo/equalizer/makers.h"
#include <cmath>

namespace gr::cudaphy::testing {

using kernels::detector;
using kernels::equalizer;

struct batch {
    std::vector<complex64> y, h;
    std::vector<float> n0;
    std::vector<complex64> sent;
    std::vector<complex64> covariance = {}; //!< instead of n0, where not empty
};

struct result {
    std::vector<complex64> x;
    std::vector<float> noise;
    std::vector<int> status;
};

//! Takes the full rank from three of every four channel matrices.
inline void lower_ranks(int nr, int nt, std::vector<complex64>& channels)
{
    const size_t elements = size_t(nr) * nt;
    for (size_t m = 0; m < channels.size() / elements; ++m) {
        auto* h = &channels[m * elements];
        const auto factor = gaussian<complex64>(1)[0];
        for (int r = 0; r < nr; ++r) {
            if (m % 4 == 0) { // the whole channel
                std::fill_n(h + r * nt, nt, complex64(0));
            } else if (m % 4 == 1) { // the last layer a multiple of the first
                h[r * nt + nt - 1] = factor * h[r * nt];
            } else if (m % 4 == 2) { // one layer missing
                h[r * nt + 1] = 0;
            }
        }
    }
}

//! Makes y = H s + noise for the channels and noise variances of `b`, s QPSK.
inline void send(const equalizer::parameters& p, size_t groups, batch& b)
{
    const size_t nr = p.receive_antennas;
    const size_t nt = p.layers;
    const size_t vectors = groups * p.symbols * p.tones;
    b.y = gaussian<complex64>(vectors * nr);
    b.sent.resize(vectors * nt);
    const auto bits = random_bits(2 * b.sent.size());
    for (size_t i = 0; i < b.sent.size(); ++i) {
        b.sent[i] = { bits[2 * i] ? -0.70710678f : 0.70710678f,
                      bits[2 * i + 1] ? -0.70710678f : 0.70710678f };
    }
    for (size_t v = 0; v < vectors; ++v) {
        const size_t group = v / (p.symbols * p.tones);
        const auto* h = &b.h[(group * p.tones + v % p.tones) * nr * nt];
        const float amplitude = std::sqrt(b.n0[b.n0.size() == 1 ? 0 : group]);
        for (size_t r = 0; r < nr; ++r) {
            b.y[v * nr + r] *= amplitude;
            for (size_t t = 0; t < nt; ++t) {
                b.y[v * nr + r] += h[r * nt + t] * b.sent[v * nt + t];
            }
        }
    }
}

//! Runs on `where`. Every view begins `off` elements into its array, unaligned as ring
//! buffers are.
inline result run(const equalizer::parameters& p,
                  const batch& b,
                  backend where = tested_backend(),
                  size_t off = 1)
{
    const auto shifted = [&](const auto& values) {
        auto out = values;
        out.insert(
            out.begin(), off, typename std::decay_t<decltype(values)>::value_type());
        return out;
    };
    auto q = queue::make(where);
    const size_t matrices = b.h.size() / (p.receive_antennas * p.layers);
    const size_t outputs = b.y.size() / p.receive_antennas * p.layers;
    const auto y = shifted(b.y);
    const auto h = shifted(b.h);
    const auto n0 = shifted(b.n0);
    const array<complex64> y_there(*q, view<const complex64>(y));
    const array<complex64> h_there(*q, view<const complex64>(h));
    const array<float> n0_there(*q, view<const float>(n0));
    auto x = poisoned<complex64>(*q, outputs + off + 1);
    auto noise = poisoned<float>(*q, outputs + off + 1);
    auto status = poisoned<int>(*q, matrices + off + 1);
    const auto untouched = noise.to_host()[0];
    const auto covariance = shifted(b.covariance);
    const array<complex64> covariance_there(*q, view<const complex64>(covariance));
    const auto equalize = [&](auto variance) {
        equalizer::make(p, where)->run(
            view<const complex64>(y_there).part(off, b.y.size()),
            view<const complex64>(h_there).part(off, b.h.size()),
            variance,
            x.all().part(off, outputs),
            noise.all().part(off, outputs),
            status.all().part(off, matrices),
            *q);
    };
    if (b.covariance.empty()) {
        equalize(view<const float>(n0_there).part(off, b.n0.size()));
    } else {
        equalize(view<const complex64>(covariance_there).part(off, b.covariance.size()));
    }
    const auto inside = [&](const auto& values) {
        return std::decay_t<decltype(values)>(values.begin() + off, values.end() - 1);
    };
    const auto x_here = x.to_host();
    const auto noise_here = noise.to_host();
    BOOST_TEST(x_here[off - 1].real() == untouched);
    BOOST_TEST(x_here.back().imag() == untouched);
    BOOST_TEST(noise_here[off - 1] == untouched);
    BOOST_TEST(noise_here.back() == untouched);
    return { inside(x_here), inside(noise_here), inside(status.to_host()) };
}

using dense = std::vector<std::vector<std::complex<double>>>;

//! By Gauss-Jordan elimination with partial pivoting.
inline dense inverse_of(dense a)
{
    const size_t n = a.size();
    for (size_t i = 0; i < n; ++i) {
        a[i].resize(2 * n);
        a[i][n + i] = 1;
    }
    for (size_t k = 0; k < n; ++k) {
        size_t pivot = k;
        for (size_t i = k; i < n; ++i) {
            pivot = std::abs(a[i][k]) > std::abs(a[pivot][k]) ? i : pivot;
        }
        std::swap(a[k], a[pivot]);
        const auto scale = 1.0 / a[k][k];
        for (auto& value : a[k]) {
            value *= scale;
        }
        for (size_t i = 0; i < n; ++i) {
            const auto factor = a[i][k];
            for (size_t j = 0; i != k && j < 2 * n; ++j) {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    for (auto& row : a) {
        row.erase(row.begin(), row.begin() + n);
    }
    return a;
}

template <typename Vector>
double norm_of(const Vector& values)
{
    double sum = 0;
    for (const auto& value : values) {
        sum += std::norm(value);
    }
    return std::sqrt(sum);
}

/*!
 * Compares a result with the textbook. The tolerance follows the perturbation theory of
 * least squares (Golub and Van Loan, section 5.3.6). An error of eps in H moves layer i
 * by eps |H| (|W_i| |x| + |A^-1_i| |residual|). A is H^H H + N0 I, and the residual is
 * that of H with sqrt(N0) I below it. A rounded W adds eps |W| |y|.
 */
inline void compare(const equalizer::parameters& p, const batch& b, const result& got)
{
    const double eps = 6 * 1.2e-7;
    const size_t nr = p.receive_antennas;
    const size_t nt = p.layers;
    const bool mmse = p.method == detector::mmse;
    const size_t matrices = b.h.size() / (nr * nt);
    double worst = 0;
    const auto check = [&](double error, double allowed, const char* what) {
        worst = std::max(worst, error / allowed);
        if (!(error <= allowed)) {
            BOOST_ERROR(what << " of " << nr << " x " << nt << " is off by " << error
                             << ", allowed " << allowed);
        }
    };
    for (size_t m = 0; m < matrices; ++m) {
        BOOST_TEST(got.status[m] == 0);
        const double n0 = b.n0[b.n0.size() == 1 ? 0 : m / p.tones];
        const auto h = [&](size_t r, size_t t) {
            return std::complex<double>(b.h[(m * nr + r) * nt + t]);
        };
        dense a(nt, std::vector<std::complex<double>>(nt));
        double h_norm = 0;
        for (size_t i = 0; i < nt; ++i) {
            a[i][i] = mmse ? n0 : 0;
            for (size_t j = 0; j < nt; ++j) {
                for (size_t r = 0; r < nr; ++r) {
                    a[i][j] += std::conj(h(r, i)) * h(r, j);
                }
            }
            h_norm += a[i][i].real();
        }
        h_norm = std::sqrt(h_norm);
        const auto inverse = inverse_of(a);
        dense w(nt, std::vector<std::complex<double>>(nr));
        double w_norm = 0;
        for (size_t i = 0; i < nt; ++i) {
            for (size_t r = 0; r < nr; ++r) {
                for (size_t j = 0; j < nt; ++j) {
                    w[i][r] += inverse[i][j] * std::conj(h(r, j));
                }
            }
            w_norm += inverse[i][i].real();
        }
        w_norm = std::sqrt(w_norm);
        // W applied to a vector, and the error allowed in it, before unbiasing.
        const auto apply = [&](const auto& y, std::vector<double>& allowed) {
            std::vector<std::complex<double>> x(nt), residual(nr + nt);
            for (size_t i = 0; i < nt; ++i) {
                for (size_t r = 0; r < nr; ++r) {
                    x[i] += w[i][r] * y(r);
                }
                residual[nr + i] = mmse ? std::sqrt(n0) * x[i] : 0;
            }
            double y_norm = 0;
            for (size_t r = 0; r < nr; ++r) {
                residual[r] = y(r);
                y_norm += std::norm(y(r));
                for (size_t i = 0; i < nt; ++i) {
                    residual[r] -= h(r, i) * x[i];
                }
            }
            for (size_t i = 0; i < nt; ++i) {
                allowed[i] =
                    eps * (h_norm * (std::sqrt(inverse[i][i].real()) * norm_of(x) +
                                     norm_of(inverse[i]) * norm_of(residual)) +
                           w_norm * std::sqrt(y_norm));
            }
            return x;
        };
        const size_t group = m / p.tones;
        for (int symbol = 0; symbol < p.symbols; ++symbol) {
            const size_t v = (group * p.symbols + symbol) * p.tones + m % p.tones;
            std::vector<double> allowed(nt);
            const auto x = apply(
                [&](size_t r) { return std::complex<double>(b.y[v * nr + r]); }, allowed);
            for (size_t i = 0; i < nt; ++i) {
                const double e = n0 * inverse[i][i].real();
                double relative = 2 * eps * h_norm * norm_of(inverse[i]) /
                                      std::sqrt(inverse[i][i].real()) +
                                  eps;
                double gain = 1;
                double noise = e;
                if (mmse) {
                    std::vector<double> of_b(nt);
                    const auto bias =
                        apply([&](size_t r) { return h(r, i); }, of_b)[i].real();
                    relative += of_b[i] / bias;
                    gain = p.unbiased ? 1 / bias : 1;
                    noise = p.unbiased ? e / bias : e * bias;
                }
                const std::complex<double> given(got.x[v * nt + i]);
                const bool biased = mmse && !p.unbiased;
                check(std::abs(given - x[i] * gain),
                      gain * allowed[i] + (biased ? 0 : relative * gain * std::abs(x[i])),
                      "x");
                check(std::abs(got.noise[v * nt + i] - noise), relative * noise, "noise");
            }
        }
    }
    BOOST_TEST_MESSAGE("largest error as a share of what is allowed: " << worst);
}

} // namespace gr::cudaphy::testing
