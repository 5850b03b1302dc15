/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cmath>

namespace gr::cudaphy::kernels::nr_cell {

//! The subcarrier spacing `scs`, in Hz, is 15 kHz · 2^this.
inline int numerology(int scs)
{
    return static_cast<int>(std::lround(std::log2(scs / 15e3)));
}

} // namespace gr::cudaphy::kernels::nr_cell
