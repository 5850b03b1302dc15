/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief The block rows of a long quasi-cyclic code in an order in which each two
 * neighbours, the first and second, the third and fourth, ..., have no column in common.
 *
 * Layered decoding may visit two such rows at once, and comes to the same as one after
 * the other. The first of each pair are those of the upper half of H, the second ones of
 * the lower half, so that most rows of a staircase follow their neighbour two further on
 * in the order. Rows share as few columns with the pair before as a search of a fixed
 * length finds. The last pair's second one is -1 where the number of rows is odd.
 *
 * Empty where there is none: for codes of fewer than 32768 columns, which two codewords
 * at a time suit better, for an odd lifting size, and where rows are too full.
 */
std::vector<std::array<int, 2>> ldpc_row_pairs(const ldpc_code&);

//! All `rows` in the order of these pairs, or as they stand where there are none.
std::vector<int> ldpc_row_order(const std::vector<std::array<int, 2>>& pairs, int rows);

} // namespace gr::cudaphy::kernels
