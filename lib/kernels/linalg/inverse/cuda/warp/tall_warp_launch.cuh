/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/tall_warp.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_tall_warp(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        const auto launch = [&](auto largest) {
            constexpr int R = largest;
            if constexpr (tall_warp_order<T>(R, P) == R) {
                if (tall_warp_order<T>(how.order, P) == R) {
                    inverse_tall_warp<T, R, P>
                        <<<unsigned(batch.size), 32, 0, how.stream>>>(batch, how.order);
                }
            }
        };
        launch(std::integral_constant<int, 44>());
        launch(std::integral_constant<int, 60>());
        launch(std::integral_constant<int, 64>());
    });
    cuda_check_launch("inverse: inverse_tall_warp");
}

} // namespace gr::cudaphy::kernels
