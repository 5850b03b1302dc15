/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/noise_covariance.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

//! A Hermitian matrix's lower triangle.
using matrix = std::vector<complex128>;

double trace(int n, const matrix& a)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += a[i * n + i].real();
    }
    return sum;
}

//! The squared Frobenius norm of a - b.
double distance(int n, const matrix& a, const matrix& b)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            sum += (i == j ? 1 : 2) * std::norm(a[i * n + j] - b[i * n + j]);
        }
    }
    return sum;
}

//! Of the estimate, what is kept of its difference from the target.
double kept(double seen, double by_chance)
{
    return seen > by_chance ? 1 - by_chance / seen : 0;
}

matrix between(const matrix& target, const matrix& estimate, double share)
{
    matrix out(target.size());
    for (size_t i = 0; i < out.size(); ++i) {
        out[i] = target[i] + share * (estimate[i] - target[i]);
    }
    return out;
}

//! Differences this large come by chance once in some thousand slots.
bool significant(double seen, double by_chance, double freedoms)
{
    return seen > by_chance * (1 + 4 * std::sqrt(2 / freedoms));
}

} // namespace

noise_covariance find_noise_covariance(const residual_sums& sums,
                                       int bundle_tones,
                                       double scale,
                                       bool always)
{
    const int n = sums.antennas;
    const size_t square = size_t(n) * n;
    const size_t bundles = sums.samples.size();
    noise_covariance out;
    out.antennas = n;
    out.bundle_tones = bundle_tones;
    matrix all(square);
    double samples = 0;
    for (size_t b = 0; b < bundles; ++b) {
        samples += sums.samples[b];
        for (size_t i = 0; i < square; ++i) {
            all[i] += sums.products[b * square + i];
        }
    }
    if (!(samples > 0)) {
        return out;
    }
    for (auto& value : all) {
        value *= scale / samples;
    }
    out.mean = trace(n, all) / n;
    if (n == 1) {
        return out;
    }
    matrix white(square);
    for (int i = 0; i < n; ++i) {
        white[i * n + i] = out.mean;
    }
    const double from_white = distance(n, all, white);
    const double by_chance = std::pow(trace(n, all), 2) / samples;
    const bool all_colored = significant(from_white, by_chance, double(n) * n - 1);
    all = between(white, all, kept(from_white, by_chance));
    // Differences of all bundles together, each over what chance makes of it.
    std::vector<matrix> each(bundles, matrix(square));
    std::vector<double> differs(bundles), chance(bundles);
    double seen = 0, expected = 0;
    for (size_t b = 0; b < bundles; ++b) {
        if (!(sums.samples[b] > 0)) {
            each[b] = all;
            continue;
        }
        for (size_t i = 0; i < square; ++i) {
            each[b][i] = sums.products[b * square + i] * scale / sums.samples[b];
        }
        differs[b] = distance(n, each[b], all);
        chance[b] = std::pow(trace(n, each[b]), 2) / sums.samples[b];
        seen += differs[b];
        expected += chance[b];
    }
    const bool each_colored =
        bundles > 1 && significant(seen, expected, double(n) * n * double(bundles));
    out.colored = always || all_colored || each_colored;
    if (!out.colored) {
        return out;
    }
    for (size_t b = 0; b < bundles; ++b) {
        const double share = each_colored ? kept(differs[b], chance[b]) : 0;
        const auto used = between(all, each[b], share);
        for (const auto& value : used) {
            out.matrices.push_back(complex64(value));
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
