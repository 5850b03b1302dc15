/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/small_batch.cuh"
#include "kernels/linalg/inverse/cuda/warp_per_matrix.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_small_batch(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<1, small_batch_order>(how.order, [&](auto order) {
        with_pivoting(how.pivot, [&](auto pivot) {
            constexpr int N = order;
            constexpr pivoting P = pivot;
            constexpr int matrices = small_batch_threads / 32;
            const auto grid = unsigned((batch.size + matrices - 1) / matrices);
            inverse_small_batch<T, N, P>
                <<<grid, small_batch_threads, 0, how.stream>>>(batch);
        });
    });
    cuda_check_launch("inverse: inverse_small_batch");
}

template <typename T>
void launch_warp_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        constexpr int matrices = warp_kernel_threads / 32;
        const auto grid = unsigned((batch.size + matrices - 1) / matrices);
        const auto kernel = how.order <= 24 ? inverse_warp_per_matrix<T, 24, P>
                                            : inverse_warp_per_matrix<T, 32, P>;
        kernel<<<grid, warp_kernel_threads, 0, how.stream>>>(batch, how.order);
    });
    cuda_check_launch("inverse: inverse_warp_per_matrix");
}

template void launch_small_batch(const batch_of<float>&, const inverse_launch&);
template void launch_small_batch(const batch_of<double>&, const inverse_launch&);
template void launch_small_batch(const batch_of<float2>&, const inverse_launch&);
template void launch_small_batch(const batch_of<double2>&, const inverse_launch&);
template void launch_warp_per_matrix(const batch_of<float>&, const inverse_launch&);
template void launch_warp_per_matrix(const batch_of<double>&, const inverse_launch&);
template void launch_warp_per_matrix(const batch_of<float2>&, const inverse_launch&);
template void launch_warp_per_matrix(const batch_of<double2>&, const inverse_launch&);

} // namespace gr::cudaphy::kernels
