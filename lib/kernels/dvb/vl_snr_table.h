/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>

namespace gr::cudaphy::kernels {

//! A VL-SNR frame by the number of its VL-SNR header.
struct vl_snr_row {
    int number;
    const char* modulation;
    const char* frame;
    const char* rate; //!< as ldpc_code::dvbs2x names it; empty: a dummy frame
    int bits;         //!< a symbol
    int repeats;      //!< spreading factor
};

//! EN 302 307-2, tables 18a and 18b.
constexpr vl_snr_row vl_snr_modes[] = {
    { 0, "QPSK", "normal", "2/9 VL-SNR", 2, 1 },
    { 1, "BPSK", "medium", "1/5 VL-SNR", 1, 1 },
    { 2, "BPSK", "medium", "11/45 VL-SNR", 1, 1 },
    { 3, "BPSK", "medium", "1/3 VL-SNR", 1, 1 },
    { 4, "BPSK", "short", "1/5 VL-SNR SF2", 1, 2 },
    { 5, "BPSK", "short", "11/45 VL-SNR SF2", 1, 2 },
    { 9, "BPSK", "short", "1/5 VL-SNR", 1, 1 },
    { 10, "BPSK", "short", "4/15 VL-SNR", 1, 1 },
    { 11, "BPSK", "short", "1/3 VL-SNR", 1, 1 },
    { 12, "BPSK", "short", "", 1, 1 },
};

// Of both sets of frames, in symbols (EN 302 307-2, section 5.5.2.5, figures 17 and 18):
// behind the VL-SNR header and `first_data` come groups of 1440 symbols with pilots in
// their middle, and ordinary pilots before each of them; then the tail.
struct vl_snr_set {
    int pls; //!< of the physical layer header (table 17a)
    int narrow_groups, narrow_data, narrow_pilots; //!< data on either side of the pilots
    int wide_groups, wide_data, wide_pilots;
    int tail;
    int data; //!< in all
};
constexpr int vl_snr_first_data = 540;
constexpr vl_snr_set vl_snr_sets[] = {
    { 129, 18, 703, 34, 3, 702, 36, 720, 30780 },
    { 131, 9, 704, 32, 1, 702, 36, 360, 14976 },
};
constexpr int first_number_of_set_2 = 9;

constexpr const vl_snr_set& set_of_vl_snr(int number)
{
    return vl_snr_sets[number < first_number_of_set_2 ? 0 : 1];
}

//! The header's 16 rows of 56 bits, the first one highest. (EN 302 307-2, section
//! 5.5.2.5)
constexpr uint64_t vl_snr_rows[] = {
    0xfbf23e837f9bc4, 0x98708e0b39345e, 0xf6a2c9fe1b1737, 0x8418d95a6f997a,
    0x7b7d7b3e9fc9ea, 0x5e78ba03a6d51a, 0x279cc26543ecd0, 0x342b0498bf3d7d,
    0xadd036e9d5312f, 0x1061c6df826237, 0x72d3e0907384c7, 0x3bd5acee25e2c9,
    0x59087d82615ada, 0xe9af0172cf9da7, 0x3f4835a4063f07, 0x23c9aeecf2ed41,
};
constexpr int vl_snr_row_bits = 56;

//! By the header's number, which of the rows are inverted, the first one highest: a
//! Walsh-Hadamard code. (EN 302 307-2, table 18b)
constexpr uint16_t vl_snr_signs[] = {
    0x0000, 0x5555, 0x3333, 0x6666, 0x0f0f, 0x6969, 0x33cc, 0x6699,
    0x0ff0, 0x3c3c, 0x5a5a, 0xff00, 0x55aa, 0x5aa5, 0x3cc3, 0x6996,
};

} // namespace gr::cudaphy::kernels
