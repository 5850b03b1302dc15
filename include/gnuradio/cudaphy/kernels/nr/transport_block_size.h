/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/mcs.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Bits of a transport block by 3GPP TS 38.214, section 5.1.3.2, steps 2 to 4.
 *
 * \param elements  N_RE, resource elements for data
 * \param layers    those of the codeword, 1 to 4
 * \returns a multiple of 8
 * \throws std::invalid_argument unless elements and layers are positive
 */
CUDAPHY_API int
transport_block_size(int elements, const modulation_and_coding&, int layers);

/*!
 * \brief TBS_LBRM of limited-buffer rate matching (TS 38.212, section 5.4.2.1).
 *
 * \param prbs    resource blocks of the largest bandwidth part, 1 to 275
 * \param layers  the most layers that a transport block may have, 1 to 4
 * \param order   the highest modulation order configured: 6, 8 or 10
 * \throws std::invalid_argument
 */
CUDAPHY_API int limited_buffer_block_size(int prbs, int layers, int order);

} // namespace gr::cudaphy::kernels::nr
