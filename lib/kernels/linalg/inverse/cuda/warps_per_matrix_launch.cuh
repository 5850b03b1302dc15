/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warps_per_matrix.cuh"
#include <algorithm>

// Each element type has a source file of its own, because one for all takes minutes to
// compile.

namespace gr::cudaphy::kernels {
namespace {

template <typename T, int R, bool FullPivoting>
constexpr int warps_bytes =
    sizeof(warps_memory<warps_layout<T, R, warps_policy<T, R, FullPivoting>::warps>,
                        FullPivoting>);

//! Calls `use` with the largest order of the kernel for an order, and with whether the
//! kernel is that of full pivoting.
template <typename T, int R = 40, typename Use>
void with_warps_kernel(int order, pivoting pivot, const Use& use)
{
    constexpr std::integral_constant<int, R> largest;
    if constexpr (R <= most_long_warp_order<T>) {
        with_warps_kernel<T, R + 8>(order, pivot, use);
    } else if (R < 64 && order > R) {
        with_warps_kernel<T, std::min(R + 8, 64)>(order, pivot, use);
    } else if (tall_warp_order<T>(R, pivoting::full) == 0 && pivot == pivoting::full) {
        use(largest, std::bool_constant<tall_warp_order<T>(R, pivoting::full) == 0>());
    } else {
        use(largest, std::false_type());
    }
}

} // namespace

template <typename T>
void launch_warps_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    with_warps_kernel<T>(how.order, how.pivot, [&](auto largest, auto full) {
        constexpr int R = largest;
        constexpr bool F = full;
        inverse_warps_per_matrix<T, R, F><<<unsigned(batch.size),
                                            32 * warps_policy<T, R, F>::warps,
                                            warps_bytes<T, R, F>,
                                            how.stream>>>(batch, how.order, how.pivot);
    });
    cuda_check_launch("inverse: inverse_warps_per_matrix");
}

template <typename T>
void prepare_warps_per_matrix(int device, int order, pivoting pivot)
{
    int most = 0;
    cuda_check(
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
    with_warps_kernel<T>(order, pivot, [&](auto largest, auto full) {
        constexpr int R = largest;
        constexpr bool F = full;
        // A device with less shared memory refuses to launch the kernel.
        cuda_check(cudaFuncSetAttribute(inverse_warps_per_matrix<T, R, F>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        std::min(most, warps_bytes<T, R, F>)),
                   "cudaFuncSetAttribute");
    });
}

} // namespace gr::cudaphy::kernels
