/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/linalg/bench_triangular_inverse_cuda.h"
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular/as_published/rounds.cuh"
#include "kernels/linalg/triangular/tuning.cuh"

namespace gr::cudaphy::benchmarks {
namespace {

using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::kernels::triangular;

constexpr int warps = lanes_policy<float>::most_warps;

//! Inverts the warp's matrices again and again. Diagonals are 1, so that two inversions
//! give the matrices again. The launch bounds are those of triangular_lanes_per_matrix.
template <int W, bool Columns>
__global__ void __launch_bounds__(warp_lanes* warps, lanes_policy<float>::least_blocks)
    invert_repeatedly(float* sink, int repetitions)
{
    constexpr int stride = W + 1;
    __shared__ float tiles[warps][warp_lanes * stride];
    float* const tile = tiles[threadIdx.y];
    const int lane = threadIdx.x;
    for (int j = 0; j < W; ++j) {
        const int i = lane % W;
        tile[lane * stride + j] = j > i ? 0.0f : j == i ? 1.0f : 0.5f / float(W + i - j);
    }
    __syncwarp();
    bool finite = true;
#pragma unroll 1
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        float* const diagonal = tile + lane * stride + lane % W;
        *diagonal = element<float>::reciprocal(*diagonal);
        __syncwarp();
        if constexpr (Columns) {
            finite = columns<float, W>(tile, lane) && finite;
        } else {
            finite = recursive_blocks<float, W>(tile, lane) && finite;
        }
    }
    if (!finite) { // never true, but the compiler can't know
        *sink = tile[lane * stride];
    }
}

template <int W, bool Columns>
in_shared_memory measure(queue& q)
{
    const auto kernel = invert_repeatedly<W, Columns>;
    int processors = 0;
    int blocks = 0;
    cuda_check(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, q.device()),
        "cudaDeviceGetAttribute");
    cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &blocks, kernel, warp_lanes * warps, 0),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    array<float> sink(q, 1);
    // The difference of two counts of repetitions cancels the launch and the filling.
    constexpr int few = 1000, many = 11000;
    const auto seconds_a_repetition = [&](int grid, int warps_of_block) {
        const auto seconds = [&](int repetitions) {
            return seconds_per_call(q, [&] {
                kernel<<<grid, dim3(warp_lanes, warps_of_block), 0, stream_of(q)>>>(
                    sink.data(), repetitions);
                cuda_check_launch("bench_triangular_inverse: invert_repeatedly");
            });
        };
        return (seconds(many) - seconds(few)) / (many - few);
    };
    const int grid = processors * blocks;
    const double matrices = double(grid) * warps * (warp_lanes / W);
    return { seconds_a_repetition(1, 1), seconds_a_repetition(grid, warps) / matrices };
}

} // namespace

in_shared_memory
time_in_shared_memory(queue& q, int order, triangular_algorithm algorithm)
{
    cuda_device_scope scope(q.device());
    const bool by_columns = algorithm == triangular_algorithm::columns;
    switch (order) {
    case 8:
        return by_columns ? measure<8, true>(q) : measure<8, false>(q);
    case 16:
        return by_columns ? measure<16, true>(q) : measure<16, false>(q);
    default:
        return by_columns ? measure<32, true>(q) : measure<32, false>(q);
    }
}

} // namespace gr::cudaphy::benchmarks
