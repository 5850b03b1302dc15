/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/wiener_table.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr size_t most_tables = 64;
constexpr double smallest_spread = 1e-5, spread_step = 1.2, snr_step_db = 1.5;

complex128 correlation(double spread, double distance)
{
    const double x = 2 * pi * spread * distance;
    return std::polar(1.0, x) / complex128(1, x);
}

//! The lower factor of a positive definite matrix (n, n), in place.
void factorize(int n, std::vector<complex128>& a)
{
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            complex128 sum = a[i * n + j];
            for (int k = 0; k < j; ++k) {
                sum -= a[i * n + k] * std::conj(a[j * n + k]);
            }
            a[i * n + j] = i == j ? std::sqrt(std::max(sum.real(), 1e-15))
                                  : sum / a[j * n + j].real();
        }
    }
}

void solve(int n, const std::vector<complex128>& lower, std::vector<complex128>& x)
{
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) {
            x[i] -= lower[i * n + k] * x[k];
        }
        x[i] /= lower[i * n + i].real();
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) {
            x[i] -= std::conj(lower[k * n + i]) * x[k];
        }
        x[i] /= lower[i * n + i].real();
    }
}

} // namespace

wiener_table::wiener_table(int the_taps, int the_spacing, double spread, double snr)
    : taps(the_taps), spacing(the_spacing)
{
    const int n = taps;
    std::vector<complex128> lower(size_t(n) * n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            lower[i * n + j] =
                correlation(spread, double(spacing) * (i - j)) + (i == j ? 1 / snr : 0);
        }
    }
    factorize(n, lower);
    std::vector<complex128> cross(n), weights(n);
    for (int d = 1 - spacing; d < spacing * taps; ++d) {
        // The conjugate weights solve this Hermitian system.
        for (int i = 0; i < n; ++i) {
            cross[i] = std::conj(correlation(spread, d - double(spacing) * i));
        }
        weights = cross;
        solve(n, lower, weights);
        double explained = 0, energy = 0;
        for (int i = 0; i < n; ++i) {
            re.push_back(static_cast<float>(weights[i].real()));
            im.push_back(static_cast<float>(-weights[i].imag()));
            explained += (std::conj(weights[i]) * cross[i]).real();
            energy += std::norm(weights[i]);
        }
        error.push_back(static_cast<float>(std::max(0.0, 1 - explained)));
        gain.push_back(static_cast<float>(energy));
    }
}

const wiener_table& wiener_tables::find(int taps, int spacing, double spread, double snr)
{
    const int spread_index = static_cast<int>(
        std::lround(std::log(std::max(spread, smallest_spread) / smallest_spread) /
                    std::log(spread_step)));
    const int snr_index = static_cast<int>(
        std::lround(std::clamp(10 * std::log10(snr), -20.0, 60.0) / snr_step_db));
    const std::tuple<int, int, int, int> key(taps, spacing, spread_index, snr_index);
    const auto found = d_made.find(key);
    if (found != d_made.end()) {
        return found->second;
    }
    if (d_made.size() >= most_tables) {
        d_made.clear();
    }
    return d_made
        .emplace(key,
                 wiener_table(taps,
                              spacing,
                              smallest_spread * std::pow(spread_step, spread_index),
                              std::pow(10, snr_step_db * snr_index / 10)))
        .first->second;
}

} // namespace gr::cudaphy::kernels::nr
