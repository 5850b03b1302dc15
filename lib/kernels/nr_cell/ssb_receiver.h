/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_cell/pss_search.h"
#include <gnuradio/cudaphy/kernels/nr_cell/pbch.h>

namespace gr::cudaphy::kernels::nr_cell {

//! An SS/PBCH block as it was received.
struct received_ssb {
    int cell, scs;
    double nominal;   //!< Hz above the samples' centre, without frequency offset
    double frequency; //!< with it
    double time;      //!< s of the recording: where the first symbol's prefix begins
    //! Hz: phases from symbol to symbol turn as if the frequency were higher by this. Not
    //! 0 if `reference` is not what the transmitter compensates for.
    double phase_rate;
    float snr;                              //!< linear, of SSS's resource elements
    float noise;                            //!< variance of a resource element
    float pss_correlation, sss_correlation; //!< 0 to 1
    std::optional<broadcast> mib;           //!< nothing if PBCH's CRC fails
};

/*!
 * \brief Receives the SS/PBCH block of a peak: frequency, SSS, DM-RS, PBCH.
 * \returns nothing if the block does not lie wholly in the recording
 */
std::optional<received_ssb> receive_ssb(const recording&, const pss_peak&);

} // namespace gr::cudaphy::kernels::nr_cell
