/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/machine.h>

namespace gr::cudaphy {

//! Runs at least `steps` dependent fused multiply-adds in every lane of a CUDA queue's
//! device.
//! \return how many multiply-adds that makes in all lanes
double multiply_add_on_device(queue& q, float* out, int steps);

} // namespace gr::cudaphy
