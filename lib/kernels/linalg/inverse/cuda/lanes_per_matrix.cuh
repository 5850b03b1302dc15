/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/finish.cuh"
#include "kernels/linalg/inverse/cuda/steps.cuh"
#include "kernels/linalg/inverse/cuda/warp/warp_tile.cuh"
#include <limits>

// L lanes of a warp invert a matrix. A lane has C columns with all rows, in registers
// (16 x 16 complex, 4 lanes: 128 registers). Registers can't be indexed at run time,
// hence:
// - Rows are registers. Selects swap the pivot's row to register 0. The update writes row
// i
//   to register i - 1, so that each step finds its rows from register 0 on, and the loop
//   over steps needs no unrolling.
// - Columns stay where they are, and a flag says which are done. The lane with the
// pivot's
//   column stores the column in shared memory for the others and sets its own copy to 0,
//   so that its update is -c r.
// - Writing X undoes the swaps: an element goes to its final place in shared memory.
//
// With fewer lanes a matrix, less is done twice (reciprocal, reductions, loop). With more
// lanes, the chain of operations of a matrix is shorter, and a small batch waits for
// that.

namespace gr::cudaphy::kernels {
namespace {

//! Which elements of a matrix of order N each of L lanes holds.
template <typename T, int N, int L>
struct lane_layout {
    static constexpr int matrices = 32 / L; //!< of a warp
    static constexpr int most = 16 / sizeof(T);
    //! Neighbouring columns in one lane that one access moves.
    static constexpr int side = most >= 4 && N % 4 == 0 && N / L >= 4   ? 4
                                : most >= 2 && N % 2 == 0 && N / L >= 2 ? 2
                                                                        : 1;
    static constexpr int columns = (N + L * side - 1) / (L * side) * side; //!< a lane
    //! Columns in shared memory are 16-byte pieces. Their distance is no multiple of 64
    //! bytes, because matrices at 128 bytes' distance would all use the same banks.
    static constexpr int pieces = (N * sizeof(T) + 15) / 16;
    static constexpr int rows_in_column =
        (pieces % 4 == 0 ? pieces + 1 : pieces) * 16 / sizeof(T);

