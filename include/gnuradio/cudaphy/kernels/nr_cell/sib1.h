/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr/shared_channel_parameters.h>
#include <gnuradio/cudaphy/kernels/nr_cell/pdcch.h>
#include <string>

namespace gr::cudaphy::kernels::nr_cell {

//! When a PDSCH is sent.
struct pdsch_time {
    char mapping_type; //!< 'A' or 'B'
    int slot_offset;   //!< K_0
    int first_symbol, symbols;
};

/*!
 * \brief Default PDSCH time domain resource allocation A, B or C (3GPP TS 38.214, tables
 * 5.1.2.1.1-2, -4 and -5), with the normal cyclic prefix.
 *
 * \param pattern          1, 2 or 3, of multiplexing: A, B or C (table 5.1.2.1.1-1)
 * \param row              less 1: 0 to 15
 * \param type_a_position  2 or 3
 * \returns nothing where the row is reserved
 */
CUDAPHY_API std::optional<pdsch_time>
default_pdsch_time(int pattern, int row, int type_a_position);

/*!
 * \brief PDSCH of SIB1 as its DCI says (TS 38.214, sections 5.1.2, 5.1.3 and 5.1.6.2).
 * The grid is CORESET 0: its first resource block is 0.
 *
 * \param numerology  of CORESET 0
 * \returns nothing if the DCI is not one of SIB1: a reserved row, or no QPSK
 */
CUDAPHY_API std::optional<nr::shared_channel_parameters>
sib1_channel(const system_information_dci&,
             const coreset_zero&,
             const pdsch_time&,
             int cell,
             int numerology,
             int type_a_position);

//! What came of reading SIB1.
struct sib1_outcome {
    std::vector<uint8_t> bytes; //!< BCCH-DL-SCH-Message with its padding; empty if none
    std::string reason;         //!< why there is none
    bool dci_found = false;     //!< the rest is set
    system_information_dci dci{};
    coreset_zero set{};
    int scs = 0;                           //!< Hz, of CORESET 0
    int system_frame_number = 0, slot = 0; //!< of the PDCCH
};

} // namespace gr::cudaphy::kernels::nr_cell
