/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_two_stages.cuh"

namespace gr::cudaphy::kernels {

void launch_warp_two_stages(const batch_of<float2>& batch, const inverse_launch& how)
{
    constexpr int matrices = two_stages_threads / 32;
    const auto grid = unsigned((batch.size + matrices - 1) / matrices);
    const auto kernel = batch.determinant ? inverse_warp_two_stages<true>
                                          : inverse_warp_two_stages<false>;
    kernel<<<grid, two_stages_threads, 0, how.stream>>>(batch, how.order);
    cuda_check_launch("inverse: inverse_warp_two_stages");
}

} // namespace gr::cudaphy::kernels
