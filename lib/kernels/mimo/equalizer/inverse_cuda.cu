/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer/inverse.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {
namespace {

#define CUDAPHY_LANE __host__ __device__ __forceinline__
using real = float;
CUDAPHY_LANE real fused(real a, real b, real c) { return fmaf(a, b, c); }
CUDAPHY_LANE real fused_less(real a, real b, real c) { return fmaf(-a, b, c); }
#include "kernels/mimo/equalizer/inverse-inl.h"

constexpr int block_threads = 128;

// A thread a row of a matrix: neighbours share the rows of H that they read.
__global__ void __launch_bounds__(block_threads)
    find_gram_rows(const inverse_arrays job, size_t rows)
{
    const size_t row = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (row < rows) {
        const size_t matrix = row / job.shape.layers;
        find_gram_row(job, matrix, int(row - matrix * job.shape.layers));
    }
}

__global__ void __launch_bounds__(block_threads)
    apply_inverse_rows(const inverse_arrays job, size_t rows)
{
    const size_t row = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (row < rows) {
        const size_t matrix = row / job.shape.layers;
        apply_inverse_row(job, matrix, int(row - matrix * job.shape.layers));
    }
}

// Its own launch, since every row of a matrix reads what the inversion found.
__global__ void __launch_bounds__(block_threads)
    find_status(const inverse_arrays job, size_t matrices)
{
    const size_t matrix = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (matrix < matrices) {
        job.status[matrix] = status_of(job, matrix);
    }
}

unsigned blocks(size_t threads)
{
    return unsigned((threads + block_threads - 1) / block_threads);
}

class inverse_steps_cuda : public inverse_steps
{
public:
    explicit inverse_steps_cuda(int device) : d_device(device) {}

    void find_gram(const inverse_job& job, queue& queue) override
    {
        const size_t rows = job.shape.matrices() * job.shape.layers;
        cuda_device_scope scope(d_device);
        find_gram_rows<<<blocks(rows), block_threads, 0, stream_of(queue)>>>(
            arrays_of(job), rows);
        cuda_check_launch("find_gram_rows");
    }
    void apply(const inverse_job& job, queue& queue) override
    {
        const size_t rows = job.shape.matrices() * job.shape.layers;
        const auto arrays = arrays_of(job);
        cuda_device_scope scope(d_device);
        apply_inverse_rows<<<blocks(rows), block_threads, 0, stream_of(queue)>>>(arrays,
                                                                                 rows);
        cuda_check_launch("apply_inverse_rows");
        find_status<<<blocks(job.shape.matrices()), block_threads, 0, stream_of(queue)>>>(
            arrays, job.shape.matrices());
        cuda_check_launch("find_status");
    }

private:
    const int d_device;
};

} // namespace

std::unique_ptr<inverse_steps> make_inverse_steps_cuda(int device)
{
    return std::make_unique<inverse_steps_cuda>(device);
}

} // namespace gr::cudaphy::kernels
