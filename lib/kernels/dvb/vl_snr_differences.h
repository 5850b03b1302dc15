/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstddef>

namespace gr::cudaphy::kernels {

constexpr int most_vl_snr_lags = 12;

/*!
 * Sums over the rows of a VL-SNR header of s[i + lag] conj(s[i]), the header taken off,
 * for headers that begin at each of `places` symbols.
 * \param symbols  places + 989
 * \param lag      1 to most_vl_snr_lags
 */
void sum_vl_snr_differences(
    const std::complex<float>* symbols, size_t places, int lag, float* re, float* im);

} // namespace gr::cudaphy::kernels
