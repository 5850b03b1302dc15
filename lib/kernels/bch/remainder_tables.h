/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/bch_code.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * Division by g(x), 64 bits a step. A register of `words` words holds the remainder with
 * its highest power in the highest bit of word 0, and zeros behind the n - k bits.
 */
struct remainder_tables {
    explicit remainder_tables(const bch_code& code);

    //! What byte `value` adds to the register if it leaves it 8 (j + 1) bits before the
    //! end of a step: `stride` words from row(j, value).
    const uint64_t* row(size_t j, size_t value) const
    {
        return of_byte.data() + (j * 256 + value) * stride;
    }

    size_t words;
    size_t stride;                 //!< words, rounded up to an even number
    std::vector<uint64_t> divisor; //!< g(x) without its leading term, as the register
    std::vector<uint64_t> of_byte; //!< (8, 256, stride)
};

} // namespace gr::cudaphy::kernels
