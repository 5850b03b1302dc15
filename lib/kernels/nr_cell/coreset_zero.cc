/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/coreset_zero_table.h"
#include "kernels/nr_cell/numerology.h"
#include <gnuradio/cudaphy/kernels/nr_cell/coreset_zero.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

std::vector<monitoring_occasion>
of_pattern_1(const coreset_zero& set, int index, int search_space_zero, int mu)
{
    const bool fr2 = mu >= 2;
    const auto& row = (fr2 ? search_spaces_fr2 : search_spaces_fr1)[search_space_zero];
    if (!row.sets) {
        return {};
    }
    const int in_a_frame = 10 << mu;
    // Both columns are in halves.
    const int slot = row.half_o * (1 << mu) / 2 + index * row.half_m / 2;
    const int first = row.sets == 1    ? row.first
                      : index % 2 == 0 ? 0
                      : row.first == 0 ? set.symbols
                                       : row.first;
    std::vector<monitoring_occasion> out;
    for (int i = 0; i < 2; ++i) {
        // Slot n_0 + 1 lies in the next frame if n_0 is a frame's last.
        const int at = slot % in_a_frame + i;
        out.push_back(
            { (slot / in_a_frame + at / in_a_frame) % 2, at % in_a_frame, first });
    }
    return out;
}

//! Tables 13-13 to 13-15: the slot of the block, or the one before.
std::vector<monitoring_occasion>
of_other_patterns(const coreset_zero& set, const ssb_place& block, int mu)
{
    const int slot =
        static_cast<int>(block.symbol / 14 * (1 << mu) / (1 << numerology(block.scs)));
    const int frame = block.system_frame_number % 2;
    if (set.pattern == 3) { // {120, 120} kHz
        constexpr int first[] = { 4, 8, 2, 6 };
        return { { frame, slot, first[block.index % 4] } };
    }
    if (block.scs == 120000) { // {120, 60} kHz
        constexpr int first[] = { 0, 1, 6, 7 };
        return { { frame, slot, first[block.index % 4] } };
    }
    // {240, 120} kHz
    constexpr int first[] = { 0, 1, 2, 3, 12, 13, 0, 1 };
    const int i = block.index % 8;
    return { { frame, i == 4 || i == 5 ? slot - 1 : slot, first[i] } };
}

} // namespace

std::optional<coreset_zero>
find_coreset_zero(int ssb_scs, int pdcch_scs, int index, int k_ssb, bool wide)
{
    if (index < 0 || index > 15) {
        return std::nullopt;
    }
    for (const auto& table : coreset_tables) {
        if (table.ssb_khz * 1000 == ssb_scs && table.pdcch_khz * 1000 == pdcch_scs &&
            (table.wide == wide || !table.narrow_or_wide)) {
            const auto& row = table.rows[index];
            if (!row.blocks) {
                return std::nullopt;
            }
            // Rows with a negative offset have one more if k_SSB > 0.
            const int more = row.offset < 0 && k_ssb > 0 ? -1 : 0;
            return coreset_zero{
                row.pattern, row.blocks, row.symbols, row.offset + more
            };
        }
    }
    return std::nullopt;
}

std::vector<monitoring_occasion> monitoring_occasions(const coreset_zero& set,
                                                      const ssb_place& block,
                                                      int search_space_zero,
                                                      int scs)
{
    if (search_space_zero < 0 || search_space_zero > 15) {
        return {};
    }
    const int mu = numerology(scs);
    if (set.pattern == 1) {
        return of_pattern_1(set, block.index, search_space_zero, mu);
    }
    // Only index 0 is not reserved.
    return search_space_zero ? std::vector<monitoring_occasion>()
                             : of_other_patterns(set, block, mu);
}

std::vector<int> ssb_first_symbols(char pattern)
{
    struct layout {
        std::vector<int> first;
        int period;
        std::vector<int> groups;
    };
    layout of;
    switch (pattern) {
    case 'A':
    case 'C':
        of = { { 2, 8 }, 14, { 0, 1, 2, 3 } };
        break;
    case 'B':
        of = { { 4, 8, 16, 20 }, 28, { 0, 1 } };
        break;
    case 'D':
        of = { { 4, 8, 16, 20 },
               28,
               { 0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18 } };
        break;
    case 'E':
        of = { { 8, 12, 16, 20, 32, 36, 40, 44 }, 56, { 0, 1, 2, 3, 5, 6, 7, 8 } };
        break;
    default:
        return {};
    }
    std::vector<int> out;
    for (const int n : of.groups) {
        for (const int first : of.first) {
            out.push_back(first + n * of.period);
        }
    }
    return out;
}

double symbol_time(int symbol, int scs)
{
    const int mu = numerology(scs);
    const int half_millisecond = 7 << mu; // symbols, of which the first is longer
    const int longer = (symbol + half_millisecond - 1) / half_millisecond;
    return (symbol * (2048.0 + 144) / (1 << mu) + 16.0 * longer) / 30.72e6;
}

} // namespace gr::cudaphy::kernels::nr_cell
