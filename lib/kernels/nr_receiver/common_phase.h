/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/channel_estimate.h"

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief The phase of each symbol beside the channel's estimate, of modulus 1, (symbols):
 * from PT-RS, with the estimate as matched filter (3GPP TS 38.211, sections 6.4.1.2 and
 * 7.4.1.2).
 *
 * Symbols without PT-RS lie on straight lines between those with PT-RS or DM-RS, whose
 * phase is 0. Empty without PT-RS.
 */
std::vector<complex64>
common_phases(const channel_estimate&, view<const complex64> grid, int slot);

/*!
 * \brief The phase of each symbol from what PT-RS tells of some.
 *
 * \param sums        (symbols) of that phase, 0 where nothing is known
 * \param dmrs_times  of DM-RS's positions, in symbols: the phase is 0 there
 */
std::vector<complex64> phases_between(const std::vector<complex128>& sums,
                                      const std::vector<double>& dmrs_times);

} // namespace gr::cudaphy::kernels::nr
