/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/small_batch.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_per_matrix.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_small_batch(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        constexpr int matrices = small_batch_threads / 32;
        const auto grid = unsigned((batch.size + matrices - 1) / matrices);
        const auto kernel =
            how.order <= 4 ? inverse_small_batch<T, 1, P> : inverse_small_batch<T, 2, P>;
        kernel<<<grid, small_batch_threads, 0, how.stream>>>(batch, how.order);
    });
    cuda_check_launch("inverse: inverse_small_batch");
}

template <typename T>
void launch_warp_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        const auto launch = [&](auto most_order) {
            constexpr int R = most_order;
            constexpr int threads = warp_policy<T, R, P>::threads;
            constexpr int matrices = threads / 32;
            const auto grid = unsigned((batch.size + matrices - 1) / matrices);
            inverse_warp_per_matrix<T, R, P>
                <<<grid, threads, 0, how.stream>>>(batch, how.order);
        };
        constexpr int least = least_warp_kernel<T, P>;
        if (how.order <= least) {
            launch(std::integral_constant<int, least>());
        } else if (how.order <= 24) {
            launch(std::integral_constant<int, 24>());
        } else {
            launch(std::integral_constant<int, most_warp_order>());
        }
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
