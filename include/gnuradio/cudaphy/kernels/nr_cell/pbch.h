/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <optional>

namespace gr::cudaphy::kernels::nr_cell {

constexpr int pbch_bits = 864; //!< that PBCH carries

//! What a PBCH says (3GPP TS 38.212, section 7.1.1; MIB: TS 38.331, section 6.2.2).
struct broadcast {
    int system_frame_number = 0; //!< 0 to 1023
    int half_frame = 0;          //!< 0 or 1: the half of the frame that the block is in
    int ssb_index = 0;           //!< i_SSB
    int most_blocks = 8;         //!< L_max: 4, 8 or 64; see decode_pbch()
    int common_spacing = 0;      //!< subCarrierSpacingCommon: 0 (15 or 60), 1 (30 or 120)
    int subcarrier_offset = 0;   //!< k_SSB: 0 to 31
    int dmrs_type_a_position = 2; //!< 2 or 3
    int coreset_zero = 0;         //!< controlResourceSetZero, 0 to 15
    int search_space_zero = 0;    //!< searchSpaceZero, 0 to 15
    bool cell_barred = false;
    bool intra_frequency_reselection = false; //!< allowed
    int spare = 0;                            //!< MIB's last bit
    std::array<uint8_t, 24> mib{};            //!< BCCH-BCH-Message, as bits
};

/*!
 * \brief Decodes a PBCH (TS 38.211, section 7.3.3.1; TS 38.212, section 7.1).
 *
 * \param llr    (864), positive means 0
 * \param cell   N_ID^cell
 * \param index  i_SSB with bar, 0 to 7, of its DM-RS
 * \param fr2    in FR2 L_max is 64, else 4 or 8. An index from 4 on tells which: both are
 *               tried. Below 4 the half frame tells, or most_blocks stays 8.
 * \returns nothing if CRC24C fails
 * \throws std::invalid_argument for sizes that do not fit
 */
CUDAPHY_API std::optional<broadcast>
decode_pbch(view<const float> llr, int cell, int index, bool fr2);

} // namespace gr::cudaphy::kernels::nr_cell
