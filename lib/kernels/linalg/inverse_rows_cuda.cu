/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse_launch.cuh"
#include "kernels/linalg/inverse_rows.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_inverse_rows(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<7, 16>(how.order, [&](auto order) {
        constexpr int N = order;
        if constexpr (has_rows_kernel<T>(N)) {
            with_pivoting(how.pivot, [&](auto pivot) {
                constexpr int L = std::is_same_v<T, double2> ? 4 : 8;
                constexpr pivoting P = pivot;
                const int threads =
                    threads_a_block(batch.size * L, rows_kernel_threads, how);
                const size_t matrices = threads / L;
                const auto grid = unsigned((batch.size + matrices - 1) / matrices);
                gauss_jordan_rows<T, N, L, P><<<grid, threads, 0, how.stream>>>(batch);
            });
        }
    });
    cuda_check_launch("inverse: gauss_jordan_rows");
}

template void launch_inverse_rows(const batch_of<float>&, const inverse_launch&);
template void launch_inverse_rows(const batch_of<double>&, const inverse_launch&);
template void launch_inverse_rows(const batch_of<float2>&, const inverse_launch&);
template void launch_inverse_rows(const batch_of<double2>&, const inverse_launch&);

} // namespace gr::cudaphy::kernels
