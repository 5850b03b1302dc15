/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/time_weights.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr double most_doppler = 0.05; // turns a symbol; beyond, DM-RS can't follow

double frequency_of(const std::vector<double>& times, const time_correlation& of)
{
    const int n = of.positions;
    const auto sum = [&](int p, int q) { return of.sums[p * n + q]; };
    double nearest = INFINITY;
    for (int p = 0; p + 1 < n; ++p) {
        nearest = std::min(nearest, times[p + 1] - times[p]);
    }
    complex128 coarse = 0;
    for (int p = 0; p + 1 < n; ++p) {
        if (times[p + 1] - times[p] <= nearest) {
            coarse += sum(p, p + 1);
        }
    }
    const double turns = std::arg(coarse) / (2 * pi * nearest);
    double cross = 0, own = 0;
    for (int p = 0; p < n; ++p) {
        for (int q = p + 1; q < n; ++q) {
            const double distance = times[q] - times[p];
            const double rest =
                std::arg(sum(p, q) * std::polar(1.0, -2 * pi * turns * distance));
            cross += std::abs(sum(p, q)) * distance * rest;
            own += std::abs(sum(p, q)) * distance * distance;
        }
    }
    return own > 0 ? turns + cross / (2 * pi * own) : 0;
}

double
doppler_of(const std::vector<double>& times, const time_correlation& of, double noise)
{
    const int n = of.positions;
    double cross = 0, own = 0;
    for (int p = 0; p < n; ++p) {
        for (int q = p + 1; q < n; ++q) {
            const double energy =
                0.5 * (of.sums[p * n + p].real() + of.sums[q * n + q].real());
            const double clean = energy - of.count * noise;
            if (clean <= of.count * noise) {
                continue;
            }
            const double squared = std::pow(pi * (times[q] - times[p]), 2);
            const double lost = 1 - std::abs(of.sums[p * n + q]) / clean;
            cross += squared * lost;
            own += squared * squared;
        }
    }
    return own > 0 && cross > 0 ? std::min(std::sqrt(cross / own), most_doppler) : 0;
}

//! Solves the small positive definite system in place, by elimination.
void solve(int n, std::vector<double> a, std::vector<double>& x)
{
    for (int k = 0; k < n; ++k) {
        for (int i = k + 1; i < n; ++i) {
            const double f = a[i * n + k] / a[k * n + k];
            for (int j = k; j < n; ++j) {
                a[i * n + j] -= f * a[k * n + j];
            }
            x[i] -= f * x[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) {
            x[k] -= a[k * n + j] * x[j];
        }
        x[k] /= a[k * n + k];
    }
}

//! Weights and, times the channel's energy, the mean square error.
double mmse_at(double time,
               const std::vector<double>& times,
               double doppler,
               double relative_error,
               std::vector<double>& weights)
{
    const int n = static_cast<int>(times.size());
    const auto correlation = [&](double t) { return j0(2 * pi * doppler * t); };
    // Without its bias an estimate is the channel plus noise of this variance.
    const double noise = std::max(relative_error / (1 - relative_error), 1e-9);
    std::vector<double> a(size_t(n) * n), cross(n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            a[i * n + j] = correlation(times[i] - times[j]) + (i == j ? noise : 0);
        }
        cross[i] = correlation(time - times[i]);
    }
    weights = cross;
    solve(n, a, weights);
    double explained = 0;
    for (int i = 0; i < n; ++i) {
        explained += weights[i] * cross[i];
        weights[i] /= 1 - relative_error;
    }
    return std::max(0.0, 1 - explained);
}

//! Weights and the factor of the estimates' error.
double
line_at(double time, const std::vector<double>& times, std::vector<double>& weights)
{
    const size_t n = times.size();
    weights.assign(n, 0);
    const size_t behind =
        std::upper_bound(times.begin(), times.end(), time) - times.begin();
    if (behind == 0 || behind == n) {
        weights[behind ? n - 1 : 0] = 1;
        return 1;
    }
    const double part = (time - times[behind - 1]) / (times[behind] - times[behind - 1]);
    weights[behind - 1] = 1 - part;
    weights[behind] = part;
    return part * part + (1 - part) * (1 - part);
}

} // namespace

time_weights find_time_weights(const std::vector<double>& times,
                               int symbols,
                               const time_correlation& of,
                               double error,
                               double noise,
                               double doppler_given,
                               bool mmse,
                               bool track_frequency)
{
    time_weights out;
    const int n = of.positions;
    out.knows_frequency = n > 1;
    if (n > 1 && track_frequency) {
        out.turns_a_symbol = frequency_of(times, of);
    }
    out.doppler_turns = doppler_given >= 0 ? std::min(doppler_given, most_doppler)
                        : n > 1            ? doppler_of(times, of, noise)
                                           : 0;
    double energy = 0;
    for (int p = 0; p < n; ++p) {
        energy += of.sums[p * n + p].real() / (of.count * n);
    }
    energy += mmse ? error : -error;
    const double relative = energy > 0 ? std::min(error / energy, 0.9) : 0.9;
    std::vector<double> weights;
    for (int symbol = 0; symbol < symbols; ++symbol) {
        out.error.push_back(
            mmse ? std::max(energy, 0.0) *
                       mmse_at(symbol, times, out.doppler_turns, relative, weights)
                 : error * line_at(symbol, times, weights));
        for (int p = 0; p < n; ++p) {
            const double turns = out.turns_a_symbol * (symbol - times[p]);
            out.weights.push_back(
                complex64(std::polar(1.0, 2 * pi * turns) * weights[p]));
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
