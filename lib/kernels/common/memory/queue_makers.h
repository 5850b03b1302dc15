/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

std::unique_ptr<queue> make_cuda_queue(int device);
std::unique_ptr<queue> attach_cuda_queue(void* stream, int device);

} // namespace gr::cudaphy
