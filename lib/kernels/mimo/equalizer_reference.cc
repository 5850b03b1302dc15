/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer_makers.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

// Wider than double where the machine has it: the Gram matrix squares the condition
// number.
using real = long double;
using complex = std::complex<real>;
using square = std::array<std::array<complex, 16>, 16>;

bool finite(complex64 value)
{
    return std::isfinite(value.real()) && std::isfinite(value.imag());
}

//! W and the noise that it leaves, for one channel matrix.
struct weights {
    square w{};
    std::array<float, 16> noise;
    int status = 0;
};

//! A = L Lᴴ in place; 0, or the step k = 1.. whose pivot is not greater than
//! `tolerance` times the diagonal element it came from. (Golub and Van Loan, Matrix
//! Computations, 4th ed., algorithm 4.2.2.)
int cholesky(square& a, int n, real tolerance)
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
void solve(const square& l, int n, std::array<complex, 16>& b)
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

weights find_weights(const equalizer::parameters& p, const complex64* given, float n0)
{
    const int nr = p.receive_antennas;
    const int nt = p.layers;
    const bool mmse = p.method == detector::mmse;
    weights out;
    out.noise.fill(float_infinity);

    square h{};
    real largest = 0;
    bool usable = std::isfinite(n0) && n0 > 0;
    for (int r = 0; r < nr; ++r) {
        for (int t = 0; t < nt; ++t) {
            h[r][t] = given[r * nt + t];
            usable = usable && finite(given[r * nt + t]);
            largest =
                std::max({ largest, std::abs(h[r][t].real()), std::abs(h[r][t].imag()) });
        }
    }
    if (!usable) {
        out.status = -1;
        return out;
    }
    real variance = n0;
    if (mmse && largest > 0) {
        const real least =
            least_noise_amplitude * std::exp2(std::floor(std::log2(largest)));
        variance = std::max(variance, least * least);
    }

    square gram{};
    for (int i = 0; i < nt; ++i) {
        for (int j = 0; j < nt; ++j) {
            for (int r = 0; r < nr; ++r) {
                gram[i][j] += std::conj(h[r][i]) * h[r][j];
            }
        }
        gram[i][i] += mmse ? variance : 0;
    }
    // A pivot of the Gram matrix is the square of the length that is left of a column.
    const real tolerance = real(rank_tolerance_per_antenna) * nr;
    out.status = cholesky(gram, nt, mmse ? 0 : tolerance * tolerance);
    if (out.status) {
        return out;
    }

    for (int r = 0; r < nr; ++r) {
        std::array<complex, 16> column{};
        for (int t = 0; t < nt; ++t) {
            column[t] = std::conj(h[r][t]);
        }
        solve(gram, nt, column);
        for (int t = 0; t < nt; ++t) {
            out.w[t][r] = column[t];
        }
    }
    for (int t = 0; t < nt; ++t) {
        std::array<complex, 16> unit{};
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

class equalizer_reference : public equalizer
{
public:
    explicit equalizer_reference(const parameters& p) : d_p(p) {}

    void run(view<const complex64> y,
             view<const complex64> h,
             view<const float> n0,
             view<complex64> x,
             view<float> noise,
             view<int> status,
             queue&) override
    {
        const size_t groups = equalizer_groups(
            d_p, y.size(), h.size(), n0.size(), x.size(), noise.size(), status.size());
        const int nr = d_p.receive_antennas;
        const int nt = d_p.layers;
        for (size_t g = 0; g < groups; ++g) {
            for (int tone = 0; tone < d_p.tones; ++tone) {
                const size_t matrix = g * d_p.tones + tone;
                const auto w =
                    find_weights(d_p, &h[matrix * nr * nt], n0[n0.size() == 1 ? 0 : g]);
                status[matrix] = w.status;
                for (int symbol = 0; symbol < d_p.symbols; ++symbol) {
                    const size_t vector = (g * d_p.symbols + symbol) * d_p.tones + tone;
                    apply(w, &y[vector * nr], &x[vector * nt], &noise[vector * nt]);
                }
            }
        }
    }

private:
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

    parameters d_p;
};

} // namespace

std::unique_ptr<equalizer> make_equalizer_reference(const equalizer::parameters& p)
{
    return std::make_unique<equalizer_reference>(p);
}

} // namespace gr::cudaphy::kernels
