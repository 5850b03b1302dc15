/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/pilot_layout.h"

namespace gr::cudaphy::kernels::nr {

pilot_layout::pilot_layout(const shared_channel& channel)
{
    const auto& map = channel.map();
    const auto& dmrs = channel.parameters().dmrs;
    type_1 = dmrs.type == 1;
    length = dmrs.length;
    groups = map.groups();
    pilots = map.pilots / 2;
    spacing = type_1 ? 4 : 6;
    tones = 12 * static_cast<int>(map.blocks.size());
    const int a_block = 12 / spacing;
    tone_of_subcarrier.assign(map.subcarriers, -1);
    for (size_t i = 0; i < map.blocks.size(); ++i) {
        const int tone = 12 * static_cast<int>(i);
        if (i == 0 || map.blocks[i] != map.blocks[i - 1] + 1) {
            runs.push_back({ tone, 0, tone / spacing, 0 });
        }
        runs.back().tones += 12;
        runs.back().pilots += a_block;
        for (int k = 0; k < 12; ++k) {
            tone_of_subcarrier[12 * map.blocks[i] + k] = tone + k;
        }
    }
    for (size_t i = 0; i < map.dmrs_symbols.size(); i += length) {
        first_symbol.push_back(map.dmrs_symbols[i]);
        time.push_back(map.dmrs_symbols[i] + 0.5 * (length - 1));
    }
}

} // namespace gr::cudaphy::kernels::nr
