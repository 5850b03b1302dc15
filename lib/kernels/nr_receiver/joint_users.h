/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel.h>

namespace gr::cudaphy::kernels::nr {

//! Both have a port of one CDM group.
bool share_group(const resource_map& a, const resource_map& b);

//! Two channels share resource blocks and symbols, and their DM-RS tells them apart.
bool separated_jointly(const shared_channel& a, const shared_channel& b);

} // namespace gr::cudaphy::kernels::nr