    __device__ static int column(int c, int lane)
    {
        return c / side * (side * L) + lane * side + c % side;
    }
    struct __align__(side * sizeof(T)) group { T e[side]; };
};

//! Combined with this, the number of a row or column that is done is below every key.
constexpr int is_done = std::numeric_limits<int>::min();

//! The bits that order sizes, as unsigned numbers: the hardware's NaN of double has a
//! sign even after fabs.
__device__ inline unsigned high_word(float a) { return __float_as_uint(a); }
__device__ inline unsigned high_word(double a) { return __double2hiint(a); }

template <typename T, int N, pivoting pivot>
__global__ void __launch_bounds__(lanes_policy<T, N, pivot>::threads,
                                  lanes_policy<T, N, pivot>::least_blocks)
    inverse_lanes_per_matrix(const batch_of<T> batch)
{
    using policy = lanes_policy<T, N, pivot>;
    constexpr int L = policy::lanes;
    using layout = lane_layout<T, N, L>;
    using tile_type = warp_tile<T, N, layout::matrices>;
    using group = typename layout::group;
    constexpr int C = layout::columns;
    constexpr bool full = pivot == pivoting::full;
    constexpr int warps = policy::threads / 32;
    __shared__ __align__(16) char shared[warps][tile_type::size];
    __shared__ __align__(16)
        T shared_column[warps][layout::matrices][layout::rows_in_column];
    __shared__ signed char shared_order[warps][layout::matrices][N];

    const int warp = threadIdx.x / 32;
    const int matrix = threadIdx.x % 32 / L;
    const int lane = threadIdx.x % L;
    const size_t first =
        (size_t(blockIdx.x) * (blockDim.x / 32) + warp) * layout::matrices;
    if (first >= batch.size) {
        return;
    }
    const int count = int(min(batch.size - first, size_t(layout::matrices)));
    T* const pivot_column = in_register(shared_column[warp][matrix] + 0);
    signed char* const order = in_register(shared_order[warp][matrix] + 0);

    // Lanes beyond the batch repeat its last matrix.
    T m[N][C];
    int column[C]; // 63 - index, or -1 where there is none
    {
        const T* const from = batch.a + (first + min(matrix, count - 1)) * (N * N);
#pragma unroll
        for (int c = 0; c < C; c += layout::side) {
            const int j = layout::column(c, lane);
#pragma unroll
            for (int s = 0; s < layout::side; ++s) {
                column[c + s] = j + s < N ? inverse_pivot::index_mask - j - s : -1;
            }
#pragma unroll
            for (int i = 0; i < N; ++i) {
                group some;
                if (j >= N) {
#pragma unroll
                    for (int s = 0; s < layout::side; ++s) {
                        some.e[s] = make_element<T>(0);
                    }
                } else if (batch.aligned) {
                    some = *reinterpret_cast<const group*>(from + i * N + j);
                } else {
#pragma unroll
                    for (int s = 0; s < layout::side; ++s) {
                        some.e[s] = from[i * N + j + s];
                    }
                }
#pragma unroll
                for (int s = 0; s < layout::side; ++s) {
                    m[i][c + s] = some.e[s];
                }
            }
        }
    }
    if constexpr (policy::fetches_ahead) {
        fetch_ahead(batch, first, layout::matrices, N * N);
    }
    int row[N];
    unsigned left[C]; // mask of a size's bits in a key: 0 once the column is done
    int to[C];        // the column of X that this one becomes
    real_of<T> a_finite = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        row[i] = inverse_pivot::index_mask - i;
        if constexpr (!full) {
#pragma unroll
            for (int c = 0; c < C; ++c) {
                nan_unless_finite(a_finite, m[i][c]);
            }
        }
    }
    constexpr unsigned all_bits =
        inverse_pivot::limits<float>::sign_free & ~inverse_pivot::index_mask;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        left[c] = column[c] >= 0 ? all_bits : 0;
        to[c] = 0;
    }
    elimination<T> so_far;
    // A pivot whose key reaches this bound needs no check.
    int bound = above_all_keys;
    const auto opaque_zero = opaque(real_of<T>(0));
    const auto opaque_minus_zero = opaque(real_of<T>(-0.0));

#pragma unroll 1
    for (int k = 0; k < N; ++k) {
        const int rest = N - k;
        // `best` becomes the key of the largest element that is searched, with its row.
        int best = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i % 4 == 0 && i >= rest) {
                break;
            }
            if constexpr (full) {
                const auto key = [&](int c) {
                    return int(high_word(size_of(m[i][c])) & left[c]) | row[i];
                };
#pragma unroll
                for (int c = 0; c < C; c += 2) {
                    const int one = key(c);
                    const int other = c + 1 < C ? key(c + 1) : one;
                    best = i + c == 0 ? max(one, other) : __vimax3_s32(best, one, other);
                }
            } else {
                unsigned size = 0;
#pragma unroll
                for (int c = 0; c < C; ++c) {
                    const bool looked_at = column[c] == inverse_pivot::index_mask - k;
                    size = looked_at ? high_word(size_of(m[i][c])) : size;
                }
                const int key = int(size & all_bits) | row[i];
                best = i == 0 ? key : max(best, key);
            }
        }
        best = largest_of_lanes<L>(best) & inverse_pivot::index_mask;
        if (pivot == pivoting::none) {
            best = row[0];
        }
        // The pivot's row goes to t, row 0 to where it was.
        T t[C];
#pragma unroll
        for (int c = 0; c < C; ++c) {
            t[c] = m[0][c];
        }
