/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The cell of the receiver's benchmarks in flowgraphs: 20 MHz, 4 x 4, 64-QAM, 5G LDPC of
// rate 1/2, DM-RS in 2 symbols of a slot.

#include "kernels/receiver/mimo_receiver_testing.h"

namespace gr::cudaphy::benchmarks {

constexpr int antennas = 4, tones = 1200, symbols = 14;

inline kernels::ldpc_code::sptr cell_code()
{
    static const auto made = kernels::ldpc_code::nr5g(1, 384, 24);
    return made;
}

inline testing::receiver::parameters cell()
{
    kernels::nr_dmrs dmrs;
    dmrs.ports = antennas;
    dmrs.resource_blocks = tones / 12;
    dmrs.symbols = { 0 };
    dmrs.double_symbol = true;
    auto p = testing::receiver_of(
        kernels::nr_dmrs_pilots(dmrs), antennas, symbols, { 2, 3 }, "qam64", cell_code());
    p.pilots.errors_as_noise = true;
    p.decoding.max_iterations = 10;
    p.decoding.llr = kernels::ldpc_decoder::number::int8;
    return p;
}

} // namespace gr::cudaphy::benchmarks
