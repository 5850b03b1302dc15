/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fourier/fourier_transform.h"
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/modulation.h>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>

namespace gr::cudaphy::kernels::nr {
transmitter::transmitter(shared_channel::sptr channel, backend where, int device)
    : d_channel(std::move(channel))
{
    for (const auto& one : d_channel->codewords()) {
        d_encoders.push_back(std::make_unique<nr5g::transport_block_encoder>(
            one.blocks, one.limited_buffer, where, device));
    }
    if (d_channel->parameters().transform_precoding) {
        d_transform = std::make_unique<fourier_transform>(
            12 * d_channel->map().blocks.size(), true);
    }
}

transmitter::~transmitter() = default;

void transmitter::encode(int codeword,
                         view<const uint8_t> payload,
                         int redundancy_version,
                         view<uint8_t> coded)
{
    const auto& of = d_channel->codewords().at(codeword);
    require(payload.size() == size_t(of.payload),
            "the transport block has " + std::to_string(payload.size()) +
                " bits; this channel's has " + std::to_string(of.payload) +
                " (TS 38.214, 5.1.3.2)");
    require(coded.size() == size_t(of.coded), "the coded bits do not fit the slot");
    d_encoders[codeword]->encode(
        payload, { of.layers, of.coding.order, redundancy_version }, coded);
    scramble(d_channel->scrambling_c_init(codeword), coded);
}

std::vector<complex64>
transmitter::layer_symbols(const std::vector<view<const uint8_t>>& payloads,
                           int slot,
                           const std::vector<int>& redundancy_versions)
{
    const auto& codewords = d_channel->codewords();
    require(payloads.size() == codewords.size() &&
                redundancy_versions.size() == codewords.size(),
            "give a transport block and a redundancy version for each of " +
                std::to_string(codewords.size()) + " codewords");
    const size_t n = d_channel->map().modulation_symbols();
    std::vector<complex64> out(n * d_channel->parameters().layers);
    for (size_t i = 0; i < codewords.size(); ++i) {
        const auto& of = codewords[i];
        std::vector<uint8_t> coded(of.coded);
        encode(static_cast<int>(i), payloads[i], redundancy_versions[i], coded);
        std::vector<complex64> symbols(n * of.layers);
        modulate(of.coding.order, coded, symbols);
        map_layers(of.layers,
                   symbols,
                   view<complex64>(out).part(n * of.first_layer, symbols.size()));
    }
    return d_transform ? precoded(out, slot) : out;
}

// Section 6.3.1.4, of one layer: PT-RS takes its places in a symbol, data the others.
std::vector<complex64> transmitter::precoded(const std::vector<complex64>& symbols,
                                             int slot)
{
    const auto& map = d_channel->map();
    const auto& places = map.precoded_ptrs_places;
    const auto values = precoded_ptrs_values(d_channel->parameters(), map, slot);
    const size_t size = d_transform->size();
    const float scale = 1 / std::sqrt(static_cast<float>(size));
    std::vector<complex64> out(map.data.size());
    const auto* from = symbols.data();
    for (size_t first = 0; first < out.size(); first += size) {
        const int symbol = static_cast<int>(map.data[first] / map.subcarriers);
        const bool tracked = std::binary_search(
            map.precoded_ptrs_symbols.begin(), map.precoded_ptrs_symbols.end(), symbol);
        size_t next = tracked ? 0 : places.size();
        for (size_t i = 0; i < size; ++i) {
            const bool here = next < places.size() && places[next] == int(i);
            out[first + i] = scale * (here ? values[next++] : *from++);
        }
        d_transform->run(out.data() + first);
    }
    return out;
}

void transmitter::add_reference_signals(int slot, std::vector<complex64>& layers) const
{
    const auto& map = d_channel->map();
    const auto values = dmrs_values(d_channel->parameters(), map, slot);
    const size_t a_layer = size_t(map.symbols) * map.subcarriers;
    for (size_t layer = 0; layer < map.ports.size(); ++layer) {
        const auto& port = map.ports[layer];
        const auto* const subcarriers =
            map.dmrs_subcarriers.data() + size_t(port.group) * map.pilots;
        for (size_t i = 0; i < map.dmrs_symbols.size(); ++i) {
            auto* const symbol = layers.data() + layer * a_layer +
                                 size_t(map.dmrs_symbols[i]) * map.subcarriers;
            for (int j = 0; j < map.pilots; ++j) {
                const bool negative =
                    (port.frequency & j) ^ (port.time & map.dmrs_time[i]);
                symbol[subcarriers[j]] =
                    values[i * map.pilots + j] *
                    (negative ? -map.dmrs_amplitude : map.dmrs_amplitude);
            }
        }
    }
    for (size_t i = 0; i < map.ptrs.size(); ++i) {
        layers[map.ptrs_layer * a_layer + map.ptrs[i]] =
            values[map.ptrs_pilot[i]] * map.ptrs_amplitude;
    }
}

void transmitter::run(const std::vector<view<const uint8_t>>& payloads,
                      int slot,
                      const std::vector<int>& redundancy_versions,
                      view<complex64> grid)
{
    const auto& p = d_channel->parameters();
    const auto& map = d_channel->map();
    const size_t a_port = size_t(map.symbols) * map.subcarriers;
    require(grid.size() == a_port * p.grid_ports(),
            "the grid is not of the channel's ports, symbols and subcarriers");
    const auto symbols = layer_symbols(payloads, slot, redundancy_versions);
    const size_t n = map.data.size();
    std::vector<complex64> layers(a_port * p.layers);
    for (int layer = 0; layer < p.layers; ++layer) {
        for (size_t i = 0; i < n; ++i) {
            layers[layer * a_port + map.data[i]] = symbols[layer * n + i];
        }
    }
    add_reference_signals(slot, layers);
    const auto weights = d_channel->precoding();
    for (int port = 0; port < p.grid_ports(); ++port) {
        for (int layer = 0; layer < p.layers; ++layer) {
            const auto weight = weights[size_t(port) * p.layers + layer];
            if (weight == complex64(0)) {
                continue;
            }
            for (size_t i = 0; i < a_port; ++i) {
                grid[port * a_port + i] += weight * layers[layer * a_port + i];
            }
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
