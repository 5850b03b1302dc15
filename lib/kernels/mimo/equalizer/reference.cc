/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

// Wider than double if the machine has it, because the Gram matrix squares the condition
// number.
using real = long double;
using complex = std::complex<real>;

//! A matrix of zeros.
struct dense {
    dense(int rows, int columns) : columns(columns), values(size_t(rows) * columns) {}
    complex* operator[](int r) { return values.data() + size_t(r) * columns; }
    const complex* operator[](int r) const { return values.data() + size_t(r) * columns; }
    int columns;
    std::vector<complex> values;
};

bool finite(complex64 value)
{
    return std::isfinite(value.real()) && std::isfinite(value.imag());
}

//! W of one channel matrix, and the noise after it.
struct weights {
    weights(int layers, int receive) : w(layers, receive), noise(layers, float_infinity)
    {
    }
    dense w;
    std::vector<float> noise;
    int status = 0;
};

//! A = L Lᴴ in place; 0, or the step k = 1.. whose pivot is not greater than
//! `tolerance` times the diagonal element it came from. (Golub and Van Loan, Matrix
//! Computations, 4th ed., algorithm 4.2.2.)
int cholesky(dense& a, int n, real tolerance)
{
    for (int k = 0; k < n; ++k) {
        const real before = a[k][k].real();
        for (int j = 0; j < k; ++j) {
            a[k][k] -= std::norm(a[k][j]);
        }
        if (!(a[k][k].real() > tolerance * before)) {
            return k + 1;
        }
        a[k][k] = std::sqrt(a[k][k].real());
        for (int i = k + 1; i < n; ++i) {
            for (int j = 0; j < k; ++j) {
                a[i][k] -= a[i][j] * std::conj(a[k][j]);
            }
            a[i][k] /= a[k][k];
        }
    }
    return 0;
}

//! Solves L Lᴴ x = b in place.
void solve(const dense& l, int n, std::vector<complex>& b)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            b[i] -= l[i][j] * b[j];
        }
        b[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j) {
            b[i] -= std::conj(l[j][i]) * b[j];
        }
        b[i] /= l[i][i];
    }
}

//! Replaces H by L^-1 H.
void whiten(const dense& l, int nr, int nt, dense& h)
{
    for (int t = 0; t < nt; ++t) {
        for (int r = 0; r < nr; ++r) {
            for (int k = 0; k < r; ++k) {
                h[r][t] -= l[r][k] * h[k][t];
            }
            h[r][t] /= l[r][r];
        }
    }
}

//! Replaces W, for whitened vectors, by W L^-1, for vectors as received.
void weigh_unwhitened(const dense& l, int nr, int nt, dense& w)
{
    for (int t = 0; t < nt; ++t) {
        for (int r = nr - 1; r >= 0; --r) {
            for (int k = r + 1; k < nr; ++k) {
                w[t][r] -= w[t][k] * l[k][r];
            }
            w[t][r] /= l[r][r];
        }
    }
}

void find_ratio_weights(const dense& h, int nr, int nt, real variance, weights& out)
{
    for (int t = 0; t < nt; ++t) {
        real length = 0;
        for (int r = 0; r < nr; ++r) {
            length += std::norm(h[r][t]);
        }
        if (!(length > 0)) {
            out.status = out.status ? out.status : t + 1;
            continue;
        }
        real noise = variance / length;
        for (int j = 0; j < nt; ++j) {
            complex dot = 0;
            for (int r = 0; r < nr && j != t; ++r) {
                dot += std::conj(h[r][t]) * h[r][j];
            }
            noise += std::norm(dot) / (length * length);
        }
        if (noise <= float_max) {
            out.noise[t] = std::max(float(noise), float_min);
            for (int r = 0; r < nr; ++r) {
                out.w[t][r] = std::conj(h[r][t]) / length;
            }
        }
    }
}

