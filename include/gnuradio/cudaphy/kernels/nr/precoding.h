/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief W of codebook precoding on PUSCH (3GPP TS 38.211, tables 6.3.1.5-1 to -7).
 *
 * \param ports   antenna ports, 1, 2 or 4
 * \param layers  1 to ports
 * \param tpmi    a column of the table; the error says how many it has
 * \returns (ports, layers)
 * \throws std::invalid_argument
 */
CUDAPHY_API std::vector<complex64>
precoding_matrix(int ports, int layers, int tpmi, bool transform_precoding = false);

} // namespace gr::cudaphy::kernels::nr
