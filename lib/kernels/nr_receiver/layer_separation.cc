/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/layer_separation.h"
#include "kernels/common/parallel.h"
#include <algorithm>
#include <numeric>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr double least_error = 1e-9; // over a layer's energy
//! With more, a covariance costs more than the elements that it serves: a bundle's is
//! factored once.
constexpr int most_antennas_for_own_covariance = 16;

} // namespace

layer_separation::layer_separation(int antennas, int layers, backend where)
    : d_antennas(antennas), d_layers(layers), d_where(where)
{
    made(detector::mmse); // throws for sizes that it does not take
}

equalizer& layer_separation::made(detector method)
{
    auto& out = method == detector::mmse ? d_white : d_colored;
    if (!out) {
        equalizer::parameters p{};
        p.receive_antennas = d_antennas;
        p.layers = d_layers;
        p.method = method;
        out = equalizer::make(p, d_where);
    }
    return *out;
}

void layer_separation::fill_channel(const estimated_channel& from,
                                    const resource_map& map,
                                    int column)
{
    const auto& estimate = *from.estimate;
    const auto& layout = estimate.layout();
    const int layers = estimate.channel().parameters().layers;
    const bool usable = estimate.usable();
    std::vector<size_t> start(map.symbols);
    for (int l = 1; l < map.symbols; ++l) {
        start[l] = start[l - 1] + map.data_in_symbol[l - 1];
    }
    for_each_part(map.symbols, 4, [&](size_t first, size_t last) {
        planes h(size_t(layers) * d_antennas, size_t(layout.tones));
        for (size_t l = first; l < last; ++l) {
            if (!map.data_in_symbol[l]) {
                continue;
            }
            const auto turn = from.phases.empty() ? complex64(1) : from.phases[l];
            if (usable) {
                estimate.at_symbol(static_cast<int>(l), turn, h);
            }
            const auto* const data = map.data.data() + start[l];
            const auto first_element = static_cast<uint32_t>(l * map.subcarriers);
            const size_t step = size_t(d_antennas) * d_layers;
            const auto* const place = d_place.data() + start[l];
            for (int layer = 0; layer < layers; ++layer) {
                for (int a = 0; a < d_antennas; ++a) {
                    const float* const re = h.re_of(size_t(layer) * d_antennas + a);
                    const float* const im = h.im_of(size_t(layer) * d_antennas + a);
                    auto* const to = d_channel.data() + a * d_layers + layer + column;
                    for (int i = 0; i < map.data_in_symbol[l]; ++i) {
                        const int tone =
                            layout.tone_of_subcarrier[data[i] - first_element];
                        to[place[i] * step] =
                            tone < 0 ? complex64(0) : complex64(re[tone], im[tone]);
                    }
                }
            }
        }
    });
}

void layer_separation::run(const std::vector<estimated_channel>& channels,
                           view<const complex64> grid,
                           bool colored,
                           queue& queue)
{
    const auto& own = *channels.front().estimate;
    const auto& map = own.channel().map();
    const size_t n = map.data.size(), antennas = d_antennas;
    const size_t a_slot = size_t(map.symbols) * map.subcarriers;
    const auto& around = own.noise();
    const auto bundle_of = [&](size_t i) {
        const int tone = own.layout().tone_of_subcarrier[map.data[i] % map.subcarriers];
        return size_t(tone / around.bundle_tones);
    };
    const bool by_bundle = colored && d_antennas > most_antennas_for_own_covariance;
    const auto bundles = find_places(n, by_bundle, bundle_of);
    d_received.resize(n * antennas);
    for (size_t i = 0; i < n; ++i) {
        for (size_t a = 0; a < antennas; ++a) {
            d_received[d_place[i] * antennas + a] = grid[a * a_slot + map.data[i]];
        }
    }
    d_channel.resize(n * antennas * d_layers);
    int column = 0;
    // Noise is never 0, which an equalizer refuses: float's rounding is there.
    double error = least_error * own.energy();
    for (const auto& from : channels) {
        fill_channel(from, map, column);
        const int layers = from.estimate->channel().parameters().layers;
        column += layers;
        error += from.estimate->usable() ? layers * from.estimate->error() : 0;
    }
    symbols.resize(n * d_layers);
    noise.resize(n * d_layers);
    d_status.resize(n);
    const view<const complex64> y(d_received), h(d_channel);
    const view<complex64> x(symbols);
    const view<float> left(noise);
    const view<int> status(d_status);
    if (!colored) {
        const std::vector<float> n0{ static_cast<float>(around.mean + error) };
        made(detector::mmse).run(y, h, view<const float>(n0), x, left, status, queue);
    } else {
        const size_t square = antennas * antennas;
        const size_t covariances = by_bundle ? bundles.size() : n;
        d_covariance.resize(covariances * square);
        for (size_t i = 0; i < covariances; ++i) {
            const size_t bundle = by_bundle ? i : bundle_of(i);
            const auto* const from = around.matrices.data() + bundle * square;
            auto* const to = d_covariance.data() + i * square;
            std::copy(from, from + square, to);
            for (size_t a = 0; a < antennas; ++a) {
                to[a * antennas + a] += static_cast<float>(error);
            }
        }
        const view<const complex64> r(d_covariance);
        const auto separate = [&](size_t first, size_t count, view<const complex64> by) {
            const size_t layers = d_layers;
            made(detector::mmse_irc)
                .run(y.part(first * antennas, count * antennas),
                     h.part(first * antennas * layers, count * antennas * layers),
                     by,
                     x.part(first * layers, count * layers),
                     left.part(first * layers, count * layers),
                     status.part(first, count),
                     queue);
        };
        if (!by_bundle) {
            separate(0, n, r);
        }
        size_t first = 0;
        for (size_t i = 0; by_bundle && i < bundles.size(); ++i) {
            if (bundles[i]) {
                separate(first, bundles[i], r.part(i * square, square));
            }
            first += bundles[i];
        }
    }
    if (by_bundle) {
        restore_order(symbols, d_layers);
        restore_order(noise, d_layers);
    }
}

template <typename BundleOf>
std::vector<size_t>
layer_separation::find_places(size_t count, bool by_bundle, const BundleOf& bundle_of)
{
    d_place.resize(count);
    std::iota(d_place.begin(), d_place.end(), size_t{ 0 });
    std::vector<size_t> sizes;
    if (!by_bundle) {
        return sizes;
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t bundle = bundle_of(i);
        sizes.resize(std::max(sizes.size(), bundle + 1));
        ++sizes[bundle];
    }
    std::vector<size_t> next(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), next.begin(), size_t{ 0 });
    for (size_t i = 0; i < count; ++i) {
        d_place[i] = next[bundle_of(i)]++;
    }
    return sizes;
}

template <typename T>
void layer_separation::restore_order(std::vector<T>& values, size_t width) const
{
    std::vector<T> ordered(values.size());
    for (size_t i = 0; i < d_place.size(); ++i) {
        std::copy_n(
            values.begin() + d_place[i] * width, width, ordered.begin() + i * width);
    }
    values = std::move(ordered);
}

} // namespace gr::cudaphy::kernels::nr
