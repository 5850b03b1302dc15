/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace gr::cudaphy::kernels {

//! Makes the symbols zeros that are far larger than most, and the median energy 1.
inline void clean_up(std::vector<std::complex<float>>& symbols)
{
    constexpr float most = 64; // of the median energy
    std::vector<float> energies;
    for (size_t i = 0; i < symbols.size(); i += 4) {
        energies.push_back(std::norm(symbols[i]));
    }
    const auto middle =
        energies.begin() + static_cast<std::ptrdiff_t>(energies.size() / 2);
    std::nth_element(energies.begin(), middle, energies.end());
    const float limit = *middle > 0 ? most * *middle : HUGE_VALF;
    const float scale = *middle > 0 ? 1 / std::sqrt(*middle) : 1;
    for (auto& one : symbols) {
        one = std::norm(one) > limit ? std::complex<float>(0) : scale * one;
    }
}

} // namespace gr::cudaphy::kernels
