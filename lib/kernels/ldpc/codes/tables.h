/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstdint>

namespace gr::cudaphy::kernels::ldpc_tables {

/*!
 * One code of IEEE 802.11-2020, annex F, or IEEE 802.16e-2005, section 8.4.9.2.5. Its
 * matrix has 24 block columns of n / 24 bits; the blocks are zero or identities shifted
 * right. The last block columns, as many as there are block rows, follow one pattern: the
 * first one has a shift in the first and last row and one between them, behind it stands
 * a staircase of shifts 0. Only the others are listed.
 */
struct staircase_code {
    int n; //!< the length that the shifts are written for
    const char* rate;
    int block_rows; //!< 12, 8, 6 or 4
    int end_shift;  //!< first parity block column: in the first and last row
    int middle_row, middle_shift; //!< and between them
    const int8_t* shifts;         //!< (block_rows, 24 - block_rows), -1 for a zero block
};

/*!
 * One code of DVB-S2, S2X or T2 (ETSI EN 302 307-1, section 5.3.2). Information bits come
 * in groups of 360. Bit j of a group is added into the parity accumulators (x + j q) mod
 * (n - k) for each address x of its group; then every accumulator is added into the next
 * one.
 */
struct dvb_code {
    struct run {
        uint8_t groups, weight; //!< so many groups with so many addresses each
    };
    //! Of the VL-SNR codes: bits that are not sent.
    struct omitted {
        int shortened; //!< the first information bits, which are 0
        int period; //!< every period-th parity bit is punctured, from the first one on,
        int punctured; //!< so many in all
    };

    const char* frame;
    const char* rate;
    int n, k;                  //!< before anything is left out
    std::array<run, 8> runs;   //!< in the order of the groups; behind the last one zeros
    const uint16_t* addresses; //!< group after group
    omitted vl_snr = { 0, 1, 0 };

    int q() const { return (n - k) / 360; }
};

//! The circulant of a block: shift is the column of its first row's one.
struct block_circulant {
    uint8_t row, column;
    uint16_t shift;
};

//! A CCSDS code that is listed circulant by circulant, by row, then column, then shift.
struct circulant_code {
    int lifting_size, block_rows, block_columns;
    const block_circulant* begin;
    const block_circulant* end;
};

/*!
 * AR4JA (CCSDS 131.0-B-5, section 7.4). H consists of blocks of M x M, sums of identities
 * and permutations pi_k (k = 1 ... 26), each of which falls into four circulants of
 * M / 4: check i of quarter j is with bit (phi_k(j, M) + i) mod M / 4 of quarter
 * (theta_k + j) mod 4.
 */
struct ar4ja_permutation {
    int theta;
    int phi[4][7]; //!< for j = 0 ... 3 and M = 128, 256 ... 8192
};

//! One permutation of a block of AR4JA's H; columns count from the left of rate 4/5.
struct ar4ja_block {
    int row, column;
    int permutation; //!< k, or 0 for the identity
};

//! Circulants of one block of a base graph of 5G NR: its row and column, and the V_ij of
//! 3GPP TS 38.212, tables 5.3.2-2 and 5.3.2-3, for each set of lifting sizes; the shift
//! is V_ij mod Z.
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

    //! The sets of lifting sizes of table 5.3.2-1 are base · 2^j up to 384.
    static constexpr int bases[8] = { 2, 3, 5, 7, 9, 11, 13, 15 };
    static constexpr int max_lifting_size = 384;
};

extern const std::array<staircase_code, 12> wifi;
extern const std::array<staircase_code, 6> wimax;
extern const std::array<dvb_code, 21> dvbs2;
extern const std::array<dvb_code, 39> dvbs2x;
extern const std::array<dvb_code, 15> dvbt2;
extern const std::array<ar4ja_permutation, 26> ar4ja;
extern const std::array<ar4ja_block, 39> ar4ja_blocks;
extern const circulant_code ccsds_tc_128, ccsds_tc_512, ccsds_c2;
extern const std::array<nr5g_graph, 2> nr5g;

} // namespace gr::cudaphy::kernels::ldpc_tables
