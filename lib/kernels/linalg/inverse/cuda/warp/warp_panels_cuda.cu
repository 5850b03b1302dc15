/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_panels.cuh"

namespace gr::cudaphy::kernels {

void launch_warp_panels(const batch_of<float2>& batch, const inverse_launch& how)
{
    constexpr int matrices = panels_threads / 32;
    const auto grid = unsigned((batch.size + matrices - 1) / matrices);
    const auto kernel = how.pivot == pivoting::partial
                            ? inverse_warp_panels<4, pivoting::partial>
                            : inverse_warp_panels<4, pivoting::none>;
    kernel<<<grid, panels_threads, 0, how.stream>>>(batch, how.order);
    cuda_check_launch("inverse: inverse_warp_panels");
}

bool has_tf32_products()
{
    // The device may run code that was compiled for an older device, without TF32.
    cudaFuncAttributes attributes;
    cuda_check(
        cudaFuncGetAttributes(&attributes, inverse_warp_panels<4, pivoting::partial>),
        "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 80;
}

} // namespace gr::cudaphy::kernels
