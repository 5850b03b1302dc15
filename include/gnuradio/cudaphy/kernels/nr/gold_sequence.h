/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief The pseudo-random sequence c(n) of 3GPP TS 38.211, section 5.2.1: the sum of two
 * shift registers of 31 stages, from n = 0 on.
 *
 * The state of both registers is two words, so a thread of a GPU may start anywhere.
 */
class CUDAPHY_API gold_sequence
{
public:
    //! Bit i of a register is x(n + i) at the current n.
    struct state {
        uint32_t first, second;
    };

    //! c_init: 0 to 2^31 - 1; a higher bit is ignored.
    explicit gold_sequence(uint32_t c_init) : gold_sequence(c_init, 0) {}
    //! Starts at c(offset), in a time that grows with the logarithm of offset.
    gold_sequence(uint32_t c_init, uint64_t offset);

    state now() const { return d_now; }

    //! The next `count` bits, 0 to 28; the first one is bit 0.
    uint32_t next(int count);
    //! The next bits, one a byte, of value 0 or 1.
    void next(view<uint8_t> bits);
    //! Adds the next bits to these, one a byte, modulo 2.
    void scramble(view<uint8_t> bits);

private:
    state d_now;
};

} // namespace gr::cudaphy::kernels::nr
