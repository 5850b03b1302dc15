/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/bch/remainder_tables.h"

namespace gr::cudaphy::kernels {

remainder_tables::remainder_tables(const bch_code& code)
    : words((code.n() - code.k() + 63) / 64), stride((words + 1) / 2 * 2), divisor(words),
      of_byte(8 * 256 * stride)
{
    const auto& g = code.generator();
    for (size_t i = 1; i < g.size(); ++i) {
        divisor[(i - 1) / 64] |= static_cast<uint64_t>(g[i]) << (63 - (i - 1) % 64);
    }
    for (size_t value = 0; value < 256; ++value) {
        std::vector<uint64_t> state(words);
        state[0] = static_cast<uint64_t>(value) << 56;
        for (size_t j = 0; j < 8; ++j) {
            for (int bit = 0; bit < 8; ++bit) {
                const bool leaves = state[0] >> 63;
                for (size_t w = 0; w < words; ++w) {
                    state[w] = state[w] << 1 | (w + 1 < words ? state[w + 1] >> 63 : 0);
                    state[w] ^= leaves ? divisor[w] : 0;
                }
            }
            for (size_t w = 0; w < words; ++w) {
                of_byte[(j * 256 + value) * stride + w] = state[w];
            }
        }
    }
}

} // namespace gr::cudaphy::kernels