#pragma unroll
        for (int i = 1; i < N; ++i) {
            if (i % 4 == 0 && i >= rest) {
                break;
            }
            const bool here = row[i] == best;
            const auto minus_zero = policy::shares_opaque_zero
                                        ? opaque_minus_zero
                                        : opaque(here, real_of<T>(-0.0));
#pragma unroll
            for (int c = 0; c < C; ++c) {
                if (i == 1 || (policy::alternates_moves && i % 2)) {
                    t[c] = select(here, m[i][c], t[c]);
                } else {
                    move_if(here, t[c], m[i][c], minus_zero);
                }
                move_if(here, m[i][c], m[0][c], minus_zero);
            }
            row[i] = here ? row[0] : row[i];
        }
        row[0] = best | is_done;

        int of_column = inverse_pivot::index_mask - k;
        int size_bits = 0; // of the pivot; only the exponent is used
        if constexpr (full) {
            size_bits = is_done;
#pragma unroll
            for (int c = 0; c < C; ++c) {
                size_bits =
                    max(size_bits, int(high_word(size_of(t[c])) & left[c]) | column[c]);
            }
            size_bits = largest_of_lanes<L>(size_bits);
            of_column = size_bits & inverse_pivot::index_mask;
        }
        bool has[C];
#pragma unroll
        for (int c = 0; c < C; ++c) {
            has[c] = column[c] == of_column;
            if (has[c]) {
                pivot_column[0] = t[c];
#pragma unroll
                for (int i = 1; i < N; ++i) {
                    pivot_column[i] = m[i][c];
                }
            }
            to[c] = has[c] ? inverse_pivot::index_mask - best : to[c];
            if constexpr (full) {
                left[c] = has[c] ? 0 : left[c];
                column[c] = has[c] ? is_done : column[c];
            }
            if constexpr (policy::zeroes_sent_column) {
#pragma unroll
                for (int i = 1; i < N; ++i) {
                    clear_if(has[c], m[i][c], opaque_zero);
                }
            }
        }
        if (lane == 0) {
            order[k] = inverse_pivot::index_mask - of_column;
        }
        __syncwarp();
        T p = pivot_column[0];
        if (!full || size_bits < bound) {
            if constexpr (full) {
                nan_unless_finite(a_finite, p); // NaN and infinity come as first pivot
            }
            p = usable_pivot(pivot, p, k, so_far);
            size_bits = bits_of(size_of(p));
            bound = (bits_of(so_far.smallest) | inverse_pivot::index_mask) + 1;
        }
        const T r = reciprocal(p, scale_for_bits<real_of<T>>(size_bits));
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if constexpr (policy::places_reciprocal_by_select) {
                t[c] = select(has[c], r, multiply(t[c], r));
            } else {
                t[c] = multiply(t[c], r);
                move_if(has[c], t[c], r, opaque_minus_zero);
            }
        }
#pragma unroll
        for (int i = 1; i < N; ++i) {
            const T factor = pivot_column[i];
#pragma unroll
            for (int c = 0; c < C; ++c) {
                const bool zero = has[c] && !policy::zeroes_sent_column;
                m[i - 1][c] = subtract_product(
                    select(zero, make_element<T>(0), m[i][c]), factor, t[c]);
            }
        }
#pragma unroll
        for (int c = 0; c < C; ++c) {
            m[N - 1][c] = t[c];
        }
        __syncwarp();
        rotate(row);
    }

    // (P A Q)^-1 = Q^-1 A^-1 P^-1: rows go where A's columns came from, columns where its
    // rows came from.
    // All places are read before the first element is written, and the test for finite
    // elements has several chains, because a warp waits for all of that at its end.
    T* const own = tile_type::matrix(shared[warp], matrix);
    int row_to[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        row_to[i] = order[i] * N;
    }
    real_of<T> x_finite = a_finite;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        T* const column_of_x = in_register(own + to[c]);
        real_of<T> one = 0, other = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (layout::column(c, lane) < N) {
                if constexpr (is_complex<T>) {
                    nan_unless_finite(one, m[i][c].x);
                    nan_unless_finite(other, m[i][c].y);
                } else {
                    nan_unless_finite(i % 2 ? one : other, m[i][c]);
                }
                column_of_x[row_to[i]] = m[i][c];
            }
        }
        x_finite += one + other;
    }
    finish<L>(so_far, a_finite, x_finite, own, matrix < count ? N * N : 0, lane);
    tile_type::write(shared[warp],
                     batch.x + first * (N * N),
                     threadIdx.x % 32,
                     count == layout::matrices && batch.aligned,
                     count);
    if (lane == 0 && matrix < count) {
        report(batch, first + matrix, so_far, false);
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
