/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/nr_cell/coreset_zero.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr_cell {

constexpr int si_rnti = 0xffff; //!< TS 38.321, table 7.1-1

/*!
 * \brief PDCCH of CORESET 0 (3GPP TS 38.211, section 7.3.2): interleaved, bundles of L =
 * 6 REGs, R = 2, shifted by the cell's identity.
 *
 * REG k · symbols + l is resource block k and symbol l.
 */
//! REGs of a CCE.
CUDAPHY_API std::vector<int> regs_of_cce(const coreset_zero&, int cell, int cce);

//! A PDCCH candidate: its first CCE, and how many.
struct pdcch_candidate {
    int first_cce, level;
};
//! Candidates of the type 0 search space (TS 38.213, section 10.1 and table 10.1-1).
CUDAPHY_API std::vector<pdcch_candidate> pdcch_candidates(const coreset_zero&);

//! DCI format 1_0 with SI-RNTI (TS 38.212, section 7.3.1.2.1).
struct system_information_dci {
    int first_block, blocks; //!< virtual, of CORESET 0
    int time_allocation;     //!< row of the tables less 1, 0 to 15
    bool interleaved;        //!< VRB-to-PRB mapping
    int mcs, redundancy_version;
    bool of_sib1; //!< system information indicator 0
    pdcch_candidate candidate;
};
//! Bits of this DCI. \param blocks  of CORESET 0
CUDAPHY_API int system_information_dci_size(int blocks);
//! \returns nothing if the resource indication value is not one of 38.214, 5.1.2.2.2.
CUDAPHY_API std::optional<system_information_dci>
read_system_information_dci(view<const uint8_t> bits, int blocks);

//! What a PDCCH is received from.
struct control_region {
    coreset_zero set;
    int cell;
    int slot;         //!< in the frame
    int first_symbol; //!< in the slot
    //! Resource elements of the CORESET, (symbols, 12 · blocks).
    view<const complex64> elements;
    float noise; //!< variance of an element
};

//! Blindly decodes all candidates with SI-RNTI. \returns the DCIs whose CRC holds.
CUDAPHY_API std::vector<system_information_dci>
decode_system_information_dcis(const control_region&);

} // namespace gr::cudaphy::kernels::nr_cell
