/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/symbols/rate_finder.h"
#include "kernels/fourier/fourier_transform.h"
#include "kernels/symbol_sync/plan.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy {

void rate_finder::add(const void* samples, size_t count, kernels::sample_format format)
{
    const auto* const from = static_cast<const unsigned char*>(samples);
    for (size_t n = 0; n < count && !has_enough(); ++n) {
        d_energies.push_back(std::norm(kernels::sample_at(from, n, format)));
    }
}

std::optional<double> rate_finder::find() const
{
    // A line stands out from its neighbourhood, where the sequence of symbols has noise.
    constexpr int around = 128, line = 2;
    constexpr double least = 25;
    std::vector<std::complex<float>> spectrum(needed);
    for (size_t n = 0; n < needed; ++n) {
        const double window =
            0.5 - 0.5 * std::cos(6.283185307179586 * static_cast<double>(n) / needed);
        spectrum[n] = d_energies[n] * static_cast<float>(window);
    }
    kernels::fourier_transform(needed, true).run(spectrum);
    const auto power = [&](int k) {
        return std::norm(std::complex<double>(spectrum[k]));
    };
    const int first = needed / 16 - around, last = needed / 2;
    int best = 0;
    double most = 0;
    for (int k = first + around; k < last; ++k) {
        // Sums over the neighbourhood only where a line may be.
        if (power(k) < power(k - 1) || power(k) < power(k + 1)) {
            continue;
        }
        double sum = 0;
        int count = 0;
        for (int j = k - around; j <= std::min(k + around, last); ++j) {
            if (std::abs(j - k) > line) {
                sum += power(j);
                ++count;
            }
        }
        if (power(k) * count > most * sum) {
            most = power(k) * count / sum;
            best = k;
        }
    }
    return most > least ? std::optional(static_cast<double>(needed) / best)
                        : std::nullopt;
}

} // namespace gr::cudaphy
