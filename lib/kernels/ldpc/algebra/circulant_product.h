/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::cudaphy::kernels {

//! A circulant's polynomial as circulant_products() reads it: 2 `words.size()` words.
std::vector<uint64_t> circulant_factor(const std::vector<uint64_t>& words);

/*!
 * Products over GF(2) modulo x^Z + 1, Z = 64 `words`, `words` a power of two from 2 on:
 * string i of `to` becomes the sum of all strings j of `from` times their factor (i, j).
 *
 * \param from     (strings, words)
 * \param factors  (products, strings, 2 words), from circulant_factor()
 * \param[out] to  (products, words)
 */
void circulant_products(const uint64_t* from,
                        size_t strings,
                        const uint64_t* factors,
                        size_t words,
                        size_t products,
                        uint64_t* to);

} // namespace gr::cudaphy::kernels
