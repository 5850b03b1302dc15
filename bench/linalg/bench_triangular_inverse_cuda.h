/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

namespace gr::cudaphy::benchmarks {

//! Seconds that triangles of float take that lie in shared memory and stay there.
struct in_shared_memory {
    double warp_alone; //!< one warp's turn at its 32 / order matrices, the GPU else empty
    double matrix;     //!< a matrix, all multiprocessors as full as can be
};

//! \param order 8, 16 or 32
//! \param algorithm recursive_blocks or columns
in_shared_memory
time_in_shared_memory(queue& q, int order, kernels::triangular_algorithm algorithm);

} // namespace gr::cudaphy::benchmarks