//! The weights for H in white noise of the given variance.
weights find_weights(const equalizer::parameters& p, const dense& h, real variance)
{
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    const bool mmse = p.method == detector::mmse || p.method == detector::mmse_irc;
    weights out(nt, nr);
    if (p.method == detector::max_ratio) {
        find_ratio_weights(h, nr, nt, variance, out);
        return out;
    }
    real largest = 0;
    for (int r = 0; r < nr; ++r) {
        for (int t = 0; t < nt; ++t) {
            largest =
                std::max({ largest, std::abs(h[r][t].real()), std::abs(h[r][t].imag()) });
        }
    }
    if (mmse && largest > 0) {
        const real least =
            least_noise_amplitude * std::exp2(std::floor(std::log2(largest)));
        variance = std::max(variance, least * least);
    }

    dense gram(nt, nt);
    for (int i = 0; i < nt; ++i) {
        for (int j = 0; j < nt; ++j) {
            for (int r = 0; r < nr; ++r) {
                gram[i][j] += std::conj(h[r][i]) * h[r][j];
            }
        }
    }
    const bool by_gram = nr > most_solved_antennas; // as the other backends then do
    if (mmse) {
        for (int i = 0; i < nt && by_gram; ++i) {
            variance = std::max(variance, real(gram_least_noise) * gram[i][i].real());
        }
        for (int i = 0; i < nt; ++i) {
            gram[i][i] += variance;
        }
    }
    // A pivot of the Gram matrix is the squared length of a column outside of the others'
    // span.
    const real length = real(rank_tolerance_per_antenna) * nr;
    const real tolerance = by_gram ? real(gram_rank_tolerance) : length * length;
    out.status = cholesky(gram, nt, mmse ? 0 : tolerance);
    if (out.status) {
        return out;
    }

    for (int r = 0; r < nr; ++r) {
        std::vector<complex> column(nt);
        for (int t = 0; t < nt; ++t) {
            column[t] = std::conj(h[r][t]);
        }
        solve(gram, nt, column);
        for (int t = 0; t < nt; ++t) {
            out.w[t][r] = column[t];
        }
    }
    for (int t = 0; t < nt; ++t) {
        std::vector<complex> unit(nt);
        unit[t] = 1;
        solve(gram, nt, unit);
        const real error = variance * unit[t].real();
        real noise = error;
        real gain = 1;
        bool present = true;
        if (mmse) {
            real b = 0; // 1 - error, without its cancellation where b is small
            for (int r = 0; r < nr; ++r) {
                b += (out.w[t][r] * h[r][t]).real();
            }
            noise = p.unbiased ? error / b : error * b;
            gain = p.unbiased ? 1 / b : 1;
            present = b > 0;
        }
        present = present && noise <= float_max;
        for (int r = 0; r < nr; ++r) {
            out.w[t][r] *= present ? gain : real(0);
        }
        if (present) {
            out.noise[t] = std::max(float(noise), float_min);
        }
    }
    return out;
}

weights find_weights(const equalizer::parameters& p,
                     const equalizer_shape& shape,
                     const equalizer_run& given,
                     size_t matrix)
{
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    const size_t variance = shape.variance_of(matrix);
    dense h(nr, nt);
    dense covariance(nr, given.covariance.empty() ? 0 : nr);
    bool usable = true;
    for (int r = 0; r < nr; ++r) {
        for (int t = 0; t < nt; ++t) {
            const auto element = given.h[(matrix * nr + r) * nt + t];
            usable = usable && finite(element);
            h[r][t] = element;
        }
        for (int c = 0; c <= r && !given.covariance.empty(); ++c) {
            const auto element = given.covariance[(variance * nr + r) * nr + c];
            usable = usable && (c == r ? std::isfinite(element.real()) : finite(element));
            covariance[r][c] = c == r ? complex(element.real()) : complex(element);
        }
    }
    real n0 = 1;
    if (given.covariance.empty()) {
        n0 = given.n0[variance];
        usable = usable && std::isfinite(n0) && n0 > 0;
    } else {
        usable = usable && cholesky(covariance, nr, least_pivot_of(nr)) == 0;
    }
    if (!usable) {
        weights out(nt, nr);
        out.status = -1;
        return out;
    }
    if (!given.covariance.empty()) {
        whiten(covariance, nr, nt, h);
    }
    auto out = find_weights(p, h, n0);
    if (!given.covariance.empty()) {
        weigh_unwhitened(covariance, nr, nt, out.w);
    }
    return out;
}

class equalizer_reference : public equalizer_backend
{
public:
    using equalizer_backend::equalizer_backend;

private:
    void
    equalize(const equalizer_shape& shape, const equalizer_run& given, queue&) override
    {
        const int nr = d_p.receive_antennas;
        const int nt = d_p.layers;
        for (size_t matrix = 0; matrix < shape.matrices(); ++matrix) {
            const auto w = find_weights(d_p, shape, given, matrix);
            given.status[matrix] = w.status;
            const size_t group = matrix / shape.tones;
            for (size_t symbol = 0; symbol < shape.symbols; ++symbol) {
                const size_t vector =
                    (group * shape.symbols + symbol) * shape.tones + matrix % shape.tones;
                apply(w,
                      &given.y[vector * nr],
                      &given.x[vector * nt],
                      &given.noise[vector * nt]);
            }
        }
    }

    void apply(const weights& w, const complex64* y, complex64* x, float* noise) const
    {
        bool usable = true;
        for (int r = 0; r < d_p.receive_antennas; ++r) {
            usable = usable && finite(y[r]);
        }
        for (int t = 0; t < d_p.layers; ++t) {
            complex sum = 0;
            for (int r = 0; usable && r < d_p.receive_antennas; ++r) {
                sum += w.w[t][r] * complex(y[r]);
            }
            const complex64 value(sum);
            const bool present = usable && finite(value);
            x[t] = present ? value : complex64(0);
            noise[t] = present ? w.noise[t] : float_infinity;
        }
    }
};

} // namespace

CUDAPHY_HOST_MAKER_1(reference, equalizer, equalizer_reference, equalizer::parameters)

} // namespace gr::cudaphy::kernels
