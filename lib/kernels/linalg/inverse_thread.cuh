/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse_element.cuh"

// One thread a matrix, up to order 4: the matrix is in registers (4 x 4 complex: 32), and
// all loops are unrolled, so that swaps are selects and nothing is exchanged. A warp's 32
// matrices are one piece of memory; it goes through shared memory, 16 bytes a lane and
// whole lines at a time, because a thread's own matrix is 32 sectors a load.
//
// 4 x 4 complex: 256 fused multiply-adds, 384 selects to swap and to swap back, some 150
// instructions of search, 1300 in all, against 1950 that an H200 issues while its memory
// moves the 256 bytes.

namespace gr::cudaphy::kernels {
namespace {

struct thread_pivot {
    float modulus = -1.0f;
    int row = 0;
    int column = 0;
};

template <int K, bool Partial, bool Scaled, typename T, int N>
__device__ __forceinline__ thread_pivot search_matrix(const T (&m)[N][N], float s)
{
    thread_pivot found;
    found.row = found.column = K;
#pragma unroll
    for (int i = K; i < N; ++i) {
#pragma unroll
        for (int j = K; j < (Partial ? K + 1 : N); ++j) {
            const float candidate = modulus<Scaled>(m[i][j], s);
            const bool larger = candidate > found.modulus;
            found.modulus = larger ? candidate : found.modulus;
            found.row = larger ? i : found.row;
            found.column = larger ? j : found.column;
        }
    }
    return found;
}

//! Of rows `first` .. N - 1 and columns `first` .. `end` - 1.
template <typename T, int N>
__device__ __forceinline__ int largest_of_matrix(const T (&m)[N][N], int first, int end)
{
    largest_of_elements largest;
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (i >= first && j >= first && j < end) {
                largest.consider(m[i][j]);
            }
        }
    }
    return largest.bits();
}

template <typename T>
__device__ __forceinline__ void swap_if(bool which, T& one, T& other)
{
    const T first = one;
    one = select(which, other, first);
    other = select(which, first, other);
}

//! Swaps rows K and p, where p >= K.
template <int K, typename T, int N>
__device__ __forceinline__ void swap_rows(T (&m)[N][N], int p)
{
#pragma unroll
    for (int i = K + 1; i < N; ++i) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            swap_if(p == i, m[K][j], m[i][j]);
        }
    }
}

template <int K, typename T, int N>
__device__ __forceinline__ void swap_columns(T (&m)[N][N], int p)
{
#pragma unroll
    for (int j = K + 1; j < N; ++j) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            swap_if(p == j, m[i][K], m[i][j]);
        }
    }
}

//! Steps K .. N - 1 and, on the way back, the undoing of their swaps.
template <int K, bool Partial, typename T, int N>
__device__ __forceinline__ void eliminate_from(T (&m)[N][N], int& state, float& s)
{
    if constexpr (K < N) {
        auto found = search_matrix<K, Partial, false>(m, s);
        const float smallest = is_complex<T> ? too_small : too_small_real;
        const bool scaled = is_complex<T> && s != 1.0f;
        if (state == 0 && (scaled || found.modulus < smallest)) {
            // First with the s that is in force, then, if need be, with a new one.
#pragma unroll 1
            for (bool again = false;; again = true) {
                if (again) {
                    const int largest = largest_of_matrix(m, K, Partial ? K + 1 : N);
                    state = largest > largest_finite_bits ? -1 : largest == 0 ? K + 1 : 0;
                    s = scale_for(largest);
                }
                found = search_matrix<K, Partial, true>(m, s);
                if (again || !(found.modulus < smallest)) {
                    break;
                }
            }
        }
        if (state == 0 && __float_as_int(found.modulus) > largest_finite_bits) {
            state = -1;
        }

        swap_rows<K>(m, found.row);
        if constexpr (!Partial) {
            swap_columns<K>(m, found.column);
        }
        const T r = reciprocal(m[K][K]);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            m[K][j] = j == K ? r : multiply(m[K][j], r);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i != K) {
                const T c = m[i][K];
                m[i][K] = make_element(0.0f, T());
#pragma unroll
                for (int j = 0; j < N; ++j) {
                    m[i][j] = subtract_product(m[i][j], c, m[K][j]);
                }
            }
        }
        eliminate_from<K + 1, Partial>(m, state, s);

        if constexpr (!Partial) {
            swap_rows<K>(m, found.column);
        }
        swap_columns<K>(m, found.row);
    }
}

//! A warp's matrices of `Words` floats in shared memory, as they are in device memory,
//! but the 16-byte pieces of a row of banks are exchanged so that both a matrix a thread
//! and a piece a thread reach all banks. Where a matrix is not made of whole pieces, its
//! odd number of words or pairs does that.
template <int Words>
struct warp_tile {
    static constexpr int lanes = 32;
    static constexpr int words = lanes * Words;
    static constexpr int pieces = words / 4;
    static constexpr int rounds = (pieces + lanes - 1) / lanes;

    __device__ static int place(int piece)
    {
        return Words % 4 ? piece : piece ^ ((piece >> 3) & (Words / 4 - 1));
    }
    __device__ static int place_of_word(int word)
    {
        return place(word / 4) * 4 + word % 4;
    }

