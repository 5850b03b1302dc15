/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/estimator/channel_filter_weights.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;

//! Weights of straight lines through points (ascending) at x: two of them, or one.
struct line {
    int point;
    double before, after; //!< weights of the points `point` and the next
};

line line_at(const std::vector<double>& points, double x)
{
    if (points.size() == 1) {
        return { 0, 1, 0 };
    }
    const auto above = std::upper_bound(points.begin() + 1, points.end() - 1, x);
    const int i = int(above - points.begin()) - 1;
    const double part = (x - points[i]) / (points[i + 1] - points[i]);
    return { i, 1 - part, part };
}

} // namespace

complex tone_correlation(const channel_estimator::parameters& p, double distance)
{
    const double turn = 2 * M_PI * distance;
    return std::polar(1.0, -turn * p.first_delay) / complex(1, turn * p.delay_spread);
}

std::vector<double> time_interpolation(const channel_estimator::parameters& p,
                                       const std::vector<double>& groups,
                                       double error)
{
    const int count = int(groups.size());
    std::vector<double> out;
    if (p.doppler == 0) {
        for (const double time : p.times) {
            std::vector<double> row(count);
            const auto between = line_at(groups, time);
            row[between.point] = between.before;
            if (count > 1) {
                row[between.point + 1] = between.after;
            }
            out.insert(out.end(), row.begin(), row.end());
        }
        return out;
    }
    const auto correlation = [&](double a, double b) {
        return std::cyl_bessel_j(0.0, 2 * M_PI * p.doppler * std::abs(a - b));
    };
    dense_matrix c(count, count);
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
            c(i, j) = correlation(groups[i], groups[j]) + (i == j ? error + 1e-9 : 0.0);
        }
    }
    cholesky(c);
    for (const double time : p.times) {
        std::vector<complex> row;
        for (const double group : groups) {
            row.emplace_back(correlation(time, group));
        }
        solve_cholesky(c, row);
        for (const auto& value : row) {
            out.push_back(value.real());
        }
    }
    return out;
}

double filter_weights::noise_ratio() const { return std::pow(10.0, -0.1 * d_p.snr_db); }

void filter_weights::estimates(const layer_set& set, int layer, sum* to)
{
    if (d_p.method == pilot_method::mmse) {
        by_mmse(set, layer, to);
    } else {
        by_lines(set, layer, to);
    }
}

//! The key of weights: where observations lie to each other, and their layers' gains.
std::vector<double> filter_weights::likeness(const window& from) const
{
    std::vector<double> out;
    for (int i = 0; i < from.count; ++i) {
        out.push_back(from[i].tone - from[0].tone);
        for (const auto& gain : from[i].gains) {
            // In steps far below float's, so that rounding makes no difference.
            out.push_back(std::round(gain.real() * 1e10));
            out.push_back(std::round(gain.imag() * 1e10));
        }
    }
    return out;
}

//! E[z z^H] without noise.
dense_matrix filter_weights::covariance(const window& from) const
{
    dense_matrix a(from.count, from.count);
    for (int i = 0; i < from.count; ++i) {
        for (int j = 0; j < from.count; ++j) {
            complex gain = 0;
            for (size_t t = 0; t < from.set.layers.size(); ++t) {
                gain += from[i].gains[t] * std::conj(from[j].gains[t]);
            }
            a(i, j) = gain * tone_correlation(d_p, from[i].tone - from[j].tone);
        }
    }
    return a;
}

//! The row w of E[h z^H] (E[z z^H])^-1, from the conjugate of the equation for its
//! Hermitian matrix.
std::vector<complex> filter_weights::mmse(const window& from, int layer, int tone)
{
    auto [factor, missing] = d_factors.try_emplace(likeness(from), 0, 0);
    if (missing) {
        auto a = covariance(from);
        for (int i = 0; i < from.count; ++i) {
            a(i, i) += noise_ratio();
        }
        cholesky(a);
        factor->second = std::move(a);
    }
    std::vector<complex> w(from.count);
    for (int i = 0; i < from.count; ++i) {
        w[i] =
            from[i].gains[layer] * std::conj(tone_correlation(d_p, tone - from[i].tone));
    }
    solve_cholesky(factor->second, w);
    for (auto& value : w) {
        value = std::conj(value);
    }
    return w;
}

void filter_weights::by_mmse(const layer_set& set, int layer, sum* to)
{
    const int all = int(set.observations.size());
    const int count = std::min(all, d_p.window);
    for (size_t k = 0; k < d_numbers.size(); ++k) {
        const int tone = d_numbers[k];
        const auto above = std::lower_bound(
            set.observations.begin(),
            set.observations.end(),
            tone,
            [](const observation& one, int number) { return one.tone < number; });
        const int middle = int(above - set.observations.begin());
        const int first = std::clamp(middle - count / 2, 0, all - count);
        const window from{ set, first, count };
        auto like = likeness(from);
        like.push_back(tone - from[0].tone);
        like.push_back(layer);
        const auto [known, missing] = d_known.try_emplace(like, 0);
        if (missing) {
            known->second = row(mmse(from, layer, tone));
        }
        to[k] = { set.first + first, known->second };
    }
}

