/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/finish.cuh"

// L lanes of a warp a matrix, whole rows in registers: R rows a lane (16 x 16 complex, 8
// lanes: 2 rows, 64 registers). A row never moves: which lane and register holds the
// pivot's is known by its index, and a row goes where it belongs on its way out.
// - The pivot's row passes through shared memory to all lanes of its matrix, divided by
//   the pivot on the way.
// - Columns are registers, and registers can't be indexed at run time. The update writes
//   column j to register j - 1, so that each step finds its column, the pivot's, in
//   register 0, and what takes its place comes in last, with nothing to be set to 0.
//   Without full pivoting, that is, which would have to look for the column.

namespace gr::cudaphy::kernels {
namespace {

constexpr int rows_kernel_threads = 64;

//! How a matrix of order N is dealt out to L lanes.
template <typename T, int N, int L>
struct row_deal {
    static constexpr int matrices = 32 / L;      //!< of a warp
    static constexpr int rows = (N + L - 1) / L; //!< a lane
    //! Elements of a row that one access moves.
    static constexpr int together = 16 / sizeof(T);
    static_assert(together >= 1 && N % together == 0);
    static constexpr int groups = N / together; //!< of a row
    //! Rows in shared memory are an odd number of accesses apart, so that lanes that read
    //! theirs reach all banks.
    static constexpr int apart = (groups | 1) * together; //!< elements
    struct __align__(16) group { T e[together]; };

    //! What the lanes of one matrix tell each other.
    struct lines {
        group found[groups]; //!< the pivot's row as it was found
        group row[groups];   //!< and divided by the pivot, round by one
        int row_of[N];       //!< of step k
    };

    __device__ static int row(int slot, int lane) { return slot * L + lane; }
    __device__ static bool has(int slot, int lane)
    {
        return N % L == 0 || row(slot, lane) < N;
    }
};

//! `count` matrices to or from shared memory, 16 bytes a lane.
template <typename Deal, int N, typename T>
__device__ __forceinline__ void
read_rows(const T* from, T* tile, int lane, bool aligned, int count)
{
    constexpr int pieces = N * Deal::groups; // of a matrix
    if (aligned) {
        using group = typename Deal::group;
        const auto* pieces_from = reinterpret_cast<const group*>(from);
        constexpr int rounds = (Deal::matrices * pieces + 31) / 32;
        group held[rounds];
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            if (i * 32 + lane < count * pieces) {
                held[i] = pieces_from[i * 32 + lane];
            }
        }
#pragma unroll
        for (int i = 0; i < rounds; ++i) {
            const int piece = i * 32 + lane;
            if (piece < count * pieces) {
                *reinterpret_cast<group*>(tile + piece / Deal::groups * Deal::apart +
                                          piece % Deal::groups * Deal::together) =
                    held[i];
            }
        }
        return;
    }
#pragma unroll 1
    for (int e = lane; e < count * N * N; e += 32) {
        tile[e / N * Deal::apart + e % N] = from[e];
    }
}
template <typename Deal, int N, typename T>
__device__ __forceinline__ void
write_rows(const T* tile, T* to, int lane, bool aligned, int count)
{
    constexpr int pieces = N * Deal::groups;
    if (aligned) {
        using group = typename Deal::group;
        auto* pieces_to = reinterpret_cast<group*>(to);
#pragma unroll
        for (int i = 0; i < Deal::matrices * pieces; i += 32) {
            const int piece = i + lane;
            if (piece < count * pieces) {
                pieces_to[piece] = *reinterpret_cast<const group*>(
                    tile + piece / Deal::groups * Deal::apart +
                    piece % Deal::groups * Deal::together);
            }
        }
        return;
    }
#pragma unroll 1
    for (int e = lane; e < count * N * N; e += 32) {
        to[e] = tile[e / N * Deal::apart + e % N];
    }
}

template <typename T, int N, int L, pivoting Pivoting>
__global__ void __launch_bounds__(rows_kernel_threads)
    gauss_jordan_rows(const batch_of<T> batch)
{
    using layout = row_deal<T, N, L>;
    using group = typename layout::group;
    constexpr int R = layout::rows;
    constexpr int each = layout::together;
    constexpr int warps = rows_kernel_threads / 32;
    static_assert(Pivoting != pivoting::full);
    constexpr int index_mask = inverse_pivot::index_mask;
    __shared__ __align__(16) T shared_tile[warps][layout::matrices * N * layout::apart];
    __shared__ __align__(16) typename layout::lines shared_lines[warps][layout::matrices];

    const int warp = threadIdx.x / 32;
    const int thread = threadIdx.x % 32;
    const int matrix = thread / L;
    const int lane = thread % L;
    const size_t first =
        (size_t(blockIdx.x) * (blockDim.x / 32) + warp) * layout::matrices;
    if (first >= batch.size) {
        return;
    }
    const int count = int(min(batch.size - first, size_t(layout::matrices)));
    T* const tile = shared_tile[warp];
    auto& lines = *in_register(&shared_lines[warp][matrix]);
    T* const found = lines.found[0].e;

    read_rows<layout, N>(batch.a + first * (N * N), tile, thread, batch.aligned, count);
    __syncwarp();
    // Lanes beyond the batch repeat its last matrix.
    T* const own = tile + min(matrix, count - 1) * (N * layout::apart);
    T m[R][N];
    int id[R]; // bits that let a size through and 63 - row; 0 once the row is done
    int to[R]; // the row of X that this one becomes
    real_of<T> a_finite = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) {
        constexpr int through = inverse_pivot::limits<float>::sign_free & ~index_mask;
        id[r] = layout::has(r, lane) ? through | (index_mask - layout::row(r, lane)) : 0;
        to[r] = 0;
#pragma unroll
        for (int g = 0; g < layout::groups; ++g) {
            group some{};
            if (layout::has(r, lane)) {
                some = *reinterpret_cast<const group*>(
                    own + layout::row(r, lane) * layout::apart + g * each);
            }
#pragma unroll
            for (int e = 0; e < each; ++e) {
                m[r][g * each + e] = some.e[e];
                nan_unless_finite(a_finite, some.e[e]);
            }
        }
    }
    elimination<T> so_far;

#pragma unroll 1
    for (int k = 0; k < N; ++k) {
        int i = k;
        if constexpr (Pivoting != pivoting::none) {
            int size[R];
#pragma unroll
            for (int r = 0; r < R; ++r) {
                size[r] = bits_of(size_of(m[r][0]));
            }
            int best = 0;
#pragma unroll
            for (int r = 0; r < R; ++r) {
                const int key = (size[r] & id[r] & ~index_mask) | (id[r] & index_mask);
                best = max(best, key);
            }
            i = index_mask - (largest_of_lanes<L>(best) & index_mask);
        }
        bool has_row[R];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            has_row[r] = lane == i % L && r == i / L;
            if (has_row[r]) {
#pragma unroll
                for (int g = 0; g < layout::groups; ++g) {
                    group some;
#pragma unroll
                    for (int e = 0; e < each; ++e) {
                        some.e[e] = m[r][g * each + e];
                    }
                    lines.found[g] = some;
                }
            }
        }
        __syncwarp();

