/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/resource_map.h>

namespace gr::cudaphy::kernels::nr {

//! Symbols of the slot with PT-RS (TS 38.211, sections 6.4.1.2.2 and 7.4.1.2.2).
std::vector<int> ptrs_symbols(const shared_channel_parameters&,
                              const std::vector<int>& dmrs_symbols);

//! Fills the map's lists of PT-RS; its DM-RS is there already.
void place_ptrs(const shared_channel_parameters&, resource_map&);

} // namespace gr::cudaphy::kernels::nr
