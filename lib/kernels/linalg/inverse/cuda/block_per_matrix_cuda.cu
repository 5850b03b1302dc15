/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/block_per_matrix.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_block_per_matrix(const batch_of<T>& batch, const inverse_launch& how)
{
    inverse_block_per_matrix<T><<<unsigned(batch.size),
                                  block_threads,
                                  block_matrix_bytes<T>(how.order),
                                  how.stream>>>(batch, how.order, how.pivot);
    cuda_check_launch("inverse: inverse_block_per_matrix");
}

template <typename T>
void prepare_block_per_matrix(int device)
{
    allow_shared_memory<T>(device);
}

template void launch_block_per_matrix(const batch_of<float>&, const inverse_launch&);
template void launch_block_per_matrix(const batch_of<double>&, const inverse_launch&);
template void launch_block_per_matrix(const batch_of<float2>&, const inverse_launch&);
template void launch_block_per_matrix(const batch_of<double2>&, const inverse_launch&);
template void prepare_block_per_matrix<float>(int);
template void prepare_block_per_matrix<double>(int);
template void prepare_block_per_matrix<float2>(int);
template void prepare_block_per_matrix<double2>(int);

} // namespace gr::cudaphy::kernels
