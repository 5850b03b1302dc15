/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/thread_per_matrix.cuh"

// Each element type has a source file of its own, because one for all takes minutes to
// compile.

namespace gr::cudaphy::kernels {

template <typename T>
void launch_thread_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<1, most_thread_order<T>>(how.order, [&](auto order) {
        with_pivoting(how.pivot, [&](auto pivot) {
            constexpr int N = order;
            constexpr pivoting P = pivot;
            constexpr bool either = thread_policy<T, N, P>::serves_both_layouts();
            constexpr bool never_rows = !is_thread_order<T>(N, P);
            constexpr auto interleaved =
                either ? thread_layout::either : thread_layout::interleaved;
            constexpr auto rows =
                either || never_rows ? interleaved : thread_layout::rows;
            const auto kernel = how.interleaved
                                    ? inverse_thread_per_matrix<T, N, P, interleaved>
                                    : inverse_thread_per_matrix<T, N, P, rows>;
            const int threads =
                threads_a_block(batch.size, thread_kernel_threads<T, N, P>, how);
            const auto grid = unsigned((batch.size + threads - 1) / threads);
            kernel<<<grid, threads, 0, how.stream>>>(batch, how.interleaved);
        });
    });
    cuda_check_launch("inverse: inverse_thread_per_matrix");
}

} // namespace gr::cudaphy::kernels
