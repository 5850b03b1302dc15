/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/ptrs.h"
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/resource_blocks.h>
#include <gnuradio/cudaphy/kernels/nr/resource_map.h>

namespace gr::cudaphy::kernels::nr {
namespace {

using parameters = shared_channel_parameters;

//! Physical resource blocks of the grid in the order of the virtual ones.
std::vector<int> mapped_blocks(const parameters& p)
{
    const int offset = p.bwp_start - p.grid_start;
    std::vector<int> out;
    const auto order =
        p.vrb_bundle ? interleaved_resource_blocks(p.bwp_start, p.bwp_size, p.vrb_bundle)
                     : std::vector<int>();
    for (const int block : p.resource_blocks) {
        out.push_back(offset + (p.vrb_bundle ? order[block] : block));
    }
    return out;
}

//! Subcarriers of a CDM group's pilots in a resource block: tables 6.4.1.1.3-1 and -2.
std::vector<int> pilots_of_block(int type, int group)
{
    std::vector<int> out;
    for (int j = 0; j < (type == 1 ? 6 : 4); ++j) {
        out.push_back(type == 1 ? 2 * j + group : j / 2 * 6 + j % 2 + 2 * group);
    }
    return out;
}

void place_dmrs(const parameters& p, resource_map& map)
{
    const auto& d = p.dmrs;
    for (const int position : p.positions()) {
        for (int i = 0; i < d.length; ++i) {
            map.dmrs_symbols.push_back(position + i);
            map.dmrs_time.push_back(i);
        }
    }
    const int a_block = d.type == 1 ? 6 : 4;
    map.pilots = a_block * static_cast<int>(map.blocks.size());
    for (int group = 0; group < d.cdm_groups_without_data; ++group) {
        for (const int block : map.blocks) {
            for (const int subcarrier : pilots_of_block(d.type, group)) {
                map.dmrs_subcarriers.push_back(12 * block + subcarrier);
            }
        }
    }
    // Without transform precoding the sequence belongs to common resource blocks, with it
    // to the allocation.
    const int origin =
        p.transform_precoding ? -map.blocks.front() : p.grid_start - d.reference_block;
    for (const int block : map.blocks) {
        for (int j = 0; j < a_block; ++j) {
            map.dmrs_sequence.push_back((block + origin) * a_block + j);
        }
    }
    const int groups = d.type == 1 ? 2 : 3;
    for (const int port : d.ports) {
        map.ports.push_back({ port / 2 % groups, port % 2, port / 2 / groups });
    }
    map.dmrs_amplitude = d.amplitude > 0
                             ? d.amplitude
                             : std::sqrt(static_cast<float>(d.cdm_groups_without_data));
}

} // namespace

resource_map make_resource_map(const parameters& p)
{
    p.check();
    resource_map map{};
    map.symbols = p.symbols_per_slot();
    map.subcarriers = p.subcarriers();
    const auto order = mapped_blocks(p);
    map.blocks = order;
    std::sort(map.blocks.begin(), map.blocks.end());
    place_dmrs(p, map);
    place_ptrs(p, map);
    // What data leaves out.
    std::vector<uint8_t> taken(size_t(map.symbols) * map.subcarriers);
    for (const int symbol : map.dmrs_symbols) {
        for (const uint32_t subcarrier : map.dmrs_subcarriers) {
            taken[symbol * map.subcarriers + subcarrier] = 1;
        }
    }
    for (const uint32_t element : map.ptrs) {
        taken[element] = 1;
    }
    for (size_t i = 0; i < p.reserved.size(); ++i) {
        for (const auto& port : map.ports) {
            const auto* const first =
                map.dmrs_subcarriers.data() + size_t(port.group) * map.pilots;
            require(!p.reserved[i] ||
                        std::find(map.dmrs_symbols.begin(),
                                  map.dmrs_symbols.end(),
                                  int(i / map.subcarriers)) == map.dmrs_symbols.end() ||
                        !std::binary_search(
                            first, first + map.pilots, uint32_t(i % map.subcarriers)),
                    "reserved resource elements meet DM-RS (TS 38.214, 5.1.4)");
        }
        taken[i] |= p.reserved[i] != 0;
    }
    map.data_in_symbol.resize(map.symbols);
    for (int l = p.first_symbol; l < p.first_symbol + p.symbols; ++l) {
        for (const int block : order) {
            for (int k = 12 * block; k < 12 * block + 12; ++k) {
                const uint32_t element = l * map.subcarriers + k;
                if (!taken[element]) {
                    map.data.push_back(element);
                    ++map.data_in_symbol[l];
                }
            }
        }
    }
    require(!map.data.empty(),
            "no resource element is left for data; give more symbols or resource "
            "blocks, or fewer cdm_groups_without_data (TS 38.211, 6.3.1.6 and 7.3.1.5)");
    return map;
}

std::vector<complex64> dmrs_values(const parameters& p, const resource_map& map, int slot)
{
    const auto& d = p.dmrs;
    const int most = 10 << p.numerology;
    require(slot >= 0 && slot < most,
            "slot is 0 to 10 · 2^numerology - 1, the slot in a frame (TS 38.211, "
            "4.3.2)");
    std::vector<complex64> out(map.dmrs_symbols.size() * map.pilots);
    const uint32_t first = map.dmrs_sequence.front();
    std::vector<complex64> sequence(map.dmrs_sequence.back() + 1 - first);
    for (size_t i = 0; i < map.dmrs_symbols.size(); ++i) {
        const int symbol = map.dmrs_symbols[i];
        if (p.transform_precoding) {
            // The first symbol of a position chooses for both.
            const auto [u, v] = choose_low_papr(d.hopping,
                                                map.symbols,
                                                slot,
                                                symbol - map.dmrs_time[i],
                                                d.n_rs_id,
                                                sequence.size());
            low_papr_sequence(u, v, sequence);
        } else {
            const uint32_t c_init =
                dmrs_c_init(map.symbols, slot, symbol, d.n_id[d.n_scid], d.n_scid);
            dmrs_gold_sequence(c_init, first, sequence);
        }
        for (int j = 0; j < map.pilots; ++j) {
            out[i * map.pilots + j] = sequence[map.dmrs_sequence[j] - first];
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
