/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <optional>
#include <vector>

namespace gr::cudaphy::kernels::nr_cell {

//! CORESET 0 (3GPP TS 38.213, tables 13-1 to 13-10).
struct coreset_zero {
    int pattern; //!< of multiplexing with SS/PBCH blocks: 1, 2 or 3
    int blocks;  //!< resource blocks: 24, 48 or 96
    int symbols; //!< 1 to 3
    int offset;  //!< its resource blocks that lie below the SS/PBCH block's first one
};

/*!
 * \param ssb_scs      of the SS/PBCH block, Hz: 15000, 30000, 120000 or 240000
 * \param pdcch_scs    Hz: 15000 or 30000; 60000 or 120000
 * \param index        controlResourceSetZero, 0 to 15
 * \param k_ssb        subcarrier offset
 * \param wide         the band's least channel bandwidth is 40 MHz: tables 13-5 and 13-6
 * \returns nothing where the tables have no entry
 */
CUDAPHY_API std::optional<coreset_zero>
find_coreset_zero(int ssb_scs, int pdcch_scs, int index, int k_ssb, bool wide = false);

//! A slot where PDCCH of SIB1 may be.
struct monitoring_occasion {
    int frame; //!< after the SS/PBCH block's frame, 0 or 1, of every two
    int slot;  //!< in the frame, of the CORESET's subcarrier spacing
    int first_symbol;
    friend bool operator==(const monitoring_occasion& a, const monitoring_occasion& b)
    {
        return a.frame == b.frame && a.slot == b.slot && a.first_symbol == b.first_symbol;
    }
};

//! An SS/PBCH block, as its monitoring occasions depend on it.
struct ssb_place {
    int index;               //!< i_SSB
    int system_frame_number; //!< of its frame
    int symbol;              //!< its first one in the frame, of its own spacing
    int scs;                 //!< its subcarrier spacing, Hz
};

/*!
 * \brief The monitoring occasions of a block (tables 13-11 to 13-15).
 * \param search_space_zero  0 to 15
 * \param scs                of the CORESET, Hz
 * \returns none where the tables have no entry
 */
CUDAPHY_API std::vector<monitoring_occasion> monitoring_occasions(const coreset_zero&,
                                                                  const ssb_place&,
                                                                  int search_space_zero,
                                                                  int scs);

//! The first symbol in a half frame of each SS/PBCH block of case 'A' to 'E' (section
//! 4.1), all that the case may have: 8, or 64 for D and E.
CUDAPHY_API std::vector<int> ssb_first_symbols(char pattern);

//! Where symbol `symbol` of a frame begins with its prefix, s (TS 38.211, section 5.3.1).
CUDAPHY_API double symbol_time(int symbol, int scs);

} // namespace gr::cudaphy::kernels::nr_cell
