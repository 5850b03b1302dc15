/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/frame_sync/header_scores.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/pl_search.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

float tone_score(const std::complex<float>* symbols)
{
    constexpr int tones = 256;
    float energy = 0, best = 0;
    for (int i = 0; i < pl_header_symbols; ++i) {
        energy += std::norm(symbols[i]);
    }
    for (int k = 0; k < tones; ++k) {
        const auto step =
            static_cast<std::complex<float>>(std::polar(1.0, 2 * pi * k / tones));
        std::complex<float> turn = 1, sum = 0;
        for (int i = 0; i < pl_header_symbols; ++i) {
            sum += symbols[i] * turn;
            turn *= step;
        }
        best = std::max(best, std::norm(sum));
    }
    return energy > 0 ? best / energy : 0;
}

void normalise_differences(const std::vector<std::complex<float>>& symbols,
                           std::vector<float>& sums)
{
    double energy = 0;
    for (int i = 0; i + 1 < pl_header_symbols; ++i) {
        energy += std::norm(symbols[static_cast<size_t>(i)]);
    }
    for (size_t i = 0; i < sums.size(); ++i) {
        energy += std::norm(symbols[i + pl_header_symbols - 1]);
        sums[i] = energy > 0 ? sums[i] / static_cast<float>(energy) : 0;
        energy = std::max(0.0, energy - std::norm(symbols[i]));
    }
}

} // namespace gr::cudaphy::kernels
