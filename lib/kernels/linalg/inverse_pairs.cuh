/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse_thread.cuh"
#include <climits>

// Orders 5 to 8: four lanes of a warp a matrix, two columns a lane in registers. Against
// a column a lane, what every lane repeats (the pivot's reciprocal, the reduction, the
// pivot's column from shared memory) is spent on two columns. The order is known when
// compiling and the steps are unrolled, so that rows already done cost no search and no
// swap. As with a column a lane, a swap of columns swaps their numbers, and the swaps are
// undone by the place to which an element goes.
//
// 8 x 8 complex, a lane and step: 64 fused multiply-adds, 45 instructions of search, 28
// of row swap and some 170 for the rest; by 32 lanes and steps 10 thousand, against 7.8
// thousand that an H200 issues while its memory moves the 1 KB.

namespace gr::cudaphy::kernels {
namespace {

constexpr int pair_lanes = 4; //!< a matrix
constexpr int pair_kernel_threads = 128;

__device__ inline int largest_of_four(int value)
{
    value = max(value, __shfl_xor_sync(0xffffffff, value, 2));
    return max(value, __shfl_xor_sync(0xffffffff, value, 1));
}

//! A permutation of 8, four bits each, that all lanes of a matrix keep.
constexpr unsigned no_permutation = 0x76543210;

__device__ inline unsigned swap_nibbles(unsigned all, int k, int p)
{
    const unsigned difference = ((all >> (4 * k)) ^ (all >> (4 * p))) & 15u;
    return all ^ ((difference << (4 * k)) | (difference << (4 * p)));
}

__device__ inline int nibble(unsigned all, int k) { return int((all >> (4 * k)) & 15u); }

//! A matrix's lane: columns 2 lane and 2 lane + 1.
template <typename T, int N>
struct column_pair {
    T v[2][N];
    int number[2]; //!< of the columns, after the swaps so far; N and more: none
    unsigned rows; //!< what row of A is where
    int state;
    float s;
};

//! Bits of the largest modulus in the columns that are looked at; of equal ones the
//! first. `place` is that of a column's, `best` over the matrix.
template <int K, bool Scaled, typename T, int N>
__device__ __forceinline__ int
search_pair(const column_pair<T, N>& m, bool partial, int (&bits)[2], int (&place)[2])
{
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        float best = -1.0f;
        int row = K;
#pragma unroll
        for (int i = K; i < N; ++i) {
            const float candidate = modulus<Scaled>(m.v[c][i], m.s);
            const bool larger = candidate > best;
            best = larger ? candidate : best;
            row = larger ? i : row;
        }
        const int number = m.number[c];
        const bool active = partial ? number == K : number >= K && number < N;
        bits[c] = active ? __float_as_int(best) : INT_MIN;
        place[c] = row << column_bits | number;
    }
    return largest_of_four(max(bits[0], bits[1]));
}

template <int K, typename T, int N>
__device__ __forceinline__ void
eliminate_pairs_from(column_pair<T, N>& m, T* columns, int columns_apart, bool partial)
{
    if constexpr (K < N) {
        int bits[2], place[2];
        int best = search_pair<K, false>(m, partial, bits, place);
        const float smallest = is_complex<T> ? too_small : too_small_real;
        const bool scaled = is_complex<T> && m.s != 1.0f;
        const bool doubtful = m.state == 0 && (scaled || __int_as_float(best) < smallest);
        if (__any_sync(0xffffffff, doubtful)) {
            // First with the s that is in force, then, if need be, with a new one.
#pragma unroll 1
            for (bool again = false;; again = true) {
                const bool small = m.state == 0 && __int_as_float(best) < smallest;
                if (again) {
                    if (!__any_sync(0xffffffff, small)) {
                        break;
                    }
                    largest_of_elements largest;
#pragma unroll
                    for (int c = 0; c < 2; ++c) {
                        const int number = m.number[c];
                        if (partial ? number == K : number >= K && number < N) {
#pragma unroll
                            for (int i = K; i < N; ++i) {
                                largest.consider(m.v[c][i]);
                            }
                        }
                    }
                    const int all = largest_of_four(largest.bits());
                    if (small) {
                        m.state = all > largest_finite_bits ? -1 : all == 0 ? K + 1 : 0;
                        m.s = scale_for(all);
                    }
                }
                best = search_pair<K, true>(m, partial, bits, place);
                if (again) {
                    break;
                }
            }
        }
        if (m.state == 0 && best > largest_finite_bits) {
            m.state = -1;
        }

        const int first = min(bits[0] == best ? place[0] : INT_MAX,
                              bits[1] == best ? place[1] : INT_MAX);
        const int found = ~largest_of_four(~first);
        const int pivot_row = found >> column_bits;
        const int pivot_column = found & column_mask;

        m.rows = swap_nibbles(m.rows, K, pivot_row);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const int number = m.number[c];
            m.number[c] = number == pivot_column ? K
                          : number == K          ? pivot_column
                                                 : number;
#pragma unroll
            for (int i = K + 1; i < N; ++i) {
                swap_if(pivot_row == i, m.v[c][K], m.v[c][i]);
            }
        }

        T* const shared = columns + (K & 1) * columns_apart;
        // The pivot's column starts again from 0: its update is -a(i,k) / p.
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            if (m.number[c] == K) {
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    shared[i] = m.v[c][i];
                    if (i != K) {
                        m.v[c][i] = make_element(0.0f, T());
                    }
                }
            }
        }
        __syncwarp();
        const T r = reciprocal(shared[K]);
        const T t0 = select(m.number[0] == K, r, multiply(m.v[0][K], r));
        const T t1 = select(m.number[1] == K, r, multiply(m.v[1][K], r));
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i != K) {
                const T c = shared[i];
                m.v[0][i] = subtract_product(m.v[0][i], c, t0);
                m.v[1][i] = subtract_product(m.v[1][i], c, t1);
            }
        }
        m.v[0][K] = t0;
        m.v[1][K] = t1;
        eliminate_pairs_from<K + 1>(m, columns, columns_apart, partial);
    }
}

