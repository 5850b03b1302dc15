/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/resource_map.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Places m of PT-RS among the symbols before transform precoding, ascending (TS
 * 38.211, table 6.4.1.2.2.2-1).
 *
 * \param groups   N_group: 2 or 4, with 4 samples also 8
 * \param samples  N_samp of each group: 2 or 4
 * \param tones    M_sc
 * \throws std::invalid_argument if the groups overlap
 */
std::vector<int> precoded_ptrs_places(int groups, int samples, int tones);

//! Ratio of the outermost points' amplitude to that of pi/2-BPSK (TS 38.214, table
//! 6.2.3.2-2). \param order  Q_m, 1 to 8
float precoded_ptrs_amplitude(int order);

} // namespace gr::cudaphy::kernels::nr
