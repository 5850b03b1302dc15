/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>

namespace gr::cudaphy::benchmarks {

//! Seconds to invert triangles of float that stay in shared memory.
struct in_shared_memory {
    double warp_alone; //!< one warp inverts its 32 / order matrices on an otherwise empty
                       //!< GPU
    double matrix;     //!< a matrix, with all multiprocessors full
};

//! \param order 8, 16 or 32
//! \param algorithm recursive_blocks or columns
in_shared_memory
time_in_shared_memory(queue& q, int order, kernels::triangular_algorithm algorithm);

} // namespace gr::cudaphy::benchmarks
