/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/machine.h>

namespace gr::cudaphy::testing {

//! Whether the CPU's kernels round a * b + c once, as CUDA's do: with SSE4's instructions
//! alone the product is rounded first.
inline bool cpu_fuses_multiply_adds()
{
    const auto units = cpu_vector_units();
    return units.rfind("AVX", 0) == 0 || units.rfind("NEON", 0) == 0;
}

} // namespace gr::cudaphy::testing
