/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/steps.cuh"

// A thread inverts a Hermitian positive definite matrix in half the operations, because
// it works on the lower triangle alone. The triangles of a warp's matrices lie in shared
// memory. A matrix has two parts, so that the triangle of one fits into registers:
//
//     A = [ A11  .   ]   A11 = L D L^H,  V = A21 L^-H,  S = A22 - V D^-1 V^H,  C = S^-1
//         [ A21  A22 ]   W = V D^-1 L^-1,  B = L^-H D^-1 L^-1
//
//     A^-1 = [ B + W^H C W  .  ; -C W  C ]
//
// Each result takes the place of what is no longer needed. The pivots are those of
// elimination, D and then those of S. C comes from sweeps: step k of Gauss-Jordan, where
// column k above the diagonal is minus the adjoint of row k.

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
__device__ inline T conjugate_of(T a)
{
    if constexpr (is_complex<T>) {
        return T{ a.x, -a.y };
    } else {
        return a;
    }
}

//! a + c t
template <typename T>
__device__ inline T add_product(T a, T c, T t)
{
    if constexpr (is_complex<T>) {
        return T{ fused(-c.y, t.y, fused(c.x, t.x, a.x)),
                  fused(c.y, t.x, fused(c.x, t.y, a.y)) };
    } else {
        return fused(c, t, a);
    }
}

template <typename T>
__device__ inline T sum_of(T a, T b)
{
    if constexpr (is_complex<T>) {
        return T{ a.x + b.x, a.y + b.y };
    } else {
        return a + b;
    }
}

template <typename T>
__device__ inline T times_real(T a, real_of<T> factor)
{
    if constexpr (is_complex<T>) {
        return T{ a.x * factor, a.y * factor };
    } else {
        return a * factor;
    }
}

//! The lower triangle of a matrix of order M in registers, row by row.
template <typename T, int M>
struct triangle {
    T e[M * (M + 1) / 2];

    __device__ __forceinline__ T& at(int i, int j) { return e[i * (i + 1) / 2 + j]; }
    //! Element (i, j) of the Hermitian matrix.
    __device__ __forceinline__ T of(int i, int j) const
    {
        return i >= j ? e[i * (i + 1) / 2 + j] : conjugate_of(e[j * (j + 1) / 2 + i]);
    }

    //! The reciprocal of pivot `step` (from 0) of the whole matrix, which is element (k,
    //! k).
    __device__ __forceinline__ real_of<T> divisor(int k, int step, elimination<T>& so_far)
    {
        const auto p = real_part(usable_pivot(pivoting::none, at(k, k), step, so_far));
        so_far.determinant = times_real(so_far.determinant, p);
        return reciprocal(p);
    }

    //! Becomes L, below the diagonal, of L D L^H. `r` becomes D^-1.
    __device__ __forceinline__ void factor(real_of<T> (&r)[M], elimination<T>& so_far)
    {
#pragma unroll
        for (int k = 0; k < M; ++k) {
            r[k] = divisor(k, k, so_far);
#pragma unroll
            for (int j = k + 1; j < M; ++j) {
                const T u = conjugate_of(times_real(at(j, k), r[k]));
#pragma unroll
                for (int i = j; i < M; ++i) {
                    at(i, j) = subtract_product(at(i, j), at(i, k), u);
                }
            }
#pragma unroll
            for (int i = k + 1; i < M; ++i) {
                at(i, k) = times_real(at(i, k), r[k]);
            }
        }
    }

    //! L becomes L^-1, with ones on the diagonal that are not stored.
    __device__ __forceinline__ void invert_unit_lower()
    {
#pragma unroll
        for (int i = 1; i < M; ++i) {
#pragma unroll
            for (int j = 0; j < i; ++j) {
                T sum = at(i, j);
#pragma unroll
                for (int k = j + 1; k < i; ++k) {
                    sum = add_product(sum, at(i, k), at(k, j));
                }
                at(i, j) = negate(sum);
            }
        }
    }

