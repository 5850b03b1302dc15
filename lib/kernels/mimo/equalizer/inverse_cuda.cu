/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/cuda_lane.cuh"
#include "kernels/mimo/equalizer/inverse.h"
#include "kernels/mimo/tuning.cuh"

namespace gr::cudaphy::kernels {
namespace {

#include "kernels/mimo/equalizer/inverse-inl.h"

constexpr int block_threads = mimo_tuning::equalizer::inverse_threads;

// A thread a row of a matrix: neighbours share the rows of H that they read.
template <typename Row>
__global__ void __launch_bounds__(block_threads)
    visit_rows(const inverse_job job, size_t rows)
{
    const size_t row = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (row < rows) {
        const size_t matrix = row / job.shape.layers;
        Row()(job, matrix, int(row - matrix * job.shape.layers));
    }
}

template <typename Row>
void launch(const inverse_job& job, queue& queue)
{
    const cuda_device_scope scope(queue.device());
    const size_t rows = job.shape.matrices() * job.shape.layers;
    const auto blocks = unsigned((rows + block_threads - 1) / block_threads);
    visit_rows<Row><<<blocks, block_threads, 0, stream_of(queue)>>>(job, rows);
    cuda_check_launch("equalizer, route inverse");
}

} // namespace

inverse_steps inverse_steps_cuda()
{
    return { launch<find_gram_row>, launch<apply_inverse_row> };
}

} // namespace gr::cudaphy::kernels