//! `aligned`: a and x are at 16-byte addresses.
template <typename T, int N>
__global__ void __launch_bounds__(pair_kernel_threads) gauss_jordan_pairs(
    const T* a, T* x, int* status, size_t batch, bool partial, bool aligned)
{
    constexpr int parts = sizeof(T) / sizeof(float);
    constexpr int groups = 32 / pair_lanes; // matrices a warp
    constexpr int words = parts * N * N * groups;
    // Apart by 16 bytes more than a column of 8, so that the groups' columns begin in
    // different banks.
    constexpr int apart = 8 + 4 / parts;
    __shared__ __align__(16) float shared_tile[pair_kernel_threads / 32][words];
    __shared__ __align__(16) T shared_column[pair_kernel_threads / 32][2][groups][apart];

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % pair_lanes;
    const int group = threadIdx.x % 32 / pair_lanes;
    const size_t item = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) / pair_lanes;
    const size_t first = item - group;
    if (first >= batch) {
        return;
    }
    const bool mine = item < batch;

    // Groups beyond the batch go along with the unit matrix.
    column_pair<T, N> m;
    largest_of_elements own;
    const T* const from = a + item * (N * N);
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            m.v[c][i] = make_element(i == 2 * lane + c ? 1.0f : 0.0f, T());
        }
    }
    if (mine && N == 8 && aligned) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float pair[2 * parts];
            if constexpr (parts == 2) {
                const float4 two = reinterpret_cast<const float4*>(from + i * N)[lane];
                pair[0] = two.x;
                pair[1] = two.y;
                pair[2] = two.z;
                pair[3] = two.w;
            } else {
                const float2 two = reinterpret_cast<const float2*>(from + i * N)[lane];
                pair[0] = two.x;
                pair[1] = two.y;
            }
            m.v[0][i] = element_from(pair, 0, T());
            m.v[1][i] = element_from(pair, 1, T());
        }
    } else if (mine) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            if (2 * lane + c < N) {
#pragma unroll
                for (int i = 0; i < N; ++i) {
                    m.v[c][i] = from[i * N + 2 * lane + c];
                }
            }
        }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        m.number[c] = 2 * lane + c;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            own.consider(m.v[c][i]);
        }
    }
    const int largest = largest_of_four(own.bits());
    m.rows = no_permutation;
    m.state = largest > largest_finite_bits ? -1 : 0;
    m.s = scale_for(largest);
    eliminate_pairs_from<0>(
        m, &shared_column[warp][0][group][0], groups * apart, partial);

    // Columns beyond N hold nothing that counts.
    largest_of_elements result;
    unsigned origin = 0; // what column of A is where
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        if (2 * lane + c < N) {
            origin |= unsigned(2 * lane + c) << (4 * m.number[c]);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                result.consider(m.v[c][i]);
            }
        }
    }
    const int largest_result = largest_of_four(result.bits());
    if (m.state == 0 && largest_result > largest_finite_bits) {
        m.state = -1;
    }
    origin |= __shfl_xor_sync(0xffffffff, origin, 2);
    origin |= __shfl_xor_sync(0xffffffff, origin, 1);

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from.
    T* const tile = reinterpret_cast<T*>(shared_tile[warp]);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        if (2 * lane + c < N) {
            T* const to = tile + group * (N * N) + nibble(m.rows, m.number[c]);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                to[nibble(origin, i) * N] = m.v[c][i];
            }
            if (m.state != 0) {
                for (int i = 0; i < N; ++i) {
                    to[i * N] = make_element(0.0f, T());
                }
            }
        }
    }
    __syncwarp();
    const size_t left = batch - first;
    const int count = left < groups ? int(left) * (N * N) * parts : words;
    float* const out = reinterpret_cast<float*>(x + first * (N * N));
    const float* const in = shared_tile[warp];
    if (aligned && count == words) {
        // A warp's matrices are a multiple of 16 bytes, since they are eight.
#pragma unroll
        for (int piece = threadIdx.x % 32; piece < words / 4; piece += 32) {
            reinterpret_cast<float4*>(out)[piece] =
                reinterpret_cast<const float4*>(in)[piece];
        }
    } else {
#pragma unroll 1
        for (int word = threadIdx.x % 32; word < count; word += 32) {
            out[word] = in[word];
        }
    }
    if (mine && lane == 0) {
        status[item] = m.state;
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
