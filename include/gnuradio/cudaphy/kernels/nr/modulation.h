/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

//! Adds c(n) to the bits (3GPP TS 38.211, sections 6.3.1.1 and 7.3.1.1), in place.
CUDAPHY_API void scramble(uint32_t c_init, view<uint8_t> bits);

/*!
 * \brief Symbols of unit energy (TS 38.211, section 5.1).
 *
 * \param order         Q_m: 1 (pi/2-BPSK), 2, 4, 6, 8 or 10
 * \param bits          (order · symbols), of value 0 or 1
 * \param[out] symbols  (symbols)
 * \throws std::invalid_argument for another order, and sizes that do not fit
 */
CUDAPHY_API void modulate(int order, view<const uint8_t> bits, view<complex64> symbols);

/*!
 * \brief Deals symbols of a codeword to its layers by turns (TS 38.211,
 * tables 7.3.1.3-1).
 *
 * \param symbols      (layers · n)
 * \param[out] mapped  (layers, n)
 * \throws std::invalid_argument for sizes that do not fit
 */
CUDAPHY_API void
map_layers(int layers, view<const complex64> symbols, view<complex64> mapped);

} // namespace gr::cudaphy::kernels::nr
