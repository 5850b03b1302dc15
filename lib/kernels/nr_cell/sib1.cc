/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr_cell/sib1.h>
#include <numeric>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

// Rows of 3GPP TS 38.214; no symbols: reserved.
// Table 5.1.2.1.1-2, for dmrs-TypeA-Position 2; where it differs for 3, see below.
constexpr pdsch_time table_a[16] = {
    { 'A', 0, 2, 12 }, { 'A', 0, 2, 10 }, { 'A', 0, 2, 9 },  { 'A', 0, 2, 7 },
    { 'A', 0, 2, 5 },  { 'B', 0, 9, 4 },  { 'B', 0, 4, 4 },  { 'B', 0, 5, 7 },
    { 'B', 0, 5, 2 },  { 'B', 0, 9, 2 },  { 'B', 0, 12, 2 }, { 'A', 0, 1, 13 },
    { 'A', 0, 1, 6 },  { 'A', 0, 2, 4 },  { 'B', 0, 4, 7 },  { 'B', 0, 8, 4 },
};
// Table 5.1.2.1.1-4.
constexpr pdsch_time table_b[16] = {
    { 'B', 0, 2, 2 },  { 'B', 0, 4, 2 },  { 'B', 0, 6, 2 }, { 'B', 0, 8, 2 },
    { 'B', 0, 10, 2 }, { 'B', 1, 2, 2 },  { 'B', 1, 4, 2 }, { 'B', 0, 2, 4 },
    { 'B', 0, 4, 4 },  { 'B', 0, 6, 4 },  { 'B', 0, 8, 4 }, { 'B', 0, 10, 4 },
    { 'B', 0, 2, 7 },  { 'A', 0, 2, 12 }, { 'B', 1, 2, 4 }, { 'B', 0, 0, 0 },
};
// Table 5.1.2.1.1-5.
constexpr pdsch_time table_c[16] = {
    { 'B', 0, 2, 2 },  { 'B', 0, 4, 2 },  { 'B', 0, 6, 2 }, { 'B', 0, 8, 2 },
    { 'B', 0, 10, 2 }, { 'B', 0, 0, 0 },  { 'B', 0, 0, 0 }, { 'B', 0, 2, 4 },
    { 'B', 0, 4, 4 },  { 'B', 0, 6, 4 },  { 'B', 0, 8, 4 }, { 'B', 0, 10, 4 },
    { 'B', 0, 2, 7 },  { 'A', 0, 2, 12 }, { 'A', 0, 0, 6 }, { 'A', 0, 2, 6 },
};

} // namespace

std::optional<pdsch_time> default_pdsch_time(int pattern, int row, int type_a_position)
{
    if (row < 0 || row > 15 || pattern < 1 || pattern > 3) {
        return std::nullopt;
    }
    auto out = (pattern == 1 ? table_a : pattern == 2 ? table_b : table_c)[row];
    if (!out.symbols) {
        return std::nullopt;
    }
    if (type_a_position == 3) {
        const bool first_rows = pattern == 1 ? row < 5 : row == 13;
        if (first_rows) { // one symbol later and shorter
            ++out.first_symbol;
            --out.symbols;
        } else if (pattern == 1 && row == 5) {
            out.first_symbol = 10;
        } else if (pattern == 1 && row == 6) {
            out.first_symbol = 6;
        }
    }
    return out;
}

std::optional<nr::shared_channel_parameters>
sib1_channel(const system_information_dci& dci,
             const coreset_zero& set,
             const pdsch_time& when,
             int cell,
             int numerology,
             int type_a_position)
{
    constexpr int last_of_qpsk = 9; // table 5.1.3.1-1; 38.214, 5.1.3.1: Q_m <= 2
    if (dci.mcs > last_of_qpsk) {
        return std::nullopt;
    }
    nr::shared_channel_parameters p;
    p.direction = nr::link_direction::downlink;
    p.numerology = numerology;
    p.grid_start = p.bwp_start = 0;
    p.grid_size = p.bwp_size = set.blocks;
    p.resource_blocks.resize(dci.blocks);
    std::iota(p.resource_blocks.begin(), p.resource_blocks.end(), dci.first_block);
    // Bundles of two from CORESET 0's first block on (38.211, 7.3.1.6).
    p.vrb_bundle = dci.interleaved ? 2 : 0;
    p.mapping_type = when.mapping_type;
    p.first_symbol = when.first_symbol;
    p.symbols = when.symbols;
    // 38.214, section 5.1.6.2, before any configuration.
    p.dmrs.type_a_position = type_a_position;
    p.dmrs.additional_position = 2;
    while (p.positions().empty() && p.dmrs.additional_position > 0) {
        --p.dmrs.additional_position;
    }
    const bool data_beside = when.mapping_type == 'B' && when.symbols == 2;
    p.dmrs.cdm_groups_without_data = data_beside ? 1 : 2;
    p.dmrs.n_id[0] = p.dmrs.n_id[1] = cell;
    p.n_id = cell;
    p.rnti = si_rnti;
    p.mcs[0] = dci.mcs;
    return p;
}

} // namespace gr::cudaphy::kernels::nr_cell
