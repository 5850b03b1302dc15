/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <vector>

namespace gr::cudaphy::kernels::nr {

enum class link_direction { uplink, downlink }; //!< PUSCH or PDSCH

//! What says in which symbols of a slot DM-RS stands.
struct dmrs_timing {
    link_direction direction = link_direction::uplink;
    char mapping_type = 'A';     //!< 'A' or 'B'
    int first_symbol = 0;        //!< of the channel, in the slot
    int symbols = 14;            //!< of the channel
    int type_a_position = 2;     //!< dmrs-TypeA-Position: 2 or 3
    int additional_position = 0; //!< dmrs-AdditionalPosition: 0 to 3
    int length = 1;              //!< symbols at each position, 1 or 2
};

/*!
 * \brief The first symbol in the slot of each position of DM-RS (3GPP TS 38.211, tables
 * 6.4.1.1.3-3, 6.4.1.1.3-4, 7.4.1.1.2-3 and 7.4.1.1.2-4), without hopping in the slot.
 *
 * A position has `length` symbols from there on. Empty if the table has no entry.
 */
CUDAPHY_API std::vector<int> dmrs_positions(const dmrs_timing&);

} // namespace gr::cudaphy::kernels::nr
