/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/pdsch_receiver.h"
#include "kernels/nr_cell/smoothing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

constexpr int pilots_of_block = 6; // DM-RS of type 1

//! Least-squares estimates at DM-RS, (DM-RS symbols, pilots).
std::vector<std::vector<complex64>>
estimates(const nr::shared_channel& channel, int slot, const std::vector<complex64>& grid)
{
    const auto& map = channel.map();
    const auto values = nr::dmrs_values(channel.parameters(), map, slot);
    std::vector<std::vector<complex64>> out;
    for (size_t i = 0; i < map.dmrs_symbols.size(); ++i) {
        out.emplace_back();
        for (int j = 0; j < map.pilots; ++j) {
            const auto& y = grid[size_t(map.dmrs_symbols[i]) * map.subcarriers +
                                 map.dmrs_subcarriers[j]];
            out.back().push_back(y * std::conj(values[i * map.pilots + j]) /
                                 map.dmrs_amplitude);
        }
    }
    return out;
}

//! The angle by which phases turn from symbol to symbol: the one that makes the symbols'
//! estimates agree best.
double turn_of(const nr::resource_map& map,
               const std::vector<std::vector<complex64>>& channel)
{
    struct pair {
        int apart;
        std::complex<double> product;
    };
    std::vector<pair> pairs;
    for (size_t i = 0; i < channel.size(); ++i) {
        for (size_t j = i + 1; j < channel.size(); ++j) {
            pairs.push_back({ map.dmrs_symbols[j] - map.dmrs_symbols[i], 0 });
            for (size_t k = 0; k < channel[i].size(); ++k) {
                pairs.back().product += std::complex<double>(channel[j][k]) *
                                        std::conj(std::complex<double>(channel[i][k]));
            }
        }
    }
    constexpr int steps = 150;
    constexpr double most = 0.3; // the frequency is known better than this
    double best = 0, best_value = -1;
    for (int i = -steps; i <= steps && !pairs.empty(); ++i) {
        const double angle = most * i / steps;
        double value = 0;
        for (const auto& p : pairs) {
            value += (p.product * std::polar(1.0, -angle * p.apart)).real();
        }
        if (value > best_value) {
            best = angle;
            best_value = value;
        }
    }
    return best;
}

//! The channel at all subcarriers of the allocated blocks, (subcarriers). A block has a
//! precoding of its own (TS 38.214, 5.1.2.3: two blocks have), so it is estimated alone.
std::vector<complex64> interpolate(const nr::resource_map& map,
                                   const std::vector<std::vector<complex64>>& channel,
                                   double turn,
                                   float noise)
{
    std::vector<complex64> out(map.subcarriers);
    const float symbols = float(channel.size());
    for (size_t block = 0; block < map.blocks.size(); ++block) {
        pilots known;
        std::vector<double> wanted;
        float power = 0;
        for (int j = 0; j < pilots_of_block; ++j) {
            const size_t pilot = block * pilots_of_block + j;
            complex64 sum = 0;
            for (size_t i = 0; i < channel.size(); ++i) {
                sum += channel[i][pilot] *
                       complex64(std::polar(1.0, -turn * map.dmrs_symbols[i]));
            }
            known.at.push_back(map.dmrs_subcarriers[pilot]);
            known.channel.push_back(sum / symbols);
            known.noise.push_back(noise / symbols /
                                  (map.dmrs_amplitude * map.dmrs_amplitude));
            power += std::norm(known.channel.back()) / pilots_of_block;
        }
        const int first = 12 * map.blocks[block];
        for (int k = first; k < first + 12; ++k) {
            wanted.push_back(k);
        }
        constexpr double spread = 0.035; // half a prefix
        const auto h = smooth(known, power, spread, wanted);
        std::copy(h.begin(), h.end(), out.begin() + first);
    }
    return out;
}

} // namespace

struct pdsch_receiver::decoder {
    int payload;
    nr5g::transport_block_decoder blocks;
};

pdsch_receiver::pdsch_receiver() = default;
pdsch_receiver::~pdsch_receiver() = default;

std::vector<uint8_t> pdsch_receiver::receive(const nr::shared_channel_parameters& p,
                                             int slot,
                                             int redundancy_version,
                                             const std::vector<complex64>& grid,
                                             float noise)
{
    const auto channel = nr::shared_channel::make(p);
    const auto& map = channel->map();
    const auto& word = channel->codewords().front();
    const auto known = estimates(*channel, slot, grid);
    const double turn = turn_of(map, known);
    const auto h = interpolate(map, known, turn, noise);
    // QPSK (TS 38.211, 5.1.3), descrambled (7.3.1.1).
    const float scale = 2 * std::sqrt(2.0f) / (noise + 1e-30f);
    nr::gold_sequence scrambling(channel->scrambling_c_init(0));
    std::vector<float> llr;
    for (const uint32_t element : map.data) {
        const int l = int(element) / map.subcarriers, k = int(element) % map.subcarriers;
        const auto z = grid[element] * std::conj(h[k]) *
                       complex64(std::polar(double(scale), -turn * l));
        for (const float soft : { z.real(), z.imag() }) {
            llr.push_back(scrambling.next(1) ? -soft : soft);
        }
    }
    if (!d_decoder || d_decoder->payload != word.payload) {
        nr5g::transport_block_decoder::parameters how;
        how.limited_buffer = word.limited_buffer;
        how.decoding.max_iterations = 50;
        d_decoder.reset(new decoder{ word.payload, { word.blocks, how, backend::cpu } });
    }
    std::vector<uint8_t> bits(word.payload);
    const auto outcome =
        d_decoder->blocks.decode(llr, { 1, word.coding.order, redundancy_version }, bits);
    if (!outcome.ok) {
        return {};
    }
    std::vector<uint8_t> bytes(bits.size() / 8);
    for (size_t i = 0; i < 8 * bytes.size(); ++i) {
        bytes[i / 8] = uint8_t(bytes[i / 8] << 1 | bits[i]);
    }
    return bytes;
}

} // namespace gr::cudaphy::kernels::nr_cell