    //! All of the tile if `whole`, which must be 16-byte aligned, else `count` words.
    __device__ static void
    read(const float* from, float* tile, int lane, bool whole, int count)
    {
        if (whole) {
            float4 held[rounds];
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    held[i] = reinterpret_cast<const float4*>(from)[piece];
                }
            }
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    reinterpret_cast<float4*>(tile)[place(piece)] = held[i];
                }
            }
            return;
        }
#pragma unroll 1
        for (int word = lane; word < count; word += lanes) {
            tile[place_of_word(word)] = from[word];
        }
    }

    __device__ static void
    write(const float* tile, float* to, int lane, bool whole, int count)
    {
        if (whole) {
#pragma unroll
            for (int i = 0; i < rounds; ++i) {
                const int piece = i * lanes + lane;
                if (pieces % lanes == 0 || piece < pieces) {
                    reinterpret_cast<float4*>(to)[piece] =
                        reinterpret_cast<const float4*>(tile)[place(piece)];
                }
            }
            return;
        }
#pragma unroll 1
        for (int word = lane; word < count; word += lanes) {
            to[word] = tile[place_of_word(word)];
        }
    }

    //! A lane's own matrix from or to `held`.
    template <bool Store>
    __device__ static void exchange(float* tile, float (&held)[Words], int lane)
    {
        constexpr int width = Words % 4 == 0 ? 4 : Words % 2 == 0 ? 2 : 1;
#pragma unroll
        for (int w = 0; w < Words; w += width) {
            float* const at = tile + place_of_word(lane * Words + w);
            if constexpr (width == 4) {
                auto& piece = *reinterpret_cast<float4*>(at);
                if constexpr (Store) {
                    piece = make_float4(held[w], held[w + 1], held[w + 2], held[w + 3]);
                } else {
                    const float4 value = piece;
                    held[w] = value.x;
                    held[w + 1] = value.y;
                    held[w + 2] = value.z;
                    held[w + 3] = value.w;
                }
            } else if constexpr (width == 2) {
                auto& pair = *reinterpret_cast<float2*>(at);
                if constexpr (Store) {
                    pair = make_float2(held[w], held[w + 1]);
                } else {
                    const float2 value = pair;
                    held[w] = value.x;
                    held[w + 1] = value.y;
                }
            } else if constexpr (Store) {
                *at = held[w];
            } else {
                held[w] = *at;
            }
        }
    }
};

__device__ inline float element_from(const float* words, int e, float)
{
    return words[e];
}
__device__ inline float2 element_from(const float* words, int e, float2)
{
    return make_float2(words[2 * e], words[2 * e + 1]);
}
__device__ inline void element_to(float a, float* words, int e) { words[e] = a; }
__device__ inline void element_to(float2 a, float* words, int e)
{
    words[2 * e] = a.x;
    words[2 * e + 1] = a.y;
}

constexpr int thread_kernel_threads = 128;

//! `aligned`: a and x are at 16-byte addresses.
template <typename T, int N, bool Partial>
__global__ void __launch_bounds__(thread_kernel_threads)
    gauss_jordan_thread(const T* a, T* x, int* status, size_t batch, bool aligned)
{
    constexpr int parts = sizeof(T) / sizeof(float);
    constexpr int words = parts * N * N;
    using tile_type = warp_tile<words>;
    __shared__ __align__(16) float shared[thread_kernel_threads / 32][tile_type::words];

    const int lane = threadIdx.x % 32;
    float* const tile = shared[threadIdx.x / 32];
    const size_t item = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t first = item - lane;
    if (first >= batch) {
        return;
    }
    const bool full = batch - first >= 32;
    const bool whole = full && aligned;
    const int count = full ? tile_type::words : int(batch - first) * words;
    tile_type::read(
        reinterpret_cast<const float*>(a + first * (N * N)), tile, lane, whole, count);
    __syncwarp();

    // Lanes beyond the batch invert what lies in shared memory; nobody looks.
    float held[words];
    tile_type::template exchange<false>(tile, held, lane);
    T m[N][N];
#pragma unroll
    for (int e = 0; e < N * N; ++e) {
        m[e / N][e % N] = element_from(held, e, T());
    }
    const int largest = largest_of_matrix(m, 0, N);
    int state = largest > largest_finite_bits ? -1 : 0;
    float s = scale_for(largest);
    eliminate_from<0, Partial>(m, state, s);
    if (state == 0 && largest_of_matrix(m, 0, N) > largest_finite_bits) {
        state = -1;
    }
#pragma unroll
    for (int e = 0; e < N * N; ++e) {
        element_to(m[e / N][e % N], held, e);
    }
    tile_type::template exchange<true>(tile, held, lane);
    if (state != 0) {
        for (int w = 0; w < words; ++w) {
            tile[tile_type::place_of_word(lane * words + w)] = 0.0f;
        }
    }
    __syncwarp();
    tile_type::write(
        tile, reinterpret_cast<float*>(x + first * (N * N)), lane, whole, count);
    if (item < batch) {
        status[item] = state;
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
