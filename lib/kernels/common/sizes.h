/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace gr::cudaphy {

/*!
 * The product of sizes, none of them below 0. `what` names the sizes, as in "equalizer:
 * symbols * tones". \throws std::invalid_argument if the product is more than `most`. The
 * function never computes a larger number, so it can't overflow.
 */
inline int64_t checked_product(const std::string& what,
                               int64_t most,
                               std::initializer_list<int64_t> sizes)
{
    int64_t product = 1;
    bool fits = true;
    std::string text;
    for (const auto size : sizes) {
        fits = fits && (product == 0 || size <= most / product);
        product = fits ? product * size : 1;
        text += (text.empty() ? "" : " * ") + std::to_string(size);
    }
    if (!fits) {
        throw std::invalid_argument(what + " is " + text + ", must be at most " +
                                    std::to_string(most));
    }
    return product;
}

} // namespace gr::cudaphy
