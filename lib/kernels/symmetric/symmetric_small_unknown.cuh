/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_equilibrate.cuh"
#include "kernels/symmetric/symmetric_small.cuh"

// The sister of symmetric_small.cuh for matrices of unknown definiteness.

namespace gr::cudaphy::kernels {
namespace {

// A matrix whose 16 x 16 threads would have no registers to spare has 16 x 32: so many
// warps hide better that one step follows another, and none holds two of its rows.

//! Threads across a matrix of Parts x 16 rows; small_side are down.
template <typename E, int Parts>
constexpr int unknown_across = sizeof(E) * Parts* Parts <= 256 ? small_side
                                                               : 2 * small_side;
template <typename E, int Parts>
constexpr int unknown_threads = small_side* unknown_across<E, Parts>;
//! Registers that hold a matrix leave room for as many blocks.
template <typename E, int Parts>
constexpr int unknown_blocks = unknown_across<E, Parts> == small_side ? 2 : 1;

//! A pivot of one row, or of two: the inverse of its block [[first, cross], [cross^H,
//! second]].
template <typename E>
struct pivot_block {
    int row, other; //!< other: of two rows, else -1
    real_of<E> first, second;
    E cross;
};

//! The inverse of [[a, conj(c)], [c, b]], where |c| is not small beside both.
template <typename E>
__device__ inline pivot_block<E>
inverted_pair(int row, int other, real_of<E> a, real_of<E> b, E c)
{
    const auto size = modulus(c);
    const auto over = 1 / size;
    const auto x = a * over, y = b * over;
    const auto t = 1 / fused(x, y, real_of<E>(-1)) * over;
    return { row, other, t * y, t * x, scaled(conjugate(c), -t * over) };
}

//! The largest size in a column among rows that are not taken yet, `but` left out, and
//! its row: the same for every lane; 0 and -1 where there is none. To 16 bits: a float's
//! rise with it, and the last ones give way to the row.
template <int Order, typename E>
__device__ inline real_of<E>
largest_of_column(const E* column, const int* taken, int but, int& row)
{
    constexpr unsigned rows = 128;
    static_assert(Order <= int(rows));
    unsigned key = 0;
#pragma unroll
    for (int first = 0; first < Order; first += 32) {
        // Whatever the row, so that nothing waits for what it is; some matrices have
        // fewer than 32.
        const int i = min(first + int(threadIdx.x) % 32, Order - 1);
        const bool left = !taken[i] && i != but;
        const float size = float(size_of(column[i]));
        const unsigned its = __float_as_uint(size) / rows * rows + rows - 1 - i;
        key = max(key, left && size > 0 ? its : 0); // no NaN
    }
    key = largest_of_warp(key);
    row = key ? int(rows - 1 - key % rows) : -1;
    return key ? size_of(column[row]) : 0;
}

// Which of a thread's rows or columns is meant is asked of a bit: of a number compared
// with each, the compiler makes an index, for which all elements go to local memory.

//! Calls `change` for the elements of a row of a thread block's matrix, and their
//! columns, all and among the thread's, by those who hold them.
template <typename E, int Parts, int Columns, typename Change>
__device__ inline void for_row(E (&e)[Parts][Columns], int row, const Change& change)
{
    constexpr int across = small_side * Parts / Columns;
    if (int(threadIdx.x) / across != row % small_side) {
        return;
    }
    const unsigned part = 1u << (row / small_side);
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
        if (part >> r & 1) {
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                change(e[r][c], int(threadIdx.x) % across + across * c, c);
            }
        }
    }
}

//! The same for column `column`.
template <typename E, int Parts, int Columns, typename Change>
__device__ inline void
for_column(E (&e)[Parts][Columns], int column, const Change& change)
{
    constexpr int across = small_side * Parts / Columns;
    if (int(threadIdx.x) % across != column % across) {
        return;
    }
    const unsigned part = 1u << (column / across);
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
        if (part >> c & 1) {
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                change(e[r][c], int(threadIdx.x) / across + small_side * r);
            }
        }
    }
}

//! e += factors row, for the columns of a thread, and its rows whose bit is set.
template <typename E, int Parts, int Columns>
__device__ inline void
add_outer(E (&e)[Parts][Columns], const E (&factors)[Parts], const E* row, unsigned which)
{
    constexpr int across = small_side * Parts / Columns;
    E by[Columns];
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
        by[c] = row[int(threadIdx.x) % across + across * c];
    }
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
        if (which >> r & 1) {
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                e[r][c] = multiply_add(e[r][c], factors[r], by[c]);
            }
        }
    }
}

