/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

//! How the channel goes from the positions of DM-RS to all symbols of the slot.
struct time_weights {
    std::vector<complex64> weights; //!< (symbols, positions)
    std::vector<double> error;      //!< mean square error of each symbol's estimate
    double turns_a_symbol = 0;      //!< frequency offset
    bool knows_frequency = false;   //!< there are two positions or more
    double doppler_turns = 0;       //!< maximum Doppler shift, turns a symbol
};

//! Products of the channel's estimates at positions p and q, conj(h_p) h_q, summed.
struct time_correlation {
    int positions;
    std::vector<complex128> sums; //!< (positions, positions), of which q >= p is filled
    double count;                 //!< of products in each sum
};

/*!
 * The frequency offset is that of the phases between positions: first of those next to
 * each other, then, without ambiguity, of all.
 *
 * \param error    mean square error of the estimates at the positions
 * \param noise    the part of their energy that is noise
 * \param doppler_given  in turns a symbol; below 0, it is estimated: with Clarke's
 * model the correlation is J0(2 pi f t), about 1 - (pi f t)^2
 * \param mmse     the MMSE interpolator of that model; else straight lines, and the
 * nearest position before the first one and behind the last one
 */
time_weights find_time_weights(const std::vector<double>& times,
                               int symbols,
                               const time_correlation&,
                               double error,
                               double noise,
                               double doppler_given,
                               bool mmse,
                               bool track_frequency);

} // namespace gr::cudaphy::kernels::nr
