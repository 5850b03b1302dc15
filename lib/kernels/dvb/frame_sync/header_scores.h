/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <vector>

namespace gr::cudaphy::kernels {

//! |sum|^2 / energy of the strongest tone among a header's symbols, as pl_search scores
//! headers.
float tone_score(const std::complex<float>* symbols);

//! Divides the sums of differences by the symbols' energy.
void normalise_differences(const std::vector<std::complex<float>>& symbols,
                           std::vector<float>& sums);

} // namespace gr::cudaphy::kernels
