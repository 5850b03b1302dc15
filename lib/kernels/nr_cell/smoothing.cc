/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/smoothing.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

double correlation(double distance, double spread)
{
    const double x = pi * distance * spread;
    return std::abs(x) < 1e-6 ? 1 : std::sin(x) / x;
}

//! Solves A x = b for positive definite A (n, n) by Cholesky's decomposition; both are
//! overwritten.
void solve(std::vector<double>& a, std::vector<std::complex<double>>& b)
{
    const size_t n = b.size();
    for (size_t j = 0; j < n; ++j) {
        for (size_t i = j; i < n; ++i) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; ++k) {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-30)) : sum / a[j * n + j];
        }
    }
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < i; ++k) {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; ++k) {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
}

} // namespace

std::vector<complex64>
smooth(const pilots& from, float power, double spread, const std::vector<double>& wanted)
{
    const size_t n = from.at.size();
    std::vector<double> matrix(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            matrix[i * n + j] = power * correlation(from.at[i] - from.at[j], spread);
        }
        // Without some noise the matrix would have no inverse.
        matrix[i * n + i] += std::max(from.noise[i], 1e-4f * power) + 1e-30f;
    }
    std::vector<std::complex<double>> weights(from.channel.begin(), from.channel.end());
    solve(matrix, weights);
    std::vector<complex64> out;
    for (const double at : wanted) {
        std::complex<double> sum = 0;
        for (size_t i = 0; i < n; ++i) {
            sum += double(power) * correlation(at - from.at[i], spread) * weights[i];
        }
        out.emplace_back(sum);
    }
    return out;
}

power_and_noise measure(view<const complex64> channel)
{
    double all = 0, bends = 0;
    for (const auto& value : channel) {
        all += std::norm(value);
    }
    for (size_t i = 1; i + 1 < channel.size(); ++i) {
        // Of three noises with the weights 1, -2 and 1.
        bends += std::norm(channel[i - 1] - 2.0f * channel[i] + channel[i + 1]) / 6;
    }
    const double noise = bends / double(std::max<size_t>(1, channel.size() - 2));
    const double mean = all / double(std::max<size_t>(1, channel.size()));
    return { float(std::max(mean - noise, 1e-3 * mean)), float(noise) };
}

} // namespace gr::cudaphy::kernels::nr_cell
