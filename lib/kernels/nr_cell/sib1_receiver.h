/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_cell/ssb_receiver.h"
#include <gnuradio/cudaphy/kernels/nr_cell/sib1.h>

namespace gr::cudaphy::kernels::nr_cell {

//! How a block with a MIB is understood where more than one way is possible.
struct ssb_reading {
    char pattern; //!< case 'A' to 'E'
    bool wide;    //!< find_coreset_zero()
};

//! Where the frame of a block begins, s of the recording. \returns nothing if the case
//! has no such block.
std::optional<double> frame_time(const received_ssb&, char pattern);

//! Reads SIB1 of the block's cell: CORESET 0, PDCCH, PDSCH.
sib1_outcome receive_sib1(const recording&, const received_ssb&, const ssb_reading&);

} // namespace gr::cudaphy::kernels::nr_cell
