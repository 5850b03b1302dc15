/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/pilot_layout.h"
#include "kernels/nr_receiver/planes.h"

namespace gr::cudaphy::kernels::nr {

//! Received DM-RS, divided by what is sent: noise of variance N0 / (amplitude² · length)
//! around sums and differences of the ports' channels (pilot_layout).
struct pilot_observations {
    int antennas = 0;
    //! Rows (positions, sets, antennas, parity), columns pilots of a comb.
    planes values;
    std::vector<uint8_t>
        finite; //!< no sample of this set is NaN, infinite or huge, (sets)

    size_t
    row(const pilot_layout& of, int position, int set, int antenna, int parity) const
    {
        return ((size_t(position) * of.sets() + set) * antennas + antenna) * 2 + parity;
    }
};

/*!
 * \param grid     (antennas, symbols, subcarriers)
 * \param values   dmrs_values() of the slot
 * \param turns_a_symbol  a frequency offset that is undone within a position, in turns
 */
pilot_observations observe_pilots(const shared_channel&,
                                  const pilot_layout&,
                                  view<const complex64> grid,
                                  int antennas,
                                  const std::vector<complex64>& values,
                                  double turns_a_symbol);

//! What a delay, in useful symbols, does to each tone, counted from the first one of its
//! run of resource blocks: exp(-j 2 pi delay tone), (tones).
std::vector<complex64> delay_phases(const pilot_layout&, double delay);

//! Turns the observations back.
void undo_delay(const pilot_layout&,
                const std::vector<complex64>& phases,
                pilot_observations&);

} // namespace gr::cudaphy::kernels::nr
