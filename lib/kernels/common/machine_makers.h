/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/machine.h>

namespace gr::cudaphy {

//! Runs at least `steps` dependent fused multiply-adds in every lane of a CUDA queue's
//! device, and says how many that makes in all.
double multiply_add_on_device(queue& line, float* out, int steps);

} // namespace gr::cudaphy
