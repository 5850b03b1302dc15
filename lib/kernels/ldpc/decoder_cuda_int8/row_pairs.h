/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief The block rows of a long quasi-cyclic code as pairs of rows without a common
 * column.
 *
 * Layered decoding may visit both rows of a pair at once: the result is the same as one
 * after the other. The first row of a pair is from the upper half of H, the second from
 * the lower half. Thereby most rows of a staircase follow their neighbour by two pairs. A
 * search of a fixed length orders the pairs so that each shares few columns with the pair
 * before. The second row of the last pair is -1 if the number of rows is odd.
 *
 * Empty for codes of fewer than 32768 columns (form::pairs suits them better), for an odd
 * lifting size, and if rows are too full for such pairs.
 */
std::vector<std::array<int, 2>> ldpc_row_pairs(const ldpc_code&);

//! All rows in the order of the pairs; 0, 1, ..., rows - 1 if there are none.
std::vector<int> ldpc_row_order(const std::vector<std::array<int, 2>>& pairs, int rows);

} // namespace gr::cudaphy::kernels
