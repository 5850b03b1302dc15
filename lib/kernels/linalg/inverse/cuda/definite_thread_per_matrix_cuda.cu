/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/definite_thread_per_matrix.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_definite_thread(const batch_of<T>& batch, const inverse_launch& how)
{
    with_order<least_definite_order<T>, most_definite_order<T>>(
        how.order, [&](auto order) {
            constexpr int N = order;
            const auto grid = unsigned((batch.size + 31) / 32);
            inverse_definite_thread<T, N>
                <<<grid, 32, definite_tile<T, N>::bytes, how.stream>>>(batch);
        });
    cuda_check_launch("inverse: inverse_definite_thread");
}

template <typename T>
void prepare_definite_thread(int order)
{
    with_order<least_definite_order<T>, most_definite_order<T>>(order, [](auto order) {
        constexpr int N = order;
        cuda_check(cudaFuncSetAttribute(inverse_definite_thread<T, N>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        definite_tile<T, N>::bytes),
                   "cudaFuncSetAttribute");
    });
}

template void launch_definite_thread(const batch_of<float>&, const inverse_launch&);
template void launch_definite_thread(const batch_of<float2>&, const inverse_launch&);
template void prepare_definite_thread<float>(int);
template void prepare_definite_thread<float2>(int);

} // namespace gr::cudaphy::kernels
