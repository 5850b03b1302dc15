/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/ptrs.h"
#include "kernels/nr/precoded_ptrs.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

//! k_ref^RE by the port and resourceElementOffset: tables 6.4.1.2.2.1-1 and 7.4.1.2.2-1.
constexpr int type_1[4][4] = {
    { 0, 2, 6, 8 }, { 2, 4, 8, 10 }, { 1, 3, 7, 9 }, { 3, 5, 9, 11 }
};
constexpr int type_2[6][4] = { { 0, 1, 6, 7 }, { 1, 6, 7, 0 },   { 2, 3, 8, 9 },
                               { 3, 8, 9, 2 }, { 4, 5, 10, 11 }, { 5, 10, 11, 4 } };

} // namespace

std::vector<int> ptrs_symbols(const shared_channel_parameters& p,
                              const std::vector<int>& dmrs_symbols)
{
    const int step = p.ptrs.time_density;
    const int end = p.first_symbol + p.symbols;
    const auto with_dmrs = [&](int symbol) {
        return std::find(dmrs_symbols.begin(), dmrs_symbols.end(), symbol);
    };
    std::vector<int> out;
    int reference = p.first_symbol, i = 0;
    while (reference + i * step < end) {
        // DM-RS since the last PT-RS takes its place, and the counting starts anew there.
        const int first = std::max(reference + (i - 1) * step + 1, reference);
        auto found = dmrs_symbols.end();
        for (int l = first; l <= reference + i * step && found == dmrs_symbols.end();
             ++l) {
            found = with_dmrs(l);
        }
        if (found == dmrs_symbols.end()) {
            out.push_back(reference + i * step);
            ++i;
            continue;
        }
        reference = *found;
        // Of two symbols at a position, the second one counts.
        if (p.dmrs.length == 2 && with_dmrs(reference + 1) != dmrs_symbols.end()) {
            ++reference;
        }
        i = 1;
    }
    return out;
}

void place_ptrs(const shared_channel_parameters& p, resource_map& map)
{
    const auto& t = p.ptrs;
    const auto& ports = p.dmrs.ports;
    const auto lowest = std::min_element(ports.begin(), ports.end());
    const int port = t.port < 0 ? *lowest : t.port;
    map.ptrs_layer =
        static_cast<int>(std::find(ports.begin(), ports.end(), port) - ports.begin());
    map.ptrs_amplitude =
        t.amplitude > 0 ? t.amplitude
        : p.transform_precoding
            ? precoded_ptrs_amplitude(find_mcs(p.table, p.mcs[0], p.pi2_bpsk).order)
            : std::sqrt(static_cast<float>(p.layers));
    if (!t.on) {
        return;
    }
    if (p.transform_precoding) {
        map.precoded_ptrs_symbols = ptrs_symbols(p, map.dmrs_symbols);
        if (!map.precoded_ptrs_symbols.empty()) {
            map.precoded_ptrs_places = precoded_ptrs_places(
                t.groups, t.samples, 12 * static_cast<int>(map.blocks.size()));
        }
        return;
    }
    const int blocks = static_cast<int>(map.blocks.size());
    const int step = t.frequency_density;
    const int first = p.rnti % (blocks % step ? blocks % step : step);
    const int element = (p.dmrs.type == 1 ? type_1 : type_2)[port][t.element_offset];
    const int a_block = map.pilots / blocks;
    const auto* const group = map.dmrs_subcarriers.data() +
                              size_t(map.ports[map.ptrs_layer].group) * map.pilots;
    for (const int symbol : ptrs_symbols(p, map.dmrs_symbols)) {
        for (int i = first; i < blocks; i += step) {
            const uint32_t subcarrier = 12 * map.blocks[i] + element;
            const uint32_t at = symbol * map.subcarriers + subcarrier;
            if (!p.reserved.empty() && p.reserved[at]) {
                continue;
            }
            const auto* const pilots = group + size_t(i) * a_block;
            map.ptrs.push_back(at);
            map.ptrs_pilot.push_back(static_cast<uint32_t>(
                std::find(pilots, pilots + a_block, subcarrier) - group));
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
