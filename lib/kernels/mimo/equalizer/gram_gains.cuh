/* SPDX-License-Identifier: GPL-3.0-or-later */
// From the Gram matrix to the gains of the layers, by the threads of a block: the steps
// of gram-inl.h, in the same order for each element.
#pragma once

#include "kernels/mimo/equalizer/gram_tile.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! Shared memory of a block beside the tile.
struct gram_state {
    float2 g[pairs_of(most_layers)]; //!< H^H H, the lower triangle
    float2 column[2][most_layers];   //!< of the step of elimination, in turn
    float pivot[2];                  //!< likewise
    float2 inverse[most_layers][square_pitch];
    float2 z[round_vectors][square_pitch]; //!< H^H y
    float gain[most_layers], noise[most_layers];
    float largest[most_threads / 32], zeros[most_threads / 32];
};

//! Where element e of a lower triangle lies: i (i + 1) / 2 + j = e.
CUDAPHY_LANE void find_pair(int e, int& i, int& j)
{
    // The root is exact where a row begins, and below the next integer before.
    i = (int(sqrtf(float(8 * e + 1))) - 1) / 2;
    j = e - pairs_of(i);
}

//! Scales H in the tile, and finds out how.
CUDAPHY_LANE matrix_scale scale_channel(
    method m, float n0, int nr, int columns, int pitch, float2* tile, gram_state& state)
{
    const int warps = int(blockDim.x) / 32;
    const int step = int(blockDim.x) / columns;
    const int column = int(threadIdx.x) % columns;
    const int first = int(threadIdx.x) / columns; // `step` and above: none
    real largest = 0;
    real zeros = 0;
    for (int r = first; r < nr && first < step; r += step) {
        const float2 value = tile[r * pitch + column];
        largest = larger(largest, larger(magnitude(value.x), magnitude(value.y)));
        zeros = fused(value.y, 0, fused(value.x, 0, zeros));
    }
    for (int apart = 16; apart; apart /= 2) {
        largest = larger(largest, __shfl_xor_sync(whole_warp, largest, apart));
        zeros += __shfl_xor_sync(whole_warp, zeros, apart);
    }
    if (threadIdx.x % 32 == 0) {
        state.largest[threadIdx.x / 32] = largest;
        state.zeros[threadIdx.x / 32] = zeros;
    }
    __syncthreads();
    for (int w = 0; w < warps; ++w) {
        largest = larger(largest, state.largest[w]);
        zeros += state.zeros[w];
    }
    const matrix_scale known = find_scale(m, n0, largest, zeros);
    for (int r = first; r < nr && first < step; r += step) {
        float2& value = tile[r * pitch + column];
        value = { value.x * known.scale, value.y * known.scale };
    }
    __syncthreads();
    return known;
}

//! Inverts G + N0 I by the steps of find_gram_inverse() (gram-inl.h), with the elements
//! spread over the block's threads. Returns the status.
//!
//! Step k reads its column c from shared memory, where c_k stands as -1. Then every
//! element is a_ij - (c_i / pivot) conj(c_j), with a_ij = 0 in row and column k: no
//! branches.
CUDAPHY_LANE real find_gram_inverse(int nt, method m, real n0, gram_state& state)
{
    complex_lane a[most_held];
    int row[most_held], column[most_held];
    bool on[most_held];
    CUDAPHY_UNROLL
    for (int n = 0; n < most_held; ++n) {
        const int e = int(threadIdx.x + n * blockDim.x);
        on[n] = e < pairs_of(nt);
        find_pair(on[n] ? e : 0, row[n], column[n]);
        a[n] = lane_of(state.g[on[n] ? e : 0]);
        if (m.mmse && row[n] == column[n]) {
            a[n].re += n0;
        }
    }
    real status = 0;
    for (int k = 0; k < nt; ++k) {
        float2* const shared = state.column[k % 2];
        CUDAPHY_UNROLL
        for (int n = 0; n < most_held; ++n) {
            const bool in_row = row[n] == k;
            const bool in_column = column[n] == k;
            const bool is_pivot = in_row && in_column;
            if (on[n] && (in_row || in_column)) {
                const real im = in_row ? 0 - a[n].im : a[n].im;
                shared[in_row ? column[n] : row[n]] = { is_pivot ? -1.0f : a[n].re,
                                                        is_pivot ? 0.0f : im };
            }
            if (on[n] && is_pivot) {
                state.pivot[k % 2] = a[n].re;
            }
        }
        __syncthreads();
        real pivot = state.pivot[k % 2];
        if (m.mmse) {
            pivot = larger(pivot, n0);
        } else if (!(pivot > gram_rank_tolerance * state.g[pairs_of(k + 1) - 1].x) &&
                   !(status > 0)) {
            status = real(k + 1);
        }
        const real by = 1.0f / pivot;
        CUDAPHY_UNROLL
        for (int n = 0; n < most_held; ++n) {
            const complex_lane i = lane_of(shared[row[n]]);
            const complex_lane j = lane_of(shared[column[n]]);
            const bool fresh = row[n] == k || column[n] == k;
            a[n] = less_product(scaled(i, by),
                                { j.re, 0 - j.im },
                                { fresh ? 0.0f : a[n].re, fresh ? 0.0f : a[n].im });
        }
    }
    CUDAPHY_UNROLL
    for (int n = 0; n < most_held; ++n) {
        if (on[n]) {
            const complex_lane value{ 0 - a[n].re, 0 - a[n].im };
            state.inverse[row[n]][column[n]] = { value.re, value.im };
            if (row[n] != column[n]) {
                state.inverse[column[n]][row[n]] = { value.re, 0 - value.im };
            }
        }
    }
    __syncthreads();
    return status;
}