        T c[R];
#pragma unroll
        for (int r = 0; r < R; ++r) {
            c[r] = m[r][0];
        }
        const T p = usable_pivot(Pivoting, found[0], k, so_far);
        const T r_pivot = reciprocal(p);
        T* const row = lines.row[0].e;
#pragma unroll
        for (int j = 0; j < N; j += L) {
            const int at = j + lane;
            if (N % L == 0 || at < N) {
                const T t = multiply(found[at], r_pivot);
                row[at == 0 ? N - 1 : at - 1] = select(at == 0, r_pivot, t);
            }
        }
        if (lane == 0) {
            lines.row_of[k] = i;
        }
        __syncwarp();

#pragma unroll
        for (int r = 0; r < R; ++r) {
            id[r] = has_row[r] ? 0 : id[r];
            to[r] = has_row[r] ? k : to[r];
        }
#pragma unroll
        for (int g = 0; g < layout::groups; ++g) {
            const group t = lines.row[g];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                const int j = g * each + e;
#pragma unroll
                for (int r = 0; r < R; ++r) {
                    const T before = j + 1 < N ? m[r][j + 1] : make_element<T>(0);
                    m[r][j] = select(
                        has_row[r], t.e[e], subtract_product(before, c[r], t.e[e]));
                }
            }
        }
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from.
    real_of<T> x_finite = a_finite;
    if (matrix < count) {
#pragma unroll
        for (int r = 0; r < R; ++r) {
            if (layout::has(r, lane)) {
                T* const row_of_x = own + to[r] * layout::apart;
#pragma unroll
                for (int j = 0; j < N; ++j) {
                    nan_unless_finite(x_finite, m[r][j]);
                    row_of_x[lines.row_of[j]] = m[r][j];
                }
            }
        }
    }
    finish<L>(
        so_far, a_finite, x_finite, own, matrix < count ? N * layout::apart : 0, lane);
    write_rows<layout, N>(tile, batch.x + first * (N * N), thread, batch.aligned, count);
    if (lane == 0 && matrix < count) {
        report(batch, first + matrix, so_far, false);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
