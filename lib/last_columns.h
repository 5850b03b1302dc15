/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

/*!
 * The k columns of H, ascending, that are left over where parity bits are taken from the
 * left as far as they are independent: GNU Radio's LDPC encoder puts the information bits
 * there, in this order.
 *
 * \throws std::invalid_argument for a code that does not send every column, or whose H
 * has more than 2^28 entries: this eliminates the dense matrix.
 */
std::vector<int> last_columns(const kernels::ldpc_code& code);

} // namespace gr::cudaphy
