/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>

namespace gr::cudaphy {

//! IEEE 754 binary16, as numpy.float16 and CUDA's __half store it.
struct float16 {
    uint16_t bits;
};

} // namespace gr::cudaphy
