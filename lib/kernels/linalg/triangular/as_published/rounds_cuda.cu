/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/linalg/triangular/as_published/rounds.cuh"
#include "kernels/linalg/triangular/launch.cuh"
#include "kernels/linalg/triangular/tuning.cuh"

// Source 3, Shanghai Biren (2023), with its round 1 and what it leaves open: how matrices
// come into shared memory and out of it. A warp holds 32 / W matrices of padded order
// W = 2^n. Device memory is touched once each way: neighbouring lanes read and write
// rows, of A only the triangle. An upper triangle is written to shared memory transposed.

namespace gr::cudaphy::kernels {
namespace {

using namespace triangular;

//! blockDim = (32, warps); a warp takes 32 / W matrices of order n <= W.
template <typename T, int W, bool Columns>
__global__ void __launch_bounds__(warp_lanes* lanes_policy<T>::most_warps,
                                  lanes_policy<T>::least_blocks)
    triangular_lanes_per_matrix(const triangular_batch<T> batch)
{
    using number = element<T>;
    const int n = batch.n;
    const bool lower = batch.lower;
    const bool unit = batch.unit;
    constexpr int stride = W + 1;
    constexpr int matrices = warp_lanes / W;
    constexpr int rows_at_once = warp_lanes / W;
    constexpr int most_ahead = lanes_policy<T>::loads_ahead;
    constexpr int ahead = W < most_ahead ? W : most_ahead;
    constexpr unsigned matrix_lanes = all_lanes >> (warp_lanes - W);
    __shared__ T tiles[lanes_policy<T>::most_warps][warp_lanes * stride];

    const int lane = threadIdx.x;
    const size_t first = (size_t(blockIdx.x) * blockDim.y + threadIdx.y) * matrices;
    if (first >= batch.size) {
        return; // the whole warp
    }
    T* tile = tiles[threadIdx.y];
    const int present =
        batch.size - first < matrices ? int(batch.size - first) : matrices;
    const size_t base = first * n * n;

    // Element (i, j) of matrix g, counted in the warp, that this lane moves in step t.
    const int j = lane % W;
    const int row_step = lower ? stride : 1;
    const int column_step = lower ? 1 : stride;
    const auto row_of = [&](int t) { return t * rows_at_once + lane / W; };
    const auto matrix_of = [&](int t) { return W == warp_lanes ? 0 : row_of(t) / W; };
    const auto in_matrix = [&](int g, int i) { return g < present && i < n && j < n; };
    const auto in_triangle = [&](int i) { return lower ? j <= i : j >= i; };
    const auto place = [&](int g, int i) {
        return g * W * stride + i * row_step + j * column_step;
    };

    unsigned not_finite = 0; // a bit for each matrix
#pragma unroll 1
    for (int t0 = 0; t0 < W; t0 += ahead) {
        T loaded[ahead];
#pragma unroll
        for (int t = 0; t < ahead; ++t) {
            const int g = matrix_of(t0 + t), i = row_of(t0 + t) % W;
            loaded[t] = number::make(i == j ? 1 : 0);
            if (in_matrix(g, i) && in_triangle(i) && !(unit && i == j)) {
                loaded[t] = batch.a[base + (g * n + i) * n + j];
            }
        }
#pragma unroll
        for (int t = 0; t < ahead; ++t) {
            const int g = matrix_of(t0 + t), i = row_of(t0 + t) % W;
            not_finite |= number::is_finite(loaded[t]) ? 0u : 1u << g;
            tile[place(g, i)] = loaded[t];
        }
    }
#pragma unroll
    for (int distance = warp_lanes / 2; distance; distance /= 2) {
        not_finite |= __shfl_xor_sync(all_lanes, not_finite, distance);
    }
    __syncwarp();

    // Round 1: from here on a lane has a row.
    T* diagonal = tile + lane * stride + lane % W;
    const bool zero = number::is_zero(*diagonal);
    *diagonal = number::reciprocal(*diagonal);
    bool finite = number::is_finite(*diagonal);
    __syncwarp();
    if constexpr (Columns) {
        finite = columns<T, W>(tile, lane) && finite;
    } else {
        finite = recursive_blocks<T, W>(tile, lane) && finite;
    }

    const int own = lane / W; // the matrix of this lane
    const unsigned zeros = __ballot_sync(all_lanes, zero) >> (own * W) & matrix_lanes;
    const unsigned spoiled =
        __ballot_sync(all_lanes, !finite) >> (own * W) & matrix_lanes;
    const int state = not_finite >> own & 1 ? -1
                      : zeros               ? __ffs(int(zeros))
                      : spoiled             ? -1
                                            : 0;
    const unsigned succeeded = __ballot_sync(all_lanes, state == 0);

#pragma unroll ahead
    for (int t = 0; t < W; ++t) {
        const int g = matrix_of(t), i = row_of(t) % W;
        if (in_matrix(g, i)) {
            const bool keep = in_triangle(i) && (succeeded >> (g * W) & 1);
            batch.x[base + (g * n + i) * n + j] =
                keep ? tile[place(g, i)] : number::make(0);
        }
    }
    if (lane % W == 0 && own < present) {
        batch.status[first + own] = state;
    }
}

template <typename T, int W>
void launch_of_width(const triangular_batch<T>& batch,
                     bool columns,
                     size_t processors,
                     cudaStream_t stream)
{
    if constexpr (W < warp_lanes) {
        if (batch.n > W) {
            return launch_of_width<T, 2 * W>(batch, columns, processors, stream);
        }
    }
    using policy = lanes_policy<T>;
    constexpr size_t matrices = warp_lanes / W;
    const size_t warps = (batch.size + matrices - 1) / matrices;
    const bool small = warps < policy::full_blocks * processors * policy::most_warps;
    const dim3 block(warp_lanes, small ? 1 : policy::most_warps);
    const auto grid = unsigned((warps + block.y - 1) / block.y);
    const auto kernel = columns ? triangular_lanes_per_matrix<T, W, true>
                                : triangular_lanes_per_matrix<T, W, false>;
    kernel<<<grid, block, 0, stream>>>(batch);
    cuda_check_launch("triangular_inverse: triangular_lanes_per_matrix");
}

} // namespace

template <typename T>
void launch_triangular_rounds(const triangular_batch<T>& batch,
                              bool columns,
                              size_t processors,
                              cudaStream_t stream)
{
    launch_of_width<T, 1>(batch, columns, processors, stream);
}

template void
launch_triangular_rounds(const triangular_batch<float>&, bool, size_t, cudaStream_t);
template void
launch_triangular_rounds(const triangular_batch<double>&, bool, size_t, cudaStream_t);
template void
launch_triangular_rounds(const triangular_batch<float2>&, bool, size_t, cudaStream_t);
template void
launch_triangular_rounds(const triangular_batch<double2>&, bool, size_t, cudaStream_t);

} // namespace gr::cudaphy::kernels
