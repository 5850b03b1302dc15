/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_per_matrix.cuh"

namespace gr::cudaphy::kernels {

//! Calls `use` with the largest order of the kernel for an order.
template <typename T, int R = 36, typename Use>
void with_long_warp_kernel(int order, const Use& use)
{
    if constexpr (R <= most_long_warp_order<T>) {
        if constexpr (has_long_warp_kernel<T>(R)) {
            if (order <= R) {
                return use(std::integral_constant<int, R>());
            }
        }
        with_long_warp_kernel<T, R + 4>(order, use);
    }
}

template <typename T>
void launch_long_warp(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        with_long_warp_kernel<T>(how.order, [&](auto largest) {
            constexpr pivoting P = pivot;
            constexpr int R = largest;
            inverse_warp_per_matrix<T, R, P>
                <<<unsigned(batch.size), 32, 0, how.stream>>>(batch, how.order);
        });
    });
    cuda_check_launch("inverse: inverse_warp_per_matrix");
}

} // namespace gr::cudaphy::kernels
