/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/inverse/cuda/steps.cuh"
#include <type_traits>

// Between cuda.cu and the source files of the kernels, which compile in parallel.

namespace gr::cudaphy::kernels {

//! How and where a batch is to be inverted.
struct inverse_launch {
    int order;
    pivoting pivot;
    bool interleaved;
    size_t threads_for_full_blocks; //!< below it, a block is one warp
    cudaStream_t stream;
};

//! Orders up to most_thread_order<T>, for large batches; a determinant of interleaved
//! ones. Rows if is_thread_order<T>().
template <typename T>
void launch_thread_per_matrix(const batch_of<T>& batch, const inverse_launch& how);
//! Orders up to 8, row-major: for small batches.
template <typename T>
void launch_small_batch(const batch_of<T>& batch, const inverse_launch& how);
//! Orders 9 (complex128: 7) to 16, row-major; no determinant. No kernel without pivoting
//! where is_definite_order<T>().
template <typename T>
void launch_lanes_per_matrix(const batch_of<T>& batch, const inverse_launch& how);
//! Orders of is_definite_order<T>(), row-major, without pivoting, for T float and float2.
//! prepare_definite_thread() must be called before, once for the current device and the
//! order.
template <typename T>
void launch_definite_thread(const batch_of<T>& batch, const inverse_launch& how);
template <typename T>
void prepare_definite_thread(int order);
//! Orders 9 to 32, row-major; lanes serve faster up to 16.
template <typename T>
void launch_warp_per_matrix(const batch_of<T>& batch, const inverse_launch& how);
//! Orders 25 to 40, row-major, without full pivoting, where has_tf32_products().
void launch_warp_panels(const batch_of<float2>& batch, const inverse_launch& how);
//! Orders 25 to 32, row-major, with full pivoting, where has_tf32_products().
void launch_warp_two_stages(const batch_of<float2>& batch, const inverse_launch& how);
//! Whether the code that the current device runs uses its tensor cores.
bool has_tf32_products();
//! Orders 33 to most_long_warp_order<T>, row-major.
template <typename T>
void launch_long_warp(const batch_of<T>& batch, const inverse_launch& how);
//! Orders that have a tall_warp_order(), row-major, for any T but float.
template <typename T>
void launch_tall_warp(const batch_of<T>& batch, const inverse_launch& how);
//! All other orders above most_long_warp_order<T> to 64, row-major, for any T but float.
//! prepare_warps_per_matrix() must be called before, once for the current device, the
//! order and the pivoting.
template <typename T>
void launch_warps_per_matrix(const batch_of<T>& batch, const inverse_launch& how);
template <typename T>
void prepare_warps_per_matrix(int device, int order, pivoting pivot);
//! Orders up to 32, row-major, full pivoting: the patent's steps.
template <typename T>
void launch_patent(const batch_of<T>& batch, const inverse_launch& how);

//! Calls `use` with the order as a constant.
template <int First, int Last, typename Use>
void with_order(int order, const Use& use)
{
    if constexpr (First < Last) {
        if (order > First) {
            return with_order<First + 1, Last>(order, use);
        }
    }
    use(std::integral_constant<int, First>());
}

//! Calls `use` with the way of pivoting as a constant.
template <typename Use>
void with_pivoting(pivoting pivot, const Use& use)
{
    switch (pivot) {
    case pivoting::full:
        return use(std::integral_constant<pivoting, pivoting::full>());
    case pivoting::partial:
        return use(std::integral_constant<pivoting, pivoting::partial>());
    case pivoting::none:
        return use(std::integral_constant<pivoting, pivoting::none>());
    }
}

//! A small batch has blocks of one warp, so that it reaches every multiprocessor.
inline int threads_a_block(size_t threads, int most, const inverse_launch& how)
{
    return threads < how.threads_for_full_blocks ? 32 : most;
}

} // namespace gr::cudaphy::kernels
