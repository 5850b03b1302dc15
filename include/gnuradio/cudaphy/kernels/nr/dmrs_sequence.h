/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief c_init of DM-RS (3GPP TS 38.211, sections 6.4.1.1.1.1 and 7.4.1.1.1).
 *
 * \param symbols_per_slot  14, or 12 with the extended cyclic prefix
 * \param slot              in the frame
 * \param symbol            in the slot
 * \param n_id              N_ID of this n_SCID, 0 to 65535
 * \param n_scid            0 or 1
 */
CUDAPHY_API uint32_t
dmrs_c_init(int symbols_per_slot, int slot, int symbol, int n_id, int n_scid);

//! r(first), r(first + 1) ...: QPSK of unit energy from two bits of the Gold sequence
//! each.
CUDAPHY_API void
dmrs_gold_sequence(uint32_t c_init, size_t first, view<complex64> values);

/*!
 * \brief The base sequence r_u,v(n) of low PAPR, type 1 (TS 38.211, section 5.2.2).
 *
 * \param u              group, 0 to 29
 * \param v              0, or 1 for 72 values or more
 * \param[out] values    6, 12, 18, 24, 30, or at least 36 values
 * \throws std::invalid_argument for another size, or u or v out of range
 */
CUDAPHY_API void low_papr_sequence(int u, int v, view<complex64> values);

enum class sequence_hopping { neither, group, sequence };

//! Group u and number v of a symbol's base sequence.
struct low_papr_choice {
    int u, v;
};
/*!
 * \brief Which base sequence a symbol's DM-RS has with transform precoding (TS 38.211,
 * section 6.4.1.1.1.2).
 *
 * \param symbols_per_slot, slot, symbol as of dmrs_c_init()
 * \param n_rs_id   n_ID^RS, 0 to 1007
 * \param size      values of the sequence; shorter than 72, v is 0
 */
CUDAPHY_API low_papr_choice choose_low_papr(sequence_hopping,
                                            int symbols_per_slot,
                                            int slot,
                                            int symbol,
                                            int n_rs_id,
                                            size_t size);

} // namespace gr::cudaphy::kernels::nr
