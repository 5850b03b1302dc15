/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/delay_statistics.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int lags[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
constexpr int lag_count = sizeof(lags) / sizeof(lags[0]);
constexpr double least_spread = 3e-4, most_spread = 0.05, unknown_spread = 3e-3;

struct sums {
    double energy = 0, energy_count = 0;
    double re[lag_count] = {}, im[lag_count] = {}, count[lag_count] = {};
    // Of first, second and fourth differences, over the noise's gain.
    double difference[3] = {}, differences[3] = {};

    void add(const float* re_in, const float* im_in, int size);
};

//! Sums of floats in eight parts, which vectors hold, and which round little.
template <typename Term>
double sum_of(int count, const Term& term)
{
    float parts[8] = {};
    int i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int j = 0; j < 8; ++j) {
            parts[j] += term(i + j);
        }
    }
    for (; i < count; ++i) {
        parts[0] += term(i);
    }
    double sum = 0;
    for (const float part : parts) {
        sum += part;
    }
    return sum;
}

void sums::add(const float* a, const float* b, int size)
{
    energy += sum_of(size, [&](int i) { return a[i] * a[i] + b[i] * b[i]; });
    energy_count += size;
    for (int l = 0; l < lag_count && lags[l] < size; ++l) {
        const int n = lags[l];
        re[l] +=
            sum_of(size - n, [&](int i) { return a[i] * a[i + n] + b[i] * b[i + n]; });
        im[l] +=
            sum_of(size - n, [&](int i) { return a[i] * b[i + n] - b[i] * a[i + n]; });
        count[l] += size - n;
    }
}

void add_differences(sums& to, const float* a, const float* b, int size)
{
    const auto first = [&](const float* x, int i) { return x[i + 1] - x[i]; };
    const auto second = [&](const float* x, int i) {
        return x[i] - 2 * x[i + 1] + x[i + 2];
    };
    const auto fourth = [&](const float* x, int i) {
        return x[i] - 4 * x[i + 1] + 6 * x[i + 2] - 4 * x[i + 3] + x[i + 4];
    };
    const auto add = [&](int order, int count, double gain, const auto& term) {
        if (count > 0) {
            to.difference[order] += sum_of(count,
                                           [&](int i) {
                                               const float re = term(a, i);
                                               const float im = term(b, i);
                                               return re * re + im * im;
                                           }) /
                                    gain;
            to.differences[order] += count;
        }
    };
    add(0, size - 1, 2, first);
    add(1, size - 2, 6, second);
    add(2, size - 4, 70, fourth);
}

double noise_of(const sums& s)
{
    double least = s.energy / s.energy_count;
    for (int i = 0; i < 3; ++i) {
        if (s.differences[i] > 0) {
            least = std::min(least, s.difference[i] / s.differences[i]);
        }
    }
    return least;
}

double fitted_spread(const sums& s, const pilot_layout& of, double delay, int known)
{
    double best = unknown_spread, best_error = INFINITY;
    for (double spread = least_spread; spread < most_spread; spread *= 1.2) {
        double cross = 0, own = 0, energy = 0;
        for (int l = 0; l < known; ++l) {
            const double x = 2 * pi * spread * lags[l] * of.spacing;
            const double model = (std::cos(x) + x * std::sin(x)) / (1 + x * x);
            const double turn = 2 * pi * delay * lags[l] * of.spacing;
            const double seen =
                (s.re[l] * std::cos(turn) - s.im[l] * std::sin(turn)) / s.count[l];
            cross += s.count[l] * seen * model;
            own += s.count[l] * model * model;
            energy += s.count[l] * seen * seen;
        }
        const double amplitude = std::max(0.0, cross / own);
        const double error = energy - 2 * amplitude * cross + amplitude * amplitude * own;
        if (error < best_error) {
            best_error = error;
            best = spread;
        }
    }
    return best;
}

} // namespace

delay_statistics find_delay_statistics(const pilot_layout& of,
                                       const pilot_observations& observed,
                                       const std::vector<uint8_t>& sets_used,
                                       double spread_given)
{
    sums s;
    const size_t rows = observed.values.re.size() / of.pilots;
    for (size_t row = 0; row < rows; ++row) {
        if (!sets_used[row / 2 / observed.antennas % of.sets()]) {
            continue;
        }
        for (const auto& run : of.runs) {
            const float* const re = observed.values.re_of(row) + run.first_pilot;
            const float* const im = observed.values.im_of(row) + run.first_pilot;
            s.add(re, im, run.pilots);
            add_differences(s, re, im, run.pilots);
        }
    }
    delay_statistics out;
    out.noise = noise_of(s);
    out.energy = std::max(0.0, s.energy / s.energy_count - out.noise);
    int known = 0;
    while (known < lag_count && s.count[known] > 0) {
        ++known;
    }
    // Of noise alone the correlation has this standard deviation, and no phase of use.
    const double by_chance = out.noise / std::sqrt(std::max(1.0, s.count[0]));
    const double correlation = std::hypot(s.re[0], s.im[0]) / std::max(1.0, s.count[0]);
    out.present = correlation > 3.5 * by_chance;
    if (correlation > 2 * by_chance) {
        out.delay = -std::atan2(s.im[0], s.re[0]) / (2 * pi * of.spacing);
    }
    out.spread = spread_given >= 0 ? spread_given
                 : known < 2       ? unknown_spread
                                   : fitted_spread(s, of, out.delay, known);
    return out;
}

} // namespace gr::cudaphy::kernels::nr
