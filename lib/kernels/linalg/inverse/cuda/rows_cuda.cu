/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/launch.cuh"
#include "kernels/linalg/inverse/cuda/rows.cuh"

namespace gr::cudaphy::kernels {

void launch_inverse_rows(const batch_of<float2>& batch, const inverse_launch& how)
{
    constexpr int N = 16, L = 8;
    const int threads = threads_a_block(batch.size * L, rows_kernel_threads, how);
    const size_t matrices = threads / L;
    const auto grid = unsigned((batch.size + matrices - 1) / matrices);
    const auto kernel = how.pivot == pivoting::partial
                            ? gauss_jordan_rows<float2, N, L, pivoting::partial>
                            : gauss_jordan_rows<float2, N, L, pivoting::none>;
    kernel<<<grid, threads, 0, how.stream>>>(batch);
    cuda_check_launch("inverse: gauss_jordan_rows");
}

} // namespace gr::cudaphy::kernels
