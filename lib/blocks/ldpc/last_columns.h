/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

/*!
 * The k columns of H where GNU Radio's LDPC encoder puts the information bits, in its
 * order. It takes the rows of H in turns. A row's parity bit is the first column that no
 * earlier row determines; it changes places with the column that stands behind the parity
 * bits so far. What is left are the last columns, ascending, if the others are
 * independent; else columns that were moved stand among them.
 *
 * \throws std::invalid_argument for a code that does not send every column, or whose H
 * has more than 2^28 entries: this eliminates the dense matrix.
 */
std::vector<int> last_columns(const kernels::ldpc_code& code);

//! What an argument info_bits says: true for "last", false for "code". \throws
//! std::invalid_argument for anything else.
bool in_last_columns(const std::string& info_bits);

} // namespace gr::cudaphy
