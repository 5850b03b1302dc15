/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <type_traits>

// All thresholds and shapes of the triangular kernels that were found by measuring, apart
// from the algorithms. Every value was found on an H200 (compute capability 9.0). No
// other GPU was measured, so these values are the default, too. A GPU generation that
// needs others gets a column: a specialisation of the policies for its number.

namespace gr::cudaphy::kernels {
namespace {
namespace triangular {

//! Ten times the major compute capability that the values were found on.
constexpr int tuned_generation = 90;

//! Shared memory that a block may have without a call to allow more, in bytes.
constexpr size_t shared_bytes = 48 << 10;

//! triangular_thread_per_matrix: warps of a block, by the shared memory of a warp.
constexpr int warps_with_room(size_t bytes_a_warp)
{
    return 4 * bytes_a_warp <= shared_bytes   ? 4
           : 2 * bytes_a_warp <= shared_bytes ? 2
                                              : 1;
}

//! Whether a thread a matrix takes less time than the rounds, for order N.
template <typename T, int N, int Generation = tuned_generation>
constexpr bool thread_is_faster = (N >= 2 && N <= 8) ||
                                  (N == 16 && std::is_same_v<T, float>);
constexpr int most_thread_order = 16;

//! triangular_lanes_per_matrix, the rounds and columns.
template <typename T, int Generation = tuned_generation>
struct lanes_policy {
    //! Warps of a block: as many tiles as fit into shared_bytes.
    static constexpr int most_warps = sizeof(T) == 16 ? 2 : 4;
    //! Blocks that a multiprocessor must hold: as many as tiles of order 32 allow, but no
    //! more than 32 warps.
    static constexpr int least_blocks = sizeof(T) == 4 ? 8 : 6;
    //! Below so many full blocks for each multiprocessor a block is a single warp, so
    //! that a small batch reaches every multiprocessor.
    static constexpr size_t full_blocks = 4;
    //! Loads in flight a lane.
    static constexpr int loads_ahead = 8;
};

//! Products by tiles: a thread has a square of elements, and strips of both factors are
//! loaded at once.
constexpr int small_tile = 32;
constexpr int large_tile = 64;
constexpr int strip = 16;          //!< steps of the inner index
constexpr int elements_a_side = 4; //!< of a thread's square

constexpr int scan_threads = 256;   //!< of a block that reads all elements
constexpr int scan_rows = 16;       //!< of a matrix, a block
constexpr unsigned most_parts = 64; //!< blocks that scan the right-hand sides of an item

} // namespace triangular
} // namespace
} // namespace gr::cudaphy::kernels
