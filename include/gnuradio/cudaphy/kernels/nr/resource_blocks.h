/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Resource blocks of a bandwidth part that a bitmap of resource allocation type 0
 * names (3GPP TS 38.214, sections 5.1.2.2.1 and 6.1.2.2.1), ascending.
 *
 * \param bitmap         '1' or '0' for each group of resource blocks, lowest first
 * \param bwp_start      first common resource block of the bandwidth part
 * \param bwp_size       its resource blocks, 1 to 275
 * \param configuration  rbg-Size: 1 or 2
 * \throws std::invalid_argument for a bitmap of another length than the groups', for
 * other digits, and if it names none
 */
CUDAPHY_API std::vector<int> bitmap_resource_blocks(const std::string& bitmap,
                                                    int bwp_start,
                                                    int bwp_size,
                                                    int configuration = 1);

/*!
 * \brief The physical resource block of each virtual one of a bandwidth part, interleaved
 * by bundles (TS 38.211, section 7.3.1.6).
 *
 * \param bundle  L, 2 or 4
 * \throws std::invalid_argument
 */
CUDAPHY_API std::vector<int>
interleaved_resource_blocks(int bwp_start, int bwp_size, int bundle);

} // namespace gr::cudaphy::kernels::nr
