/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/warp_two_stages.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

namespace gr::cudaphy::kernels {

void launch_inverse_halves(const batch_of<float2>& batch, const inverse_launch& how)
{
    constexpr int matrices = halves_kernel_threads / 32;
    const auto grid = unsigned((batch.size + matrices - 1) / matrices);
    const auto kernel =
        batch.determinant ? gauss_jordan_halves<true> : gauss_jordan_halves<false>;
    kernel<<<grid, halves_kernel_threads, 0, how.stream>>>(batch, how.order);
    cuda_check_launch("inverse: gauss_jordan_halves");
}

} // namespace gr::cudaphy::kernels
