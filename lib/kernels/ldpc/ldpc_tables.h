/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstdint>

namespace gr::cudaphy::kernels::ldpc_tables {

/*!
 * One code of IEEE 802.11-2020, annex F. Its matrix has 24 block columns of n / 24 bits;
 * the blocks are zero or identities shifted right. The last block columns, as many as
 * there are block rows, are the same in all twelve: shifts 1, 0, 1 in the first, middle
 * and last row of the first one, behind it a staircase of shifts 0. Only the others are
 * listed.
 */
struct wifi_code {
    int n;
    const char* rate;
    float scale;          //!< of normalised min-sum, see the table
    int block_rows;       //!< 12, 8, 6 or 4
    const int8_t* shifts; //!< (block_rows, 24 - block_rows), -1 for a zero block
};

/*!
 * One code of ETSI EN 302 307-1, section 5.3.2. Information bits come in groups of 360.
 * Bit j of a group is added into the parity accumulators (x + j q) mod (n - k) for each
 * address x of its group; then every accumulator is added into the next one.
 */
struct dvbs2_code {
    const char* frame;
    const char* rate;
    float scale;
    int n, k;
    int heavy_groups, heavy_weight; //!< the first groups' number of addresses
    const uint16_t* addresses;      //!< group after group, annexes B and C

    static constexpr int light_weight = 3; //!< the other groups' number of addresses
    int q() const { return (n - k) / 360; }
};

//! Circulants of one block of a base graph of 5G NR: its row and column, and the V_ij of
//! 3GPP TS 38.212, tables 5.3.2-2 and 5.3.2-3, for each set of lifting sizes; the shift is
//! V_ij mod Z.
struct nr5g_circulants {
    uint8_t row, column;
    uint16_t shifts[8];
};

/*!
 * One base graph of 5G NR, by row, then column. Row r from 4 on also has a circulant of
 * shift 0 in column systematic + r, its last one, which is not listed.
 */
struct nr5g_graph {
    int rows, systematic; //!< block rows; block columns of the information, K_b
    const nr5g_circulants* begin;
    const nr5g_circulants* end;
    //! Numbers of rows and the scale of each, ascending; between them it is interpolated.
    struct factor {
        int rows;
        float scale;
    };
    const factor* first_factor;
    const factor* last_factor;

    //! The sets of lifting sizes of table 5.3.2-1 are base · 2^j up to 384.
    static constexpr int bases[8] = { 2, 3, 5, 7, 9, 11, 13, 15 };
    static constexpr int max_lifting_size = 384;
};

extern const std::array<wifi_code, 12> wifi;
extern const std::array<dvbs2_code, 21> dvbs2;
extern const std::array<nr5g_graph, 2> nr5g;

} // namespace gr::cudaphy::kernels::ldpc_tables
