/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/testing.h"
#include <gnuradio/cudaphy/kernels/machine.h>

namespace gr::cudaphy::testing {

//! Whether the CPU's kernels round a * b + c once, as CUDA's kernels do. SSE4 has no such
//! instruction, so that the product is rounded first.
inline bool cpu_fuses_multiply_adds()
{
    const auto units = cpu_vector_units();
    return units.rfind("AVX", 0) == 0 || units.rfind("NEON", 0) == 0;
}

//! Whether this run tests CUDA, and CUDA must give the same bits as this machine's CPU.
inline bool cuda_can_be_held_to_the_cpu()
{
    return tested_backend() == backend::cuda && cpu_fuses_multiply_adds();
}

} // namespace gr::cudaphy::testing
