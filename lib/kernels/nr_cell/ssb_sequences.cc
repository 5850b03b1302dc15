/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <array>
#include <gnuradio/cudaphy/kernels/nr/dmrs_sequence.h>
#include <gnuradio/cudaphy/kernels/nr_cell/ssb_sequences.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

using nr::require;

//! x(i + 7) = x(i + tap) + x(i); bit i of `start` is x(i).
std::array<int, sync_length> m_sequence(unsigned start, int tap)
{
    std::array<int, sync_length> x{};
    for (int i = 0; i < sync_length; ++i) {
        x[i] = i < 7 ? start >> i & 1 : x[i - 7 + tap] ^ x[i - 7];
    }
    return x;
}

void require_cell(int cell)
{
    require(cell >= 0 && cell < cells,
            "a cell's identity is 0 to 1007 (TS 38.211, 7.4.2.1)");
}

bool has_dmrs(int cell, int subcarrier) { return subcarrier % 4 == cell % 4; }

std::vector<ssb_element> elements(int cell, bool dmrs)
{
    require_cell(cell);
    std::vector<ssb_element> out;
    for (int l = 1; l < ssb_symbols; ++l) {
        for (int k = 0; k < ssb_subcarriers; ++k) {
            const bool of_pbch = l != 2 || k < 48 || k >= 192;
            if (of_pbch && has_dmrs(cell, k) == dmrs) {
                out.push_back({ l, k });
            }
        }
    }
    return out;
}

} // namespace

std::vector<float> primary_sequence(int n_id_2)
{
    require(n_id_2 >= 0 && n_id_2 <= 2, "N_ID^(2) is 0 to 2 (TS 38.211, 7.4.2.1)");
    const auto x = m_sequence(0x76, 4); // x(6) ... x(0) = 1110110
    std::vector<float> out;
    for (int n = 0; n < sync_length; ++n) {
        out.push_back(1 - 2.0f * x[(n + 43 * n_id_2) % sync_length]);
    }
    return out;
}

std::vector<float> secondary_sequence(int cell)
{
    require_cell(cell);
    static const auto first = m_sequence(1, 4), second = m_sequence(1, 1);
    const int n_id_1 = cell / 3;
    const int m_0 = 15 * (n_id_1 / 112) + 5 * (cell % 3), m_1 = n_id_1 % 112;
    std::vector<float> out;
    for (int n = 0; n < sync_length; ++n) {
        const int bit = first[(n + m_0) % sync_length] ^ second[(n + m_1) % sync_length];
        out.push_back(1 - 2.0f * bit);
    }
    return out;
}

std::vector<complex64> pbch_dmrs(int cell, int index)
{
    require_cell(cell);
    require(index >= 0 && index <= 7,
            "PBCH's DM-RS has 8 sequences (TS 38.211, 7.4.1.4.1)");
    const uint32_t c_init =
        ((index + 1) * (cell / 4 + 1) << 11) + ((index + 1) << 6) + cell % 4;
    std::vector<complex64> out(144);
    nr::dmrs_gold_sequence(c_init, 0, out);
    return out;
}

std::vector<ssb_element> pbch_dmrs_elements(int cell) { return elements(cell, true); }
std::vector<ssb_element> pbch_elements(int cell) { return elements(cell, false); }

} // namespace gr::cudaphy::kernels::nr_cell
