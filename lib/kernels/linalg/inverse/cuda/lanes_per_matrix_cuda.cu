/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/lanes_per_matrix.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

namespace gr::cudaphy::kernels {

namespace {

//! Lanes a matrix, as measured on an H200: two where they win and the registers last.
template <typename T, int N>
constexpr int lanes_of_order()
{
    if (std::is_same_v<T, double2>) {
        return N <= 8 ? 4 : 8;
    }
    const bool two = std::is_same_v<T, float2>   ? N == 11 || N == 12
                     : std::is_same_v<T, double> ? N >= 10 && N <= 12
                                                 : false;
    return two ? 2 : 4;
}

} // namespace

template <typename T>
void launch_lanes_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    constexpr int least = std::is_same_v<T, double2> ? 7 : 9;
    with_order<least, 16>(how.order, [&](auto order) {
        with_pivoting(how.pivot, [&](auto pivot) {
            constexpr int N = order;
            constexpr pivoting P = pivot;
            constexpr int L = lanes_of_order<T, N>();
            const int threads =
                threads_a_block(batch.size * L, lanes_kernel_threads, how);
            const size_t matrices = threads / L;
            const auto grid = unsigned((batch.size + matrices - 1) / matrices);
            inverse_lanes_per_matrix<T, N, L, P><<<grid, threads, 0, how.stream>>>(batch);
        });
    });
    cuda_check_launch("inverse: inverse_lanes_per_matrix");
}

template void launch_lanes_per_matrix(const batch_of<float>&, const inverse_launch&);
template void launch_lanes_per_matrix(const batch_of<double>&, const inverse_launch&);
template void launch_lanes_per_matrix(const batch_of<float2>&, const inverse_launch&);
template void launch_lanes_per_matrix(const batch_of<double2>&, const inverse_launch&);

} // namespace gr::cudaphy::kernels
