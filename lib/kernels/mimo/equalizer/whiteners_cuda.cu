/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer/device.cuh"
#include "kernels/mimo/equalizer/gram_job.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int ways = 4; // threads of a row or column
constexpr int whitener_threads = ways * most_antennas;

//! The sum over the threads of a row or column.
CUDAPHY_LANE complex_lane sum_of_ways(complex_lane sum)
{
    for (int apart = 1; apart < ways; apart *= 2) {
        sum.re += __shfl_xor_sync(whole_warp, sum.re, apart);
        sum.im += __shfl_xor_sync(whole_warp, sum.im, apart);
    }
    return sum;
}

CUDAPHY_LANE complex_lane conjugate(float2 a) { return { a.x, -a.y }; }

// A covariance a block: Cholesky's factor L by columns, a row four threads, then L^-1 by
// rows, a column four threads. The lower triangle lies in shared memory, 66 KB of 128
// antennas, or in the result's place where there is less. Its 128 + 128 steps follow each
// other: a factor takes tens of microseconds, whatever the GPU, but serves all tones of a
// bundle. (Golub and Van Loan, Matrix Computations, 4th ed., 4.2.5 and 3.1.)
__global__ void __launch_bounds__(whitener_threads)
    find_whiteners(const float2* covariances,
                   int nr,
                   float least,
                   gram_whiteners out,
                   bool in_shared,
                   const int* wanted)
{
    if (wanted && !wanted[blockIdx.x]) {
        return;
    }
    extern __shared__ float2 shared[];
    __shared__ float inverse[most_antennas]; // 1 / L_kk
    const int pitch = whitener_pitch(nr);
    const float2* const from = covariances + size_t{ blockIdx.x } * nr * nr;
    float2* const to = out.inverse + size_t{ blockIdx.x } * nr * pitch;
    float2* const l = in_shared ? shared : to;
    const auto row = [&](int r) { return l + (in_shared ? r * (r + 1) / 2 : r * pitch); };
    const int own = threadIdx.x / ways; // row, then column
    const int way = threadIdx.x % ways;

    float zeros = 0;
    bool usable = true;
    for (int e = threadIdx.x; e < nr * nr; e += whitener_threads) {
        const int r = e / nr;
        const int c = e - r * nr;
        if (c <= r) {
            const float2 value = from[e];
            zeros = fused(value.x, 0, zeros);
            if (c < r) {
                zeros = fused(value.y, 0, zeros);
            }
            row(r)[c] = value;
        }
    }
    __syncthreads();
    for (int c = 0; c < nr; ++c) {
        complex_lane sum{ 0, 0 };
        if (own >= c && own < nr) {
            _Pragma("unroll 4") for (int k = way; k < c; k += ways)
            {
                sum = less_product(lane_of(row(own)[k]), conjugate(row(c)[k]), sum);
            }
        }
        sum = sum_of_ways(sum);
        if (own == c && way == 0) {
            const float before = row(c)[c].x;
            const float pivot = before + sum.re;
            usable = pivot > least * before;
            inverse[c] = 1.0f / sqrtf(pivot);
        }
        __syncthreads();
        if (own > c && own < nr && way == 0) {
            const float2 value = row(own)[c];
            row(own)[c] = { (value.x + sum.re) * inverse[c],
                            (value.y + sum.im) * inverse[c] };
        }
        __syncthreads();
    }
    for (int r = 0; r < nr; ++r) {
        complex_lane sum{ 0, 0 };
        if (own < r) {
            _Pragma("unroll 4") for (int k = own + way; k < r; k += ways)
            {
                const float2 known = k == own ? float2{ inverse[own], 0 } : row(k)[own];
                sum = less_product(lane_of(row(r)[k]), lane_of(known), sum);
            }
        }
        sum = sum_of_ways(sum);
        __syncthreads();
        if (own < r && way == 0) {
            row(r)[own] = { sum.re * inverse[r], sum.im * inverse[r] };
        }
        __syncthreads();
    }
    for (int e = threadIdx.x; e < nr * pitch; e += whitener_threads) {
        const int r = e / pitch;
        const int c = e - r * pitch;
        if (c == r) {
            to[e] = { inverse[r], 0 };
        } else if (c > r) {
            to[e] = { 0, 0 };
        } else if (in_shared) {
            to[e] = row(r)[c];
        }
    }
    const int bad = __syncthreads_or(!(usable && zeros == 0));
    if (threadIdx.x == 0) {
        out.variance[blockIdx.x] = bad ? __uint_as_float(0x7F800000u) : 1.0f;
    }
}

} // namespace

void launch_whiteners(const float2* covariances,
                      size_t count,
                      int receive,
                      const gram_whiteners& out,
                      int room,
                      cudaStream_t stream,
                      const int* wanted)
{
    const size_t bytes = sizeof(float2) * receive * (receive + 1) / 2;
    const int most = room - 1024; // 1 KB is the kernel's own
    const bool in_shared = bytes <= size_t(most);
    if (in_shared) {
        // As much for every number of antennas: a recorded launch may follow another's.
        cuda_check(cudaFuncSetAttribute(
                       find_whiteners, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                   "cudaFuncSetAttribute");
    }
    find_whiteners<<<unsigned(count), whitener_threads, in_shared ? bytes : 0, stream>>>(
        covariances, receive, least_pivot_of(receive), out, in_shared, wanted);
    cuda_check_launch("equalizer, factors of covariances");
}

} // namespace gr::cudaphy::kernels
