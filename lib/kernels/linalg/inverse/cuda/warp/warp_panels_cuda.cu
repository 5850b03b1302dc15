/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_panels.cuh"

namespace gr::cudaphy::kernels {

void launch_warp_panels(const batch_of<float2>& batch, const inverse_launch& how)
{
    with_pivoting(how.pivot, [&](auto pivot) {
        constexpr pivoting P = pivot;
        const auto launch = [&](auto panels) {
            constexpr int threads = panels_threads<panels>;
            constexpr int matrices = threads / 32;
            const auto grid = unsigned((batch.size + matrices - 1) / matrices);
            inverse_warp_panels<panels, P>
                <<<grid, threads, 0, how.stream>>>(batch, how.order);
        };
        if constexpr (P != pivoting::full) {
            if (how.order <= 32) {
                launch(std::integral_constant<int, 4>());
            } else {
                launch(std::integral_constant<int, 5>());
            }
        }
    });
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