template <typename E, int Parts, int Columns>
__device__ inline void publish_column(E (&e)[Parts][Columns], int column, E* to)
{
    for_column<E>(e, column, [&](const E& element, int i) { to[i] = element; });
}

/*!
 * A matrix of unknown definiteness, by factors P L D L^H P^T, pivots of one row or two
 * being chosen as Bunch and Kaufman do (1977), rows not being moved, after it was
 * equilibrated by powers of two: in one place, as invert_small_definite. Reads the lower
 * triangle, writes the whole; blockIdx.z: matrix. The state is `first` where nothing but
 * zeros is left of a column, or where A and its inverse, equilibrated, say that it is
 * singular to E's precision.
 */
template <typename From, typename E, int Parts>
__global__ void __launch_bounds__(unknown_threads<E, Parts>, unknown_blocks<E, Parts>)
    invert_small_unknown(device_matrix<const From> a,
                         device_matrix<E> inverse,
                         int n,
                         int first,
                         unsigned* states)
{
    using R = real_of<E>;
    constexpr int order = small_side * Parts;
    constexpr R alpha = R(0.6403882032022076); // (1 + sqrt(17)) / 8
    __shared__ E columns[2][order];
    __shared__ E rows[2][order];
    __shared__ int taken[order]; // 1 + the pivot, 0 while it is none
    __shared__ pivot_block<E> pivots[order];
    __shared__ int exponents[order];
    constexpr int across = unknown_across<E, Parts>;
    constexpr int mine = order / across; // columns of a thread
    const int x = threadIdx.x % across, y = threadIdx.x / across;
    E e[Parts][mine];
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < mine; ++c) {
            const int i = y + small_side * r, j = x + across * c;
            e[r][c] = i < n && j < n
                          ? converted<E>(element_of_lower<From>(a.item(), a.stride, i, j))
                          : number<E>(0);
        }
    }
    for (int i = threadIdx.x; i < order; i += unknown_threads<E, Parts>) {
        taken[i] = 0;
    }
    const R norm = equilibrate_tile<E, Parts, mine, small_side>(e, exponents);
    unsigned done = 0, gone = 0; // the thread's rows and columns that are taken
    const auto take = [&](int row) {
        done |= unsigned(row % small_side == y) << (row / small_side);
        gone |= unsigned(row % across == x) << (row / across);
    };
    int count = 0; // of pivots
    int next = 0;  // no row before it is left
    bool failed = false;
    for (int left = n; left > 0; ++count) {
        while (taken[next]) {
            ++next;
        }
        publish_column(e, next, columns[0]);
        __syncthreads();
        int far = -1, unused = -1;
        const R most = largest_of_column<order>(columns[0], taken, next, far);
        const R own = fabs(re(columns[0][next]));
        if (!(most > 0) && !(own > 0)) {
            failed = true; // NaN comes here too
            break;
        }
        int pivot = next, other = -1;
        const E* column = columns[0];
        if (!(own >= alpha * most)) {
            publish_column(e, far, columns[1]);
            __syncthreads();
            const R there = largest_of_column<order>(columns[1], taken, far, unused);
            if (own * there >= alpha * most * most) {
                // stays
            } else if (fabs(re(columns[1][far])) >= alpha * there) {
                pivot = far;
                column = columns[1];
            } else {
                other = far;
            }
        }
        pivot_block<E> block = { pivot, -1, 1 / re(column[pivot]), 0, number<E>(0) };
        if (other >= 0) {
            block = inverted_pair(
                pivot, other, re(column[pivot]), re(columns[1][other]), column[other]);
        }
        // Of what is left the column stands for the row, too: rounded apart, the two
        // would drift apart from step to step, and a hundredfold of the error come of it.
        const auto publish_row = [&](int row, const E* its_column, int apart, E* to) {
            for_row<E>(e, row, [&](const E& element, int j, int c) {
                const E left = conjugate(its_column[j]);
                const E value = gone >> c & 1 ? element : left;
                to[j] = j == apart || j == row ? number<E>(j == row) : value;
            });
        };
        publish_row(pivot, column, other, rows[0]);
        if (other >= 0) {
            publish_row(other, columns[1], pivot, rows[1]);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            pivots[count] = block;
            taken[pivot] = 1 + count;
            if (other >= 0) {
                taken[other] = 1 + count;
            }
        }
        for (const int row : { pivot, other }) {
            if (row >= 0) {
                for_column<E>(e, row, [](E& element, int) { element = number<E>(0); });
                take(row);
            }
        }
        // Of rows that are taken they are not used.
        E factors[Parts];
#pragma unroll
        for (int r = 0; r < Parts; ++r) {
            factors[r] = scaled(column[y + small_side * r], -block.first);
        }
        if (other >= 0) {
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                factors[r] = multiply_add(factors[r],
                                          columns[1][y + small_side * r],
                                          negative(conjugate(block.cross)));
            }
        }
        add_outer(e, factors, rows[0], ~done);
        if (other >= 0) {
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                const int i = y + small_side * r;
                factors[r] = negative(multiply_add(
                    scaled(columns[1][i], block.second), column[i], block.cross));
            }
            add_outer(e, factors, rows[1], ~done);
        }
        __syncthreads();
        left -= other >= 0 ? 2 : 1;
    }
    if (failed) {
        if (threadIdx.x == 0) {
            atomicMin(states + blockIdx.z, unsigned(first));
        }
        return;
    }
    // The rows of L^-1 that are used up give their place to the inverse.
    done = gone = 0;
    for (int p = 0; p < count; ++p) {
        const auto block = pivots[p];
        const auto publish = [&](int row, E* to) {
            for_row<E>(e, row, [&](E& element, int j, int c) {
                to[j] = gone >> c & 1 ? element : number<E>(j == row);
                element = number<E>(0);
            });
        };
        publish(block.row, rows[0]);
        if (block.other >= 0) {
            publish(block.other, rows[1]);
        }
        for (const int row : { block.row, block.other }) {
            if (row >= 0) {
                take(row);
            }
        }
        __syncthreads();
        E factors[Parts];
#pragma unroll
        for (int r = 0; r < Parts; ++r) {
            const int i = y + small_side * r;
            factors[r] = scaled(conjugate(rows[0][i]), block.first);
            if (block.other >= 0) {
                factors[r] = multiply_add(
                    factors[r], conjugate(rows[1][i]), conjugate(block.cross));
            }
        }
        add_outer(e, factors, rows[0], done);
        if (block.other >= 0) {
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                const int i = y + small_side * r;
                factors[r] = multiply_add(scaled(conjugate(rows[1][i]), block.second),
                                          conjugate(rows[0][i]),
                                          block.cross);
            }
            add_outer(e, factors, rows[1], done);
        }
        __syncthreads();
    }
    if (norm * largest_row_sum<E, Parts, mine, small_side>(e) * singular_from < R >> 1) {
        if (threadIdx.x == 0) {
            atomicMin(states + blockIdx.z, unsigned(first));
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < mine; ++c) {
            const int i = y + small_side * r, j = x + across * c;
            if (i < n && j <= i) {
                const E value = times_power(e[r][c], exponents[i] + exponents[j]);
                inverse.item()[size_t(i) * inverse.stride + j] = value;
                inverse.item()[size_t(j) * inverse.stride + i] = conjugate(value);
            }
        }
    }
}

