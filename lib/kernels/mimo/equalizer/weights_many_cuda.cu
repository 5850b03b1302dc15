/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/equalizer/in_step.cuh"
#include "kernels/mimo/equalizer/kept_columns.cuh"

namespace gr::cudaphy::kernels {
namespace {

using eight = antennas<8, 8>;
constexpr int elements = 8;

constexpr size_t weights_warp_bytes = sizeof(float2) * 32 * kept_elements<eight>;
constexpr int together = tuning::weights_warps;

template <int Half>
CUDAPHY_LANE void read_column(const float2* from,
                              complex_lane (&column)[column_elements<eight, Half>])
{
    CUDAPHY_UNROLL
    for (int i = 0; i < column_elements<eight, Half>; ++i) {
        column[i] = lane_of(from[i * 32]);
    }
}

//! Projects the first `columns` of a half out of column k for a second time.
template <bool Mmse, int Half>
CUDAPHY_LANE void find_again(
    const float2* from, int columns, int k, complex_lane* column, complex_lane* below)
{
    _Pragma("unroll 1") for (int j = 0; j < columns; ++j)
    {
        complex_lane q[column_elements<eight, Half>];
        read_column<Half>(from, q);
        from += column_elements<eight, Half> * 32;
        complex_lane dot{ 0, 0 };
        CUDAPHY_UNROLL
        for (int r = 0; r < elements; ++r) {
            dot = add_dot(q[r], column[r], dot);
        }
        CUDAPHY_UNROLL
        for (int i = 0; Mmse && i < k && i < half_columns * (Half + 1); ++i) {
            dot = add_dot(q[elements + i], below[i], dot);
        }
        CUDAPHY_UNROLL
        for (int r = 0; r < elements; ++r) {
            column[r] = less_product(q[r], dot, column[r]);
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < k && i < half_columns * (Half + 1); ++i) {
            below[i] = less_product(q[elements + i], dot, below[i]);
        }
    }
}

//! Adds a half's columns to W = -(below) Q^H.
template <int Half>
CUDAPHY_LANE void add_weights(const float2* from, complex_lane (&w)[elements][elements])
{
    _Pragma("unroll 1") for (int j = 0; j < half_columns; ++j)
    {
        complex_lane q[column_elements<eight, Half>];
        read_column<Half>(from, q);
        from += column_elements<eight, Half> * 32;
        CUDAPHY_UNROLL
        for (int t = 0; t < half_columns * (Half + 1); ++t) {
            CUDAPHY_UNROLL
            for (int r = 0; r < elements; ++r) {
                w[t][r] = less_product(
                    complex_lane{ q[r].re, -q[r].im }, q[elements + t], w[t][r]);
            }
        }
    }
}

// One matrix with several vectors a thread. Its weights, in registers, cost a vector 64
// complex products; projections on its columns take 184. Each column is orthogonalised
// twice, because the weights are only as good as the columns are orthogonal. A
// multiprocessor has room for eight warps. Four go in step, as one block, so that one
// block eliminates while the other one moves its vectors.
//
// Aligned: y, x and noise lie at multiples of 16 bytes.
template <bool Mmse, bool Aligned>
__global__ void __launch_bounds__(32 * together, tuning::weights_blocks)
    weights_many(const cuda_job job)
{
    extern __shared__ float2 shared[];
    const eight size{ 8, 8 };
    const int lane = threadIdx.x % 32;
    const auto place = find_place(job, size_t{ blockIdx.x } * blockDim.x + threadIdx.x);
    float2* const kept = shared + threadIdx.x / 32 * (32 * kept_elements<eight>);

    complex_lane w[elements][elements];
    lane_solution<eight> solution;
    // H lies in the place of Q, whose pitch is no less.
    read_rows_of(job.h, place.matrix * 64, 64, kept);
    load_columns(size, 8, 8, kept + lane * 65, w);
    __syncwarp();
    const auto take =
        [&](int k, const complex_lane* column, const complex_lane* below, float last) {
            meet<eight>();
            keep_column<eight>(kept, lane, k, column, below, last);
        };
    const auto again = [&](int k, complex_lane* column, complex_lane* below) {
        if (k > 0) {
            find_again<Mmse, 0>(kept + lane, min(k, half_columns), k, column, below);
            if (k > half_columns) {
                find_again<Mmse, 1>(kept + column_at<eight>(half_columns) * 32 + lane,
                                    k - half_columns,
                                    k,
                                    column,
                                    below);
            }
        }
    };
    solve<Mmse>(size,
                method_of(job),
                job.n0[variance_of(job, place.matrix)],
                w,
                solution,
                take,
                again);
    if (place.active && place.first) {
        job.status[place.matrix] = int(solution.status);
    }

    alignas(16) float2 ahead[2][elements];
    const auto vector_at = [&](size_t s) {
        return (place.vector + min(s, place.left - 1) * job.tones) * elements;
    };
    const auto ask = [&](size_t s, float2(&to)[elements]) {
        const float2* const from = job.y + vector_at(s);
        CUDAPHY_UNROLL
        for (int i = 0; i < elements; i += 2) {
            if constexpr (Aligned) {
                reinterpret_cast<float4&>(to[i]) =
                    *reinterpret_cast<const float4*>(from + i);
            } else {
                to[i] = from[i];
                to[i + 1] = from[i + 1];
            }
        }
    };
    ask(0, ahead[0]);
    ask(1, ahead[1]);
    CUDAPHY_UNROLL
    for (int t = 0; t < elements; ++t) {
        CUDAPHY_UNROLL
        for (int r = 0; r < elements; ++r) {
            w[t][r] = { 0, 0 };
        }
    }
    add_weights<0>(kept + lane, w);
    add_weights<1>(kept + column_at<eight>(half_columns) * 32 + lane, w);
    CUDAPHY_UNROLL
    for (int t = 0; t < elements; ++t) {
        CUDAPHY_UNROLL
        for (int r = 0; r < elements; ++r) {
            const complex_lane each =
                scaled(scaled(w[t][r], solution.gain[t]), solution.scale);
            w[t][r] = solution.present[t] ? each : complex_lane{ 0, 0 };
        }
    }

    const auto give = [&](size_t s, const float2(&y)[elements]) {
        const bool wanted = place.active && s < place.left;
        const size_t to = vector_at(s);
        CUDAPHY_UNROLL
        for (int four = 0; four < elements; four += 4) {
            complex_lane x[4];
            float noise[4];
            CUDAPHY_UNROLL
            for (int i = 0; i < 4; ++i) {
                complex_lane sum{ 0, 0 };
                CUDAPHY_UNROLL
                for (int r = 0; r < elements; ++r) {
                    sum = add_product(w[four + i][r], lane_of(y[r]), sum);
                }
                const bool finite = is_finite(sum);
                x[i] = finite ? sum : complex_lane{ 0, 0 };
                noise[i] = finite ? solution.noise[four + i] : float_infinity;
            }
            if (!wanted) {
                continue;
            }
            float2* const to_x = job.x + to + four;
            float* const to_noise = job.noise + to + four;
            if constexpr (Aligned) {
                float4* const pairs = reinterpret_cast<float4*>(to_x);
                pairs[0] = { x[0].re, x[0].im, x[1].re, x[1].im };
                pairs[1] = { x[2].re, x[2].im, x[3].re, x[3].im };
                *reinterpret_cast<float4*>(
                    to_noise) = { noise[0], noise[1], noise[2], noise[3] };
            } else {
                CUDAPHY_UNROLL
                for (int i = 0; i < 4; ++i) {
                    to_x[i] = { x[i].re, x[i].im };
                    to_noise[i] = noise[i];
                }
            }
        }
    };
    _Pragma("unroll 1") for (size_t s = 0; s < job.chunk; s += 2)
    {
        CUDAPHY_UNROLL
        for (int v = 0; v < 2; ++v) {
            float2 y[elements];
            CUDAPHY_UNROLL
            for (int r = 0; r < elements; ++r) {
                y[r] = ahead[v][r];
            }
            ask(s + v + 2, ahead[v]);
            give(s + v, y);
        }
    }
}

template <bool Mmse, bool Aligned>
void launch_weights(const cuda_job& job, cudaStream_t stream)
{
    const auto kernel = weights_many<Mmse, Aligned>;
    allow_in_step<eight>(kernel, weights_warp_bytes, job.room);
    const auto of = launch_in_step<eight>(job, job.items, weights_warp_bytes, together);
    kernel<<<of.blocks, of.threads, of.shared, stream>>>(job);
}

template <bool Aligned>
void launch_weights(const cuda_job& job, cudaStream_t stream)
{
    job.mmse ? launch_weights<true, Aligned>(job, stream)
             : launch_weights<false, Aligned>(job, stream);
}

bool is_aligned(const void* address)
{
    return reinterpret_cast<uintptr_t>(address) % sizeof(float4) == 0;
}

} // namespace

void launch_weights_many(const equalizer_cuda_job& job, cudaStream_t stream)
{
    is_aligned(job.y) && is_aligned(job.x) && is_aligned(job.noise)
        ? launch_weights<true>(job, stream)
        : launch_weights<false>(job, stream);
}

} // namespace gr::cudaphy::kernels