CUDAPHY_LANE complex_lane gram_at(const gram_state& state, int i, int j)
{
    return lane_of(state.g[j < i ? pairs_of(i) + j : pairs_of(j) + i]);
}

//! Gain and noise of the thread's layer by max ratio, as find_ratio_gains(). Returns the
//! status.
CUDAPHY_LANE real find_ratio_gain(int nt, method m, matrix_scale known, gram_state& state)
{
    const int i = threadIdx.x;
    int absent = most_layers + 1;
    if (i < nt) {
        const real length = gram_at(state, i, i).re;
        real interference = 0;
        for (int j = 0; j < nt; ++j) {
            if (j != i) {
                interference = add_norm(gram_at(state, i, j), interference);
            }
        }
        const bool kept = length > float_min;
        absent = kept ? absent : i + 1;
        const real by = 1.0f / length;
        const real noise =
            fused(known.noise_amplitude * known.noise_amplitude, length, interference);
        const layer_gain layer = find_gain(m, known.usable && kept, noise * by * by, 0);
        state.gain[i] = layer.present ? by : 0;
        state.noise[i] = layer.noise;
    }
    for (int apart = 16; apart; apart /= 2) {
        absent = min(absent, __shfl_xor_sync(whole_warp, absent, apart));
    }
    return absent > most_layers ? 0.0f : real(absent); // thread 0's is right
}

//! Gains and noise, as find_gains(). Returns the status, to thread 0 at least.
CUDAPHY_LANE real find_gains(int nt, method m, matrix_scale known, gram_state& state)
{
    real status = 0;
    if (m.ratio) {
        status = find_ratio_gain(nt, m, known, state);
    } else {
        real n0 = known.noise_amplitude * known.noise_amplitude;
        if (m.mmse) {
            real most = 0;
            for (int i = 0; i < nt; ++i) {
                most = larger(most, gram_at(state, i, i).re);
            }
            n0 = larger(n0, gram_least_noise * most);
        }
        status = find_gram_inverse(nt, m, n0, state);
        const int i = threadIdx.x;
        if (i < nt) {
            real b = 0;
            _Pragma("unroll 4") for (int j = 0; j < nt && m.mmse; ++j)
            {
                // The lower triangle's elements, of which this sum takes no sign.
                const complex_lane v = lane_of(state.inverse[max(i, j)][min(i, j)]);
                const complex_lane g = gram_at(state, i, j);
                b = fused(v.im, g.im, fused(v.re, g.re, b));
            }
            const layer_gain layer =
                find_gain(m, known.usable && status == 0, state.inverse[i][i].x * n0, b);
            state.gain[i] = layer.gain;
            state.noise[i] = layer.noise;
        }
    }
    __syncthreads();
    return known.usable ? status : -1.0f;
}

} // namespace
} // namespace gr::cudaphy::kernels
