/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symbol_sync/carrier_search.h"
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/symbol_sync/carrier_search.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

//! The sum of a[n] conj(b[n]); real and imaginary parts of each lie `apart` from each
//! other.
complex64 product(const float* a, const float* b, size_t apart, size_t count)
{
    const hn::ScalableTag<float> d;
    const size_t lanes = hn::Lanes(d);
    auto re = hn::Zero(d), im = hn::Zero(d);
    size_t n = 0;
    for (; n + lanes <= count; n += lanes) {
        const auto ar = hn::LoadU(d, a + n), ai = hn::LoadU(d, a + apart + n);
        const auto br = hn::LoadU(d, b + n), bi = hn::LoadU(d, b + apart + n);
        re = hn::MulAdd(ai, bi, hn::MulAdd(ar, br, re));
        im = hn::NegMulAdd(ar, bi, hn::MulAdd(ai, br, im));
    }
    complex64 sum(hn::GetLane(hn::SumOfLanes(d, re)), hn::GetLane(hn::SumOfLanes(d, im)));
    for (; n < count; ++n) {
        sum += complex64(a[n], a[apart + n]) * std::conj(complex64(b[n], b[apart + n]));
    }
    return sum;
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(product);

complex64 turned(double turns)
{
    return complex64(std::polar(1.0, 2 * pi * (turns - std::rint(turns))));
}

} // namespace

carrier_search::carrier_search(const symbol_sync_parameters& p, double most_offset)
    : d_parameters(p)
{
    const double rate = p.samples_per_symbol, a = p.roll_off;
    // A clock error of 250 ppm turns the longest piece by half a turn.
    const double symbols = std::clamp(200 / a, 512.0, 2048.0);
    d_piece = static_cast<size_t>(symbols * rate);
    d_lag_step = std::max(1, static_cast<int>(rate / 4));
    d_lags = static_cast<int>(std::ceil(2 / a * rate / d_lag_step));
    d_step = a / 8 / rate;
    // One step more, so that the last offset has neighbours.
    const double most = std::min(most_offset / rate + d_step, (1 - (1 + a) / rate) / 2);
    d_searched = static_cast<int>(most / d_step);
    d_candidates = 2 * std::max(d_searched + 1, 8) + 1;
    for (size_t n = 0; n < d_piece; ++n) {
        d_turns.push_back(turned(-static_cast<double>(n) / rate));
    }
    for (int c = 0; c < d_candidates; ++c) {
        for (int lag = -d_lags; lag <= d_lags; ++lag) {
            const double f = (c - d_candidates / 2) * d_step;
            const double taper = std::cos(pi / 2 * lag / (d_lags + 1));
            d_transform.push_back(turned(lag * d_lag_step * (0.5 / rate - f)) *
                                  static_cast<float>(taper * taper));
        }
    }
}

void carrier_search::add(const unsigned char* samples, int count)
{
    const size_t bytes = d_piece * bytes_of(d_parameters.format);
    std::vector<std::vector<double>> energies(count);
    for_each_part(energies.size(), 1, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            energies[i] = energies_of(samples + i * bytes);
        }
    });
    for (auto& each : energies) {
        d_energies.push_back(std::move(each));
    }
    while (d_energies.size() > pieces + energies.size()) {
        d_energies.pop_front();
    }
}

//! Of the candidates, for a piece of unit energy.
std::vector<double> carrier_search::energies_of(const unsigned char* piece) const
{
    std::vector<double> energies(d_candidates);
    // x, and x turned by the symbol rate; zeros around x for the lags.
    const size_t margin = static_cast<size_t>(d_lags) * d_lag_step,
                 apart = d_piece + 2 * margin;
    std::vector<float> x(2 * apart), y(2 * d_piece);
    double energy = 0;
    for (size_t n = 0; n < d_piece; ++n) {
        const auto s = sample_at(piece, n, d_parameters.format);
        energy += std::norm(complex128(s));
        x[margin + n] = s.real();
        x[apart + margin + n] = s.imag();
    }
    if (!(energy > 0)) {
        return energies;
    }
    const auto level = static_cast<float>(1 / std::sqrt(energy));
    std::vector<float> turned_x(2 * apart);
    for (size_t n = 0; n < d_piece; ++n) {
        x[margin + n] *= level;
        x[apart + margin + n] *= level;
        const auto t = complex64(x[margin + n], x[apart + margin + n]) * d_turns[n];
        turned_x[margin + n] = t.real();
        turned_x[apart + margin + n] = t.imag();
    }
    const int lags = 2 * d_lags + 1;
    std::vector<complex64> correlation(lags);
    for (int lag = 0; lag < lags; ++lag) {
        correlation[lag] = HWY_DYNAMIC_DISPATCH(product)(
            turned_x.data() + margin,
            x.data() + 2 * margin - static_cast<size_t>(lag) * d_lag_step,

            apart,
            d_piece);
    }
    for (int c = 0; c < d_candidates; ++c) {
        complex64 sum = 0;
        for (int lag = 0; lag < lags; ++lag) {
            sum += correlation[lag] * d_transform[c * lags + lag];
        }
        energies[c] = std::norm(complex128(sum));
    }
    return energies;
}

std::optional<double> carrier_search::find(int last, int left_out) const
{
    const auto end = d_energies.end() - left_out;
    const int count = std::min(last, static_cast<int>(end - d_energies.begin()));
    if (count == 0) {
        return std::nullopt;
    }
    std::vector<double> energies(d_candidates);
    for (auto each = end - count; each != end; ++each) {
        for (int c = 0; c < d_candidates; ++c) {
            energies[c] += (*each)[c];
        }
    }
    // What the sums of noise's energies pass by chance once in some 10^4 searches, in
    // units of their median.
    const double least = 1 + 4 / std::sqrt(count) + 14.0 / count;
    auto sorted = energies;
    std::nth_element(sorted.begin(), sorted.begin() + d_candidates / 2, sorted.end());
    const auto middle = energies.begin() + d_candidates / 2;
    const auto peak = std::max_element(middle - d_searched, middle + d_searched + 1);
    const double before = peak[-1], behind = peak[1];
    // At an end of what is searched, it is the skirt of a peak beyond.
    if (!(*peak > least * sorted[d_candidates / 2]) || *peak < before || *peak < behind) {
        return std::nullopt;
    }
    const double bend = 2 * *peak - before - behind;
    const double between =
        bend > 0 ? std::clamp((behind - before) / (2 * bend), -0.5, 0.5) : 0;
    return (static_cast<double>(peak - middle) + between) * d_step;
}

} // namespace gr::cudaphy::kernels
#endif
