/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cuda_runtime.h>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <type_traits>

// All thresholds and shapes of the inversion kernels that were found by measuring, apart
// from the algorithms. Every value was found on an H200 (compute capability 9.0). No
// other GPU was measured, so these values are the default, too.
//
// - Policies are constants by element type, order and pivoting, because kernels are
//   compiled for them. A GPU generation that needs others gets a specialisation for its
//   number; a kernel takes the policy of tuned_generation.
// - `thresholds` has a column for each GPU generation, and is read at run time.

namespace gr::cudaphy::kernels {
namespace inverse_tuning {

//! Ten times the major compute capability that the policies were found on.
constexpr int tuned_generation = 90;

//! Orders above which another kernel inverts a matrix.
constexpr int most_small_batch_order = 8;
constexpr int most_lanes_order = 16;
constexpr int most_warp_order = 32;

//! inverse_thread_per_matrix: orders that fit into a thread's 255 registers.
template <typename T>
constexpr int most_thread_order = std::is_same_v<T, float>    ? 13
                                  : std::is_same_v<T, float2> ? 10
                                  : std::is_same_v<T, double> ? 9
                                                              : 6;

//! The same for large batches of rows, but the one order that two lanes invert faster.
template <typename T>
constexpr bool is_thread_order(int order, pivoting pivot)
{
    return order <= most_thread_order<T> &&
           !(std::is_same_v<T, float2> && order == 10 && pivot == pivoting::full);
}

template <typename T, int N, pivoting Pivoting, int Generation = tuned_generation>
struct thread_policy {
    //! Warps of a block, by the bytes of a warp's tile: together the tiles take at most
    //! the 48 KB that a block may have without a call to allow more.
    static constexpr int warps(int tile_bytes)
    {
        return 4 * tile_bytes <= 48 << 10 ? 4 : 2 * tile_bytes <= 48 << 10 ? 2 : 1;
    }
    //! Whether all steps are unrolled: as long as the code stays within the instruction
    //! cache. Else two steps are unrolled (8 x 8 complex with all: 88 KB).
    static constexpr bool unrolls_all_steps = N <= 5;
    //! Whether one kernel serves rows and interleaved matrices: where it takes at most
    //! 3 % more time than a kernel for each.
    static constexpr bool serves_both_layouts()
    {
        constexpr bool full = Pivoting == pivoting::full;
        constexpr bool none = Pivoting == pivoting::none;
        if (std::is_same_v<T, float>) {
            return N > 2 && N != (none ? 8 : full ? 9 : 11) && (N != 12 || full);
        }
        constexpr int most = none ? 10 : std::is_same_v<T, double> || !full ? 7 : 6;
        return std::is_same_v<T, double2> || (N > 1 && N <= most);
    }
    //! Whether elements move by selects instead of additions under a predicate. Small
    //! orders wait for memory either way.
    static constexpr bool moves_by_select =
        N <= 5 || (std::is_same_v<T, float2> && N > 8);
};

//! inverse_definite_thread: the orders above most_thread_order for which it takes less
//! time than any other kernel without pivoting. Beyond them too few triangles fit into a
//! multiprocessor.
template <typename T>
constexpr int least_definite_order = std::is_same_v<T, float> ? 14 : 12;
template <typename T>
constexpr int most_definite_order = std::is_same_v<T, float>    ? 24
                                    : std::is_same_v<T, float2> ? 20
                                                                : 0;
template <typename T>
constexpr bool is_definite_order(int order)
{
    return order >= least_definite_order<T> && order <= most_definite_order<T>;
}

template <typename T, int N, int Generation = tuned_generation>
struct definite_policy {
    //! What a lane reads before it stores to shared memory. Too few warps are there to
    //! hide the wait: 8 reads instead of 32 take a fifth of the rate.
    static constexpr int reads_under_way = 32;
    //! Whether a warp prefetches a later warp's matrices: faster where at most six warps
    //! fit into a multiprocessor, slower elsewhere.
    static constexpr bool fetches_ahead = N >= (std::is_same_v<T, float> ? 22 : 16);
};

//! inverse_lanes_per_matrix: the least order that it has a kernel for.
template <typename T>
constexpr int least_lanes_order = std::is_same_v<T, double2> ? 7 : 9;

template <typename T, int N, pivoting Pivoting, int Generation = tuned_generation>
struct lanes_policy {
private:
    static constexpr bool is_complex64 = std::is_same_v<T, float2>;
    static constexpr bool is_complex128 = std::is_same_v<T, double2>;
    static constexpr bool is_double = std::is_same_v<T, double>;
    static constexpr bool full = Pivoting == pivoting::full;
    //! Two lanes a matrix are faster, and the registers suffice.
    static constexpr bool has_two_lanes =
        (is_complex64 && (N == 11 || N == 12 || (N == 10 && full))) ||
        (is_double && N >= 10 && N <= 12);

public:
    static constexpr int threads = 64; //!< of a block
    //! A matrix is shared by this many lanes.
    static constexpr int lanes = is_complex128 ? (N <= 8 ? 4 : 8) : has_two_lanes ? 2 : 4;
    //! Blocks that a multiprocessor must hold; 0 if the compiler finds as many. Six
    //! blocks allow 168 registers a thread, where a few more registers would leave four
    //! blocks.
    static constexpr int least_blocks =
        is_complex64 && (N == 15 || ((N == 13 || N == 14) && full)) ? 6 : 0;
    //! Whether the pivot's column becomes 0 when it is stored for the other lanes: faster
    //! for doubles, slower for floats.
    static constexpr bool zeroes_sent_column = is_double || is_complex128;
    //! Whether moves of the pivot's row alternate between additions and selects: faster
    //! for doubles of these orders.
    static constexpr bool alternates_moves = (is_double || is_complex128) && N > 8;
    //! Whether all rows' moves add the same opaque -0, instead of one a row.
    static constexpr bool shares_opaque_zero =
        !(is_complex64 && (N == 15 || (N == 12 && !full)));
    //! Whether the reciprocal takes its place in the pivot's row by a select instead of
    //! an addition under a predicate.
    static constexpr bool places_reciprocal_by_select = is_complex64 && N == 12;
    //! Whether a warp prefetches a later warp's matrices into the L2 cache.
    static constexpr bool fetches_ahead = is_complex128;
};

//! inverse_warp_per_matrix above order 32: the largest order whose elements fit into the
//! registers of one warp.
template <typename T>
constexpr int most_long_warp_order = std::is_same_v<T, float>     ? 64
                                     : std::is_same_v<T, double2> ? 36
                                                                  : 56;
//! Whether there is a kernel for orders up to R, a multiple of 4 from 36 on.
template <typename T>
constexpr bool has_long_warp_kernel(int R)
{
    return R <= most_long_warp_order<T> &&
           (R <= 40 || R % 8 == 0 || R == (std::is_same_v<T, float> ? 52 : 44));
}

//! The least of the orders 20, 24 and 32 for which it has a kernel.
template <typename T, pivoting Pivoting>
constexpr int least_warp_kernel =
    std::is_same_v<T, float> || Pivoting == pivoting::none ? 24 : 20;

//! inverse_warp_per_matrix for orders up to R: 20, 24, 32, or has_long_warp_kernel().
template <typename T, int R, pivoting Pivoting, int Generation = tuned_generation>
struct warp_policy {
private:
    static constexpr bool full = Pivoting == pivoting::full;
    static constexpr int least_blocks_if_long()
    {
        if (std::is_same_v<T, float>) {
            return R <= 40   ? (full ? 20 : 24)
                   : R == 48 ? 16
                   : R <= 56 ? 12
                             : (full ? 8 : 12);
        }
        if (sizeof(T) == 16 || R > 40) {
            return 8;
        }
        return std::is_same_v<T, float2> && R == 36 && !full ? 16 : 12;
    }

public:
    //! Of a block. Above order 32 two matrices would need more than the 48 KB of shared
    //! memory that a block may have without a call to allow more.
    static constexpr int threads = R <= 32 ? 64 : 32;
    //! Blocks that a multiprocessor must hold; 0 if the compiler finds as many. Twelve
    //! blocks of 64 threads allow 80 registers a thread, where a few more registers would
    //! leave ten. Above order 32 it is the number of matrices.
    static constexpr int least_blocks = R > 32 ? least_blocks_if_long()
                                        : std::is_same_v<T, float2>&& R == 24 && full ? 12
                                                                                      : 0;
    //! With full pivoting, the slots of columns that are left when the remaining rows and
    //! columns are brought to the front.
    static constexpr int slots_after = 2;
};

//! inverse_tall_warp: the largest order of its kernel for an order above
//! most_long_warp_order; 0 where inverse_warps_per_matrix takes less time.
template <typename T>
constexpr int tall_warp_order(int order, pivoting pivot)
{
    if (order <= most_long_warp_order<T>) {
        return 0;
    }
    if (std::is_same_v<T, double2>) {
        return order > 40 && order <= 44 ? 44 : 0;
    }
    const bool full = pivot == pivoting::full;
    const bool is_slower = std::is_same_v<T, double> && pivot == pivoting::none;
    return order <= 60 && !is_slower ? 60 : full ? 64 : 0;
}
template <typename T, int R, pivoting Pivoting, int Generation = tuned_generation>
struct tall_policy {
    //! A lane's rows in registers. A multiprocessor has registers for eight matrices.
    static constexpr int rows_held = std::is_same_v<T, double2> ? 8 : 12;
    static constexpr int least_matrices = 8;
};

//! inverse_warp_panels and inverse_warp_two_stages: the orders for which tensor cores
//! take less time than the elimination step by step.
template <typename T>
constexpr bool tensor_cores_are_faster(int order, pivoting pivot)
{
    return std::is_same_v<T, float2> && order > 24 &&
           order <= (pivot == pivoting::full ? 32 : 40);
}
template <int Panels>
constexpr int panels_threads = Panels > 4 ? 32 : 64;
//! Blocks that a multiprocessor must hold; 0 if the compiler finds as many.
template <int Panels>
constexpr int panels_least_blocks = Panels > 4 ? 12 : 0;
constexpr int two_stages_threads = 32;
//! Blocks that a multiprocessor must hold: a few registers more would leave 15.
constexpr int two_stages_least_blocks = 16;

//! inverse_warps_per_matrix for orders up to R, of which the lanes' elements are a
//! multiple. Without full pivoting one kernel serves both ways.
template <typename T, int R, bool FullPivoting, int Generation = tuned_generation>
struct warps_policy {
private:
    static constexpr bool full = FullPivoting;
    static constexpr bool is_complex128 = std::is_same_v<T, double2>;

public:
    //! A block. More warps hide more of each other's time, but each of them finds its
    //! place in the pivot's row and column again.
    static constexpr int warps = is_complex128 && R > 48 ? 4 : 2;
    //! Blocks that a multiprocessor must hold; 0 if the compiler finds as many. A few
    //! more registers would leave 8 warps instead of 12.
    static constexpr int least_blocks =
        is_complex128 ? (R == 64 || (R == 56 && full) ? 3 : 0) : (full ? 0 : 5);
};

constexpr int small_batch_threads = 64;

//! What is decided at run time.
struct thresholds {
    //! From this many matrices for each multiprocessor on, by order, a thread a matrix
    //! takes less time. A thread does the least work, but it is one long chain, and few
    //! matrices are few threads. Larger orders have the last value.
    size_t matrices_for_threads[9];
    //! Threads for each multiprocessor below which a block is a single warp, so that the
    //! batch reaches every multiprocessor.
    size_t threads_for_full_blocks;
    //! The distance of prefetches, in warps for each multiprocessor: half of the warps
    //! that it holds. What is fetched earlier does not stay in the L2 cache.
    size_t warps_ahead;
    //! The same of inverse_definite_thread, whose warps read more.
    size_t definite_warps_ahead;
};

//! \param generation  ten times the device's major compute capability
constexpr thresholds thresholds_of(int generation)
{
    constexpr thresholds hopper{ { 0, 0, 0, 8, 10, 32, 48, 64, 80 }, 512, 8, 1 };
    switch (generation) {
    case 90:
        return hopper;
    default:
        return hopper;
    }
}

} // namespace inverse_tuning
} // namespace gr::cudaphy::kernels
