/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/small_batch.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp_per_matrix.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_inverse_latency(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<1, latency_kernel_order>(how.order, [&](auto order) {
        with_pivoting(how.pivot, [&](auto pivot) {
            constexpr int N = order;
            constexpr pivoting P = pivot;
            constexpr int matrices = latency_kernel_threads / 32;
            const auto grid = unsigned((batch.size + matrices - 1) / matrices);
            gauss_jordan_latency<T, N, P>
                <<<grid, latency_kernel_threads, 0, how.stream>>>(batch);
        });
    });
    cuda_check_launch("inverse: gauss_jordan_latency");
}

template <typename T>
void launch_inverse_warp(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        constexpr int matrices = warp_kernel_threads / 32;
        const auto grid = unsigned((batch.size + matrices - 1) / matrices);
        const auto kernel =
            how.order <= 24 ? gauss_jordan_warp<T, 24, P> : gauss_jordan_warp<T, 32, P>;
        kernel<<<grid, warp_kernel_threads, 0, how.stream>>>(batch, how.order);
    });
    cuda_check_launch("inverse: gauss_jordan_warp");
}

template void launch_inverse_latency(const batch_of<float>&, const inverse_launch&);
template void launch_inverse_latency(const batch_of<double>&, const inverse_launch&);
template void launch_inverse_latency(const batch_of<float2>&, const inverse_launch&);
template void launch_inverse_latency(const batch_of<double2>&, const inverse_launch&);
template void launch_inverse_warp(const batch_of<float>&, const inverse_launch&);
template void launch_inverse_warp(const batch_of<double>&, const inverse_launch&);
template void launch_inverse_warp(const batch_of<float2>&, const inverse_launch&);
template void launch_inverse_warp(const batch_of<double2>&, const inverse_launch&);

} // namespace gr::cudaphy::kernels