    //! L becomes L^H R L, with the diagonal R.
    __device__ __forceinline__ void multiply_by_adjoint(const real_of<T> (&r)[M])
    {
#pragma unroll
        for (int i = 0; i < M; ++i) {
#pragma unroll
            for (int j = 0; j < i; ++j) {
                at(i, j) = times_real(at(i, j), r[i]);
            }
            at(i, i) = make_element<T>(r[i]);
#pragma unroll
            for (int k = i + 1; k < M; ++k) {
                const T scaled = conjugate_of(times_real(at(k, i), r[k]));
#pragma unroll
                for (int j = 0; j <= i; ++j) {
                    at(i, j) = add_product(at(i, j), scaled, at(k, j));
                }
            }
        }
    }

    //! Becomes the inverse. The first step is `step` of the whole matrix.
    __device__ __forceinline__ void invert(int step, elimination<T>& so_far)
    {
#pragma unroll
        for (int k = 0; k < M; ++k) {
            const auto r = divisor(k, step + k, so_far);
            T v[M];
#pragma unroll
            for (int i = 0; i < M; ++i) {
                v[i] = times_real(i < k ? at(k, i) : at(i, k), r);
            }
#pragma unroll
            for (int i = 0; i < M; ++i) {
                if (i == k) {
                    continue;
                }
                const T u = i < k ? at(k, i) : at(i, k);
#pragma unroll
                for (int j = 0; j <= i; ++j) {
                    if (j == k) {
                        continue;
                    }
                    if (i < k) {
                        at(i, j) = add_product(at(i, j), conjugate_of(u), v[j]);
                    } else {
                        at(i, j) = subtract_product(
                            at(i, j), u, j < k ? v[j] : conjugate_of(v[j]));
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < M; ++i) {
                if (i < k) {
                    at(k, i) = v[i];
                } else if (i > k) {
                    at(i, k) = negate(v[i]);
                }
            }
            at(k, k) = make_element<T>(r);
        }
    }
};

//! The triangles of a warp's matrices in shared memory.
template <typename T, int N>
struct definite_tile {
    static constexpr int first = (N + 1) / 2; //!< order of the first part
    static constexpr int second = N - first;
    static constexpr int elements = N * (N + 1) / 2;
    static constexpr int apart = elements | 1; //!< so that lanes use all banks
    static constexpr int bytes = (32 * apart * int(sizeof(T)) + 15) / 16 * 16 + 32 * 4;

    //! Elements of a row that one access to device memory moves.
    static constexpr int most = 16 / sizeof(T);
    static constexpr int each = most >= 4 && N % 4 == 0   ? 4
                                : most >= 2 && N % 2 == 0 ? 2
                                                          : 1;
    static constexpr int pieces = N * N / each; //!< of a matrix
    static constexpr int pieces_a_lane = (pieces + 31) / 32;
    struct __align__(each * sizeof(T)) piece { T e[each]; };

    __device__ static int at(int i, int j) { return i * (i + 1) / 2 + j; }

    __device__ static piece get(const T* from, bool aligned)
    {
        if (aligned) {
            return *reinterpret_cast<const piece*>(from);
        }
        piece some;
#pragma unroll
        for (int q = 0; q < each; ++q) {
            some.e[q] = from[q];
        }
        return some;
    }
    __device__ static void put(T* to, const piece& some, bool aligned)
    {
        if (aligned) {
            *reinterpret_cast<piece*>(to) = some;
            return;
        }
#pragma unroll
        for (int q = 0; q < each; ++q) {
            to[q] = some.e[q];
        }
    }

    //! Reads `count` matrices, and notes in `lost` which are not finite.
    __device__ static void
    read(const T* from, bool aligned, T* tile, int* lost, int lane, int count)
    {
        lost[lane] = 0;
        __syncwarp();
        int to[pieces_a_lane];   // the place of a piece
        int kept[pieces_a_lane]; // the elements that are in the triangle
#pragma unroll
        for (int l = 0; l < pieces_a_lane; ++l) {
            const int e = (l * 32 + lane) * each;
            const int i = e / N;
            const int j = e % N;
            to[l] = at(i, j);
            kept[l] = e < N * N ? i - j + 1 : 0;
        }
        constexpr int under_way = definite_policy<T, N>::reads_under_way;
        constexpr int together =
            under_way > pieces_a_lane ? under_way / pieces_a_lane : 1;
#pragma unroll 1
        for (int item = 0; item < count; item += together) {
            piece held[together][pieces_a_lane];
#pragma unroll
            for (int m = 0; m < together; ++m) {
                const T* const matrix = from + (item + m) * (N * N);
#pragma unroll
                for (int l = 0; l < pieces_a_lane; ++l) {
                    if (item + m < count &&
                        (pieces % 32 == 0 || l * 32 + lane < pieces)) {
                        held[m][l] = get(matrix + (l * 32 + lane) * each, aligned);
                    } else {
                        held[m][l] = {};
                    }
                }
            }
#pragma unroll
            for (int m = 0; m < together; ++m) {
                if (item + m < count) {
                    real_of<T> finite = 0;
                    T* const own = tile + (item + m) * apart;
#pragma unroll
                    for (int l = 0; l < pieces_a_lane; ++l) {
#pragma unroll
                        for (int q = 0; q < each; ++q) {
                            nan_unless_finite(finite, held[m][l].e[q]);
                            if (q < kept[l]) {
                                own[to[l] + q] = held[m][l].e[q];
                            }
                        }
                    }
                    if (!(finite == 0)) {
                        lost[item + m] = 1;
                    }
                }
            }
        }
        __syncwarp();
    }

    __device__ static void write(const T* tile, T* to, bool aligned, int lane, int count)
    {
        __syncwarp();
        int place[pieces_a_lane][each];
        real_of<T> sign[pieces_a_lane][each];
#pragma unroll
        for (int l = 0; l < pieces_a_lane; ++l) {
#pragma unroll
            for (int q = 0; q < each; ++q) {
                const int e = (l * 32 + lane) * each + q;
                const int i = e / N;
                const int j = e % N;
                place[l][q] = e >= N * N ? 0 : i >= j ? at(i, j) : at(j, i);
                sign[l][q] = i >= j ? 1 : -1;
            }
        }
#pragma unroll 2
        for (int item = 0; item < count; ++item) {
            T* const matrix = to + item * (N * N);
            const T* const own = tile + item * apart;
#pragma unroll
            for (int l = 0; l < pieces_a_lane; ++l) {
                piece some;
#pragma unroll
                for (int q = 0; q < each; ++q) {
                    some.e[q] = own[place[l][q]];
                    if constexpr (is_complex<T>) {
                        // The sum makes the zeros of a failed matrix positive.
                        some.e[q].y = fused(some.e[q].y, sign[l][q], real_of<T>(0));
                    }
                }
                if (pieces % 32 == 0 || l * 32 + lane < pieces) {
                    put(matrix + (l * 32 + lane) * each, some, aligned);
                }
            }
        }
    }
};

//! Inverts a lane's triangle in shared memory. Returns 0, or NaN if X is not finite.
template <typename T, int N>
__device__ __forceinline__ real_of<T> invert_definite(T* own, elimination<T>& so_far)
{
    using tile = definite_tile<T, N>;
    constexpr int M = tile::first;
    constexpr int L = tile::second;
    real_of<T> finite = 0;
    T* const square = own + tile::at(M, 0); // A21, whose row i begins at i M + at(i, 0)
    const auto row = [](int i) { return i * M + tile::at(i, 0); };

    triangle<T, M> b;
    real_of<T> r[M];
#pragma unroll
    for (int e = 0; e < M * (M + 1) / 2; ++e) {
        b.e[e] = own[e];
    }
    b.factor(r, so_far);
#pragma unroll 1
    for (int i = 0; i < L; ++i) {
        T* const line = square + row(i);
        T v[M];
#pragma unroll
        for (int k = 0; k < M; ++k) {
            v[k] = line[k];
        }
#pragma unroll
        for (int k = 0; k < M; ++k) {
            line[k] = v[k];
#pragma unroll
            for (int j = k + 1; j < M; ++j) {
                v[j] = subtract_product(v[j], v[k], conjugate_of(b.at(j, k)));
            }
        }
#pragma unroll
        for (int k = 0; k < M; ++k) {
            v[k] = times_real(v[k], r[k]);
        }
#pragma unroll 2
        for (int j = 0; j <= i; ++j) {
            const T* const other = square + row(j);
            T one = line[M + j], two = make_element<T>(0);
#pragma unroll
            for (int k = 0; k < M; ++k) {
                auto& sum = k % 2 ? two : one;
                sum = subtract_product(sum, v[k], conjugate_of(other[k]));
            }
            line[M + j] = sum_of(one, two);
        }
    }
    b.invert_unit_lower();
#pragma unroll 1
    for (int i = 0; i < L; ++i) {
        T* const line = square + row(i);
        T w[M];
#pragma unroll
        for (int k = 0; k < M; ++k) {
            w[k] = times_real(line[k], r[k]);
        }
#pragma unroll
        for (int j = 0; j < M; ++j) {
#pragma unroll
            for (int k = j + 1; k < M; ++k) {
                w[j] = add_product(w[j], w[k], b.at(k, j));
            }
            line[j] = w[j];
        }
    }
    b.multiply_by_adjoint(r);
#pragma unroll
    for (int e = 0; e < M * (M + 1) / 2; ++e) {
        own[e] = b.e[e];
    }

    triangle<T, L> c;
#pragma unroll
    for (int i = 0; i < L; ++i) {
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            c.at(i, j) = square[row(i) + M + j];
        }
    }
    c.invert(M, so_far);
#pragma unroll
    for (int i = 0; i < L; ++i) {
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            nan_unless_finite(finite, c.at(i, j));
            square[row(i) + M + j] = c.at(i, j);
        }
    }
#pragma unroll 1
    for (int j = 0; j < M; ++j) {
        T w[L], y[L];
#pragma unroll
        for (int l = 0; l < L; ++l) {
            w[l] = square[row(l) + j];
        }
#pragma unroll
        for (int i = 0; i < L; ++i) {
            y[i] = multiply(c.of(i, 0), w[0]);
        }
#pragma unroll
        for (int l = 1; l < L; ++l) {
#pragma unroll
            for (int i = 0; i < L; ++i) {
                y[i] = add_product(y[i], c.of(i, l), w[l]);
            }
        }
#pragma unroll 2
        for (int i = j; i < M; ++i) {
            T one = own[tile::at(i, j)], two = make_element<T>(0);
#pragma unroll
            for (int l = 0; l < L; ++l) {
                auto& sum = l % 2 ? two : one;
                sum = add_product(sum, conjugate_of(square[row(l) + i]), y[l]);
            }
            one = sum_of(one, two);
            nan_unless_finite(finite, one);
            own[tile::at(i, j)] = one;
        }
#pragma unroll
        for (int l = 0; l < L; ++l) {
            nan_unless_finite(finite, y[l]);
            square[row(l) + j] = negate(y[l]);
        }
    }
    return finite;
}

