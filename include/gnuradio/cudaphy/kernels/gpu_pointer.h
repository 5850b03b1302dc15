/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

//! The index of the GPU in whose memory this is; -1 if it is in no GPU's.
CUDAPHY_API int gpu_of_pointer(const void* memory);

} // namespace gr::cudaphy