//! A batch of matrices of an order to most_small_order: the scale of definite ones'
//! inverses is that of `largest`, other ones' are as they are.
template <typename E>
void invert_small(device_matrix<const E> a,
                  device_matrix<E> inverse,
                  int n,
                  bool positive,
                  const unsigned long long* largest,
                  unsigned* states,
                  int count,
                  cudaStream_t stream)
{
    const auto with_parts = [&](auto parts) {
        constexpr int p = decltype(parts)::value;
        const dim3 grid(1, 1, count);
        if (positive) {
            invert_small_definite<E, E, p>
                <<<grid, small_threads, 0, stream>>>(a, inverse, n, 0, largest, states);
        } else {
            invert_small_unknown<E, E, p>
                <<<grid, unknown_threads<E, p>, 0, stream>>>(a, inverse, n, n, states);
        }
    };
    if (n <= small_side) {
        with_parts(std::integral_constant<int, 1>());
    } else if (n <= 2 * small_side) {
        with_parts(std::integral_constant<int, 2>());
    } else if (n <= 4 * small_side) {
        with_parts(std::integral_constant<int, 4>());
    } else if constexpr (most_small_parts<E> > 4) {
        with_parts(std::integral_constant<int, most_small_parts<E>>());
    }
    cuda_check_launch("symmetric_inverse: invert_small");
}

} // namespace
} // namespace gr::cudaphy::kernels