template <typename T, int N>
__global__ void __launch_bounds__(32) inverse_definite_thread(const batch_of<T> batch)
{
    using tile_type = definite_tile<T, N>;
    extern __shared__ __align__(16) char dynamic_shared[];
    T* const tile = reinterpret_cast<T*>(dynamic_shared);
    int* const lost = reinterpret_cast<int*>(dynamic_shared + tile_type::bytes) - 32;
    const int lane = threadIdx.x;
    const size_t first = size_t(blockIdx.x) * 32;
    const int count = batch.size - first < 32 ? int(batch.size - first) : 32;
    tile_type::read(batch.a + first * (N * N), batch.aligned, tile, lost, lane, count);
    if constexpr (definite_policy<T, N>::fetches_ahead) {
        fetch_ahead(batch, first, 32, N * N);
    }
    elimination<T> so_far;
    if (lane < count) {
        T* const own = tile + lane * tile_type::apart;
        const auto finite = invert_definite<T, N>(own, so_far);
        if (lost[lane] || (!(finite == 0) && !so_far.zero)) {
            so_far.state = -1;
        }
        so_far.zero = so_far.zero || so_far.state == -1;
        if (so_far.zero) {
            for (int e = 0; e < tile_type::elements; ++e) {
                own[e] = make_element<T>(0);
            }
        }
        report(batch, first + lane, so_far);
    }
    tile_type::write(tile, batch.x + first * (N * N), batch.aligned, lane, count);
}

} // namespace
} // namespace gr::cudaphy::kernels
