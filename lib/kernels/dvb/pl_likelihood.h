/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <complex>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>

namespace gr::cudaphy::kernels {

//! Which PLS codes may be decided for.
using pl_codes = std::array<bool, 256>;

//! All 256 codes.
pl_codes all_pl_codes();
//! Those that dvb_mode::of() knows.
pl_codes known_pl_codes();

struct pl_likely {
    int pls = 0;
    int step = 0;     //!< of the frequencies
    float power = -1; //!< |sum over the 90 symbols, the header taken off|^2
};

/*!
 * The allowed code and the frequency of most power among first, first + spacing ...,
 * `count` of them, in cycles a symbol. power is -1 if no code is allowed.
 * \param symbols  90 of them
 */
pl_likely likely_header(const std::complex<float>* symbols,
                        double first,
                        double spacing,
                        int count,
                        const pl_codes& allowed);

//! The 90 symbols, a header with this code taken off, summed at a frequency.
std::complex<double>
header_sum(const std::complex<float>* symbols, int pls, double frequency);

} // namespace gr::cudaphy::kernels
