/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

/*!
 * The SS/PBCH block (3GPP TS 38.211, section 7.4.3.1): four OFDM symbols of 240
 * subcarriers. PSS has subcarriers 56 to 182 of symbol 0, SSS those of symbol 2; PBCH has
 * symbols 1 and 3, and subcarriers 0 to 47 and 192 to 239 of symbol 2.
 */
namespace gr::cudaphy::kernels::nr_cell {

constexpr int ssb_symbols = 4, ssb_subcarriers = 240;
constexpr int sync_length = 127, sync_first = 56; //!< of PSS and SSS
constexpr int cells = 1008;                       //!< N_ID^cell is 0 to 1007

//! d_PSS(n) of N_ID^(2), (127) of -1 and 1 (section 7.4.2.2.1).
CUDAPHY_API std::vector<float> primary_sequence(int n_id_2);

//! d_SSS(n) of a cell, (127) of -1 and 1 (section 7.4.2.3.1).
CUDAPHY_API std::vector<float> secondary_sequence(int cell);

//! r(m) of PBCH's DM-RS, (144) of unit energy (section 7.4.1.4.1). \param index i_SSB
//! with bar, 0 to 7.
CUDAPHY_API std::vector<complex64> pbch_dmrs(int cell, int index);

//! A resource element of an SS/PBCH block.
struct ssb_element {
    int symbol, subcarrier;
};
//! PBCH's DM-RS, (144), and PBCH, (432), in the order of mapping (sections 7.4.1.4.2 and
//! 7.3.3.3).
CUDAPHY_API std::vector<ssb_element> pbch_dmrs_elements(int cell);
CUDAPHY_API std::vector<ssb_element> pbch_elements(int cell);

} // namespace gr::cudaphy::kernels::nr_cell
