/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/lanes_per_matrix.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

// Each element type has a source file of its own, because one for all takes minutes to
// compile.

namespace gr::cudaphy::kernels {

template <typename T>
void launch_lanes_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<least_lanes_order<T>, most_lanes_order>(how.order, [&](auto order) {
        with_pivoting(how.pivot, [&](auto pivot) {
            constexpr int N = order;
            constexpr pivoting P = pivot;
            if constexpr (P != pivoting::none || !is_definite_order<T>(N)) {
                using policy = lanes_policy<T, N, P>;
                const int threads =
                    threads_a_block(batch.size * policy::lanes, policy::threads, how);
                const size_t matrices = threads / policy::lanes;
                const auto grid = unsigned((batch.size + matrices - 1) / matrices);
                inverse_lanes_per_matrix<T, N, P>
                    <<<grid, threads, 0, how.stream>>>(batch);
            }
        });
    });
    cuda_check_launch("inverse: inverse_lanes_per_matrix");
}

} // namespace gr::cudaphy::kernels
