/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/pilots.h"

namespace gr::cudaphy::kernels::nr {

//! What the observed pilots say of the channel over frequency. Delays are in useful
//! symbol durations, the inverse of the subcarrier spacing.
struct delay_statistics {
    double energy = 0;    //!< of an observation, without noise
    double noise = 0;     //!< variance of an observation's noise
    double delay = 0;     //!< mean of the power delay profile
    double spread = 0;    //!< its rms width
    bool present = false; //!< neighbouring pilots have more in common than noise has
};

/*!
 * Estimates from the observations of the sets with ports, sets_used.
 *
 * Delay: the phase between neighbouring pilots. Spread: that of the exponential profile
 * whose correlation over frequency, exp(jx) / (1 + jx) with x = 2 pi spread · distance,
 * fits the observed one best (least squares over lags; TS 38.901, 7.5, has exponential
 * profiles). Noise: the energy of second and fourth differences of neighbouring pilots,
 * in which a smooth channel cancels; the smaller one.
 *
 * \param spread_given  the spread; below 0, it is estimated
 */
delay_statistics find_delay_statistics(const pilot_layout&,
                                       const pilot_observations&,
                                       const std::vector<uint8_t>& sets_used,
                                       double spread_given);

} // namespace gr::cudaphy::kernels::nr
