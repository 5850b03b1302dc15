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

extern const std::array<wifi_code, 12> wifi;
extern const std::array<dvbs2_code, 21> dvbs2;

} // namespace gr::cudaphy::kernels::ldpc_tables