//! Cuts the observations into the shortest runs that tell the layers apart; what remains
//! goes to the last.
std::vector<filter_weights::cell> filter_weights::cells(const layer_set& set) const
{
    const int layers = int(set.layers.size());
    const int all = int(set.observations.size());
    std::vector<cell> out;
    const auto gains = [&](int first, int count) {
        dense_matrix a(count, layers);
        for (int i = 0; i < count; ++i) {
            for (int t = 0; t < layers; ++t) {
                a(i, t) = set.observations[first + i].gains[t];
            }
        }
        return a;
    };
    const auto add = [&](int first, int count) {
        double sum = 0;
        for (int i = 0; i < count; ++i) {
            sum += set.observations[first + i].tone;
        }
        out.push_back({ first, count, sum / count, pseudo_inverse(gains(first, count)) });
    };
    int first = 0;
    for (int i = 0; i < all; ++i) {
        const int count = i + 1 - first;
        const bool tone_ends =
            i + 1 == all || set.observations[i + 1].tone != set.observations[i].tone;
        if (tone_ends && count >= layers && column_rank(gains(first, count)) == layers) {
            add(first, count);
            first = i + 1;
        }
    }
    if (!out.empty() && first < all) {
        const int start = out.back().first;
        out.pop_back();
        add(start, all - start);
    }
    return out;
}

void filter_weights::by_lines(const layer_set& set, int layer, sum* to)
{
    const auto all = cells(set);
    if (all.empty()) {
        return;
    }
    std::vector<double> centres;
    for (const auto& each : all) {
        centres.push_back(each.centre);
    }
    for (size_t k = 0; k < d_numbers.size(); ++k) {
        auto [point, before, after] = line_at(centres, d_numbers[k]);
        if (before == 0) {
            std::tie(point, before, after) = std::tuple(point + 1, after, 0.0);
        }
        std::vector<complex> w;
        for (const auto& [index, weight] :
             { std::pair{ point, before }, std::pair{ point + 1, after } }) {
            for (int i = 0; weight != 0 && i < all[index].count; ++i) {
                w.push_back(weight * all[index].inverse(layer, i));
            }
        }
        std::vector<double> like{ double(w.size()) };
        for (const auto& value : w) {
            like.push_back(std::round(value.real() * 1e10));
            like.push_back(std::round(value.imag() * 1e10));
        }
        const auto [known, missing] = d_known.try_emplace(like, 0);
        if (missing) {
            known->second = row(w);
        }
        to[k] = { set.first + all[point].first, known->second };
    }
}

//! The unit vector for which the channel leaves least: its eigenvector of the smallest
//! eigenvalue, by inverse iteration.
std::vector<complex> filter_weights::cancelling(const window& from) const
{
    const int layers = int(from.set.layers.size());
    dense_matrix a(from.count, from.count);
    if (d_p.method == pilot_method::mmse) {
        a = covariance(from);
    } else {
        // A channel of any level and slope for each layer.
        const double span = std::max(1, from[from.count - 1].tone - from[0].tone);
        for (int i = 0; i < from.count; ++i) {
            for (int j = 0; j < from.count; ++j) {
                const double both = (from[i].tone - from[0].tone) / span *
                                    (from[j].tone - from[0].tone) / span;
                for (int t = 0; t < layers; ++t) {
                    a(i, j) +=
                        (1 + both) * from[i].gains[t] * std::conj(from[j].gains[t]);
                }
            }
        }
    }
    double trace = 0;
    for (int i = 0; i < from.count; ++i) {
        trace += a(i, i).real();
    }
    for (int i = 0; i < from.count; ++i) {
        a(i, i) += 1e-12 * trace;
    }
    cholesky(a);
    std::vector<complex> v(from.count);
    for (int i = 0; i < from.count; ++i) {
        v[i] = complex(1 + i % 3, i % 5 - 2); // at right angles to nothing in particular
    }
    for (int pass = 0; pass < 6; ++pass) {
        solve_cholesky(a, v);
        double energy = 0;
        for (const auto& value : v) {
            energy += std::norm(value);
        }
        for (auto& value : v) {
            value /= std::sqrt(energy);
        }
    }
    for (auto& value : v) {
        value = std::conj(value);
    }
    return v;
}

void filter_weights::noise_sums(const layer_set& set, std::vector<sum>& to)
{
    const int all = int(set.observations.size());
    const int least = least_for_noise(set);
    // MMSE: more of them, since delays far apart take more to cancel.
    const int count = d_p.method == pilot_method::mmse
                          ? std::min(all, 8 * int(set.layers.size()))
                          : least;
    if (all < std::max(count, least)) {
        return;
    }
    for (int first = 0; first + count <= all; ++first) {
        const window from{ set, first, count };
        auto like = likeness(from);
        like.push_back(-1); // no layer's estimate
        const auto [known, missing] = d_known.try_emplace(like, 0);
        if (missing) {
            known->second = row(cancelling(from));
        }
        to.push_back({ set.first + first, known->second });
    }
}

int filter_weights::row(const std::vector<complex>& weights)
{
    d_rows.push_back(weights);
    return int(d_rows.size()) - 1;
}

int filter_weights::width() const
{
    size_t most = 0;
    for (const auto& each : d_rows) {
        most = std::max(most, each.size());
    }
    return int((most + filter_ways - 1) / filter_ways * filter_ways);
}

std::vector<complex> filter_weights::rows() const
{
    std::vector<complex> out;
    for (auto each : d_rows) {
        each.resize(width());
        out.insert(out.end(), each.begin(), each.end());
    }
    return out;
}

double filter_weights::noise_gain(const std::vector<sum>& estimates) const
{
    double gain = 0;
    for (const auto& each : estimates) {
        for (const auto& weight : d_rows[each.row]) {
            gain += std::norm(weight);
        }
    }
    return gain / double(estimates.size());
}

} // namespace gr::cudaphy::kernels
