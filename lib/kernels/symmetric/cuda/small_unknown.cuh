/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/equilibrate.cuh"
#include "kernels/symmetric/cuda/small.cuh"

// As small.cuh, for matrices of unknown definiteness.

namespace gr::cudaphy::kernels {
namespace {

constexpr int rows_together = symmetric_tuning::small::rows_together;

//! The shared memory of a thread block that inverts a matrix of 16 Parts rows.
template <typename E, int Parts>
struct unknown_memory {
    static constexpr int order = small_side * Parts;
    // The two columns that a step looks at, and the rows with the same indices. Steps use
    // the halves by turns, so that one step writes while the step before is still read.
    E columns[2][2][order];
    E rows[2][2][order]; //!< read where the thread's column is taken
    real_of<E> diagonals[2][2];
    // By row: the elements of D^-1 on the diagonal and beside it. mates[row] is the
    // column of the latter, and is `row` for a pivot of one row.
    real_of<E> own[order];
    E beside[order];
    int mates[order];
    int steps[order];    //!< the step that took the row
    int sequence[order]; //!< the rows in the order in which they were taken
    E lines[3][rows_together][order];

    __device__ void take(int count, int step, int row, int mate, real_of<E> d, E cross)
    {
        own[row] = d;
        beside[row] = cross;
        mates[row] = mate;
        steps[row] = step;
        sequence[count] = row;
    }
};

//! The inverse [[first, cross], [cross^H, second]] of a pivot of two rows.
template <typename E>
struct pivot_pair {
    real_of<E> first, second;
    E cross;
};

//! The inverse of [[a, conj(c)], [c, b]]. c is not small beside both a and b.
//! \param size  the size of c
template <typename E>
__device__ inline pivot_pair<E>
inverted_pair(real_of<E> a, real_of<E> b, E c, real_of<E> size)
{
    const auto over = 1 / size;
    const auto x = a * over, y = b * over;
    const E z = scaled(c, over); // so that no square overflows or underflows
    const auto t = over / fused(x, y, -re(product(z, conjugate(z))));
    return { t * y, t * x, scaled(conjugate(z), -t) };
}

//! The largest size in a column among the rows that are left, for every lane; 0 if none
//! is left. row: the row of that element, or -1.
//! \param left  bit k: row 32 k + lane is left
//! Sizes are compared to 16 bits. The upper bits of a float rise with the float, and the
//! row takes the place of the lowest bits.
template <int Order, typename E>
__device__ inline real_of<E> largest_of_column(const E* column, unsigned left, int& row)
{
    constexpr unsigned rows = 128;
    static_assert(Order <= int(rows));
    unsigned key = 0;
#pragma unroll
    for (int k = 0; 32 * k < Order; ++k) {
        // Reads any row, so that the load does not wait for `left`. min(): a matrix may
        // have fewer than 32 rows.
        const int i = min(32 * k + int(threadIdx.x) % 32, Order - 1);
        const unsigned size = __float_as_uint(float(size_of(column[i])));
        if (left >> k & 1) {
            key = max(key, (size & ~(rows - 1)) | (rows - 1 - i));
        }
    }
    key = largest_of_warp(key);
    row = key >= rows ? int(rows - 1 - key % rows) : -1;
    return key >= rows ? size_of(column[row]) : 0;
}

//! The first row that is left, for every lane. At least one row must be left.
__device__ inline int first_left(unsigned left)
{
    constexpr unsigned most = 1024;
    return most -
           largest_of_warp(left ? most - threadIdx.x % 32 - 32 * (__ffs(left) - 1) : 0);
}

//! Calls `use` with `part`, which is below Parts, as a constant. The choice goes by one
//! bit after the other. If `part` were compared with each number, the compiler would make
//! an index of it, and all elements would go to local memory.
template <int Parts, int First = 0, typename Use>
__device__ inline void with_part(int part, const Use& use)
{
    if constexpr (Parts == 1) {
        use(std::integral_constant<int, First>());
    } else if (part & (Parts / 2)) {
        with_part<Parts / 2, First + Parts / 2>(part, use);
    } else {
        with_part<Parts / 2, First>(part, use);
    }
}

//! Calls use(element, column) for the elements of a row of the thread block's matrix, in
//! the threads that hold them.
template <typename E, int Parts, typename Use>
__device__ inline void for_row(E (&e)[Parts][Parts], int row, const Use& use)
{
    if (int(threadIdx.x) / small_side == row % small_side) {
        with_part<Parts>(row / small_side, [&](auto part) {
            constexpr int r = decltype(part)::value;
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                use(e[r][c], int(threadIdx.x) % small_side + small_side * c);
            }
        });
    }
}

//! Calls use(element, row) for the elements of a column.
template <typename E, int Parts, typename Use>
__device__ inline void for_column(E (&e)[Parts][Parts], int column, const Use& use)
{
    if (int(threadIdx.x) % small_side == column % small_side) {
        with_part<Parts>(column / small_side, [&](auto part) {
            constexpr int c = decltype(part)::value;
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                use(e[r][c], int(threadIdx.x) / small_side + small_side * r);
            }
        });
    }
}

//! Reads the elements of a column in the thread's rows, or of a row in its columns.
template <typename E, int Parts>
__device__ inline void read_mine(E (&to)[Parts], const E* from, int first)
{
#pragma unroll
    for (int k = 0; k < Parts; ++k) {
        to[k] = from[first + small_side * k];
    }
}

//! e += column row, in those rows of the thread whose bit in `which` is set.
template <typename E, int Parts>
__device__ inline void add_outer(E (&e)[Parts][Parts],
                                 const E (&column)[Parts],
                                 const E (&row)[Parts],
                                 unsigned which)
{
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
        if (which >> r & 1) {
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                e[r][c] = multiply_add(e[r][c], column[r], row[c]);
            }
        }
    }
}

/*!
 * P^T A P = L D L^H with pivots of one or two rows by Bunch and Kaufman's rule (1977).
 * Rows are not moved. e becomes -L^-1 D, without the zeros and ones of L^-1, because the
 * pivots' columns are not divided here. False if only zeros are left of a column.
 */
template <typename E, int Parts>
__device__ inline bool
factor_unknown(E (&e)[Parts][Parts], int n, unknown_memory<E, Parts>& shared)
{
    using R = real_of<E>;
    constexpr int order = small_side * Parts;
    constexpr R alpha = R(0.6403882032022076); // (1 + sqrt(17)) / 8
    const int lane = threadIdx.x % 32;
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    unsigned done = 0, gone = 0; // the thread's rows and columns that are taken
    unsigned left = 0;           // as of largest_of_column()
    for (int k = 0; 32 * k < order; ++k) {
        left |= unsigned(32 * k + lane < n) << k;
    }
    const auto take = [&](int row) {
        done |= unsigned(row % small_side == y) << (row / small_side);
        gone |= unsigned(row % small_side == x) << (row / small_side);
        left &= ~(unsigned(row % 32 == lane) << (row / 32));
    };
    int count = 0; // rows that are taken
    for (int step = 0; count < n; ++step) {
        const auto columns = shared.columns[step % 2];
        const auto rows = shared.rows[step % 2];
        R* const diagonals = shared.diagonals[step % 2];
        // The column stands for the row too, among the rows that are left. If each had
        // its own roundings, they would drift apart, and the error would be a
        // hundredfold.
        const auto publish = [&](int number_of_column, int which) {
            E* const column = columns[which];
            for_column<E>(e, number_of_column, [&](const E& element, int i) {
                column[i] = element;
            });
            for_row<E>(e, number_of_column, [&](const E& element, int j) {
                rows[which][j] = element;
            });
            if (x == number_of_column % small_side &&
                y == number_of_column % small_side) {
                diagonals[which] = re(column[number_of_column]);
                column[number_of_column] = number<E>(0);
            }
        };
        const auto read_row = [&](E(&to)[Parts], int which) {
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                const bool taken = gone >> c & 1;
                const E value = (taken ? rows : columns)[which][x + small_side * c];
                to[c] = taken ? value : conjugate(value);
            }
        };
        const int next = first_left(left);
        publish(next, 0);
        __syncthreads();
        int far = -1, unused = -1;
        const R most = largest_of_column<order>(columns[0], left, far);
        const R own = fabs(diagonals[0]);
        if (!(most > 0) && !(own > 0)) {
            return false; // NaN too
        }
        bool pair = false;
        int which = 0; // the column of a pivot of one row
        if (!(own >= alpha * most)) {
            publish(far, 1);
            __syncthreads();
            const R there = largest_of_column<order>(columns[1], left, unused);
            if (own * there >= alpha * most * most) {
                // `next` is the pivot.
            } else if (fabs(diagonals[1]) >= alpha * there) {
                which = 1;
            } else {
                pair = true;
            }
        }
        // The pivot rows times -D^-1. The pivot columns stay unscaled.
        E row[Parts], other[Parts], factors[Parts];
        read_row(row, which);
        if (!pair) {
            const int pivot = which ? far : next;
            const R over = 1 / diagonals[which];
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                row[c] = scaled(row[c], -over);
            }
            take(pivot);
            if (threadIdx.x == 0) {
                shared.take(count, step, pivot, pivot, over, number<E>(0));
            }
            count += 1;
        } else {
            const auto block =
                inverted_pair(diagonals[0], diagonals[1], columns[0][far], most);
            read_row(other, 1);
            const unsigned before = gone;
            take(next);
            take(far);
            const unsigned fresh = gone & ~before;
#pragma unroll
            for (int c = 0; c < Parts; ++c) {
                const bool stays = fresh >> c & 1;
                const E a = negative(
                    multiply_add(scaled(row[c], block.first), other[c], block.cross));
                const E b = negative(multiply_add(
                    scaled(other[c], block.second), row[c], conjugate(block.cross)));
                row[c] = stays ? number<E>(0) : a;
                other[c] = stays ? number<E>(0) : b;
            }
            if (threadIdx.x == 0) {
                shared.take(count, step, next, far, block.first, block.cross);
                shared.take(
                    count + 1, step, far, next, block.second, conjugate(block.cross));
            }
            count += 2;
        }
        read_mine(factors, columns[which], y);
        add_outer(e, factors, row, ~done);
        if (pair) {
            read_mine(factors, columns[1], y);
            add_outer(e, factors, other, ~done);
        }
    }
    __syncthreads();
    return true;
}

//! e becomes L^-1: multiplies by -D^-1 from the right.
template <typename E, int Parts>
__device__ inline void divide_by_pivots(E (&e)[Parts][Parts],
                                        unknown_memory<E, Parts>& shared)
{
    constexpr int order = small_side * Parts;
    static_assert(small_side <= 3 * rows_together);
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    E* const line = shared.lines[0][0] + y * order;
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            line[x + small_side * c] = e[r][c];
        }
        __syncwarp();
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            const int j = x + small_side * c;
            e[r][c] = negative(multiply_add(scaled(e[r][c], shared.own[j]),
                                            line[shared.mates[j]],
                                            conjugate(shared.beside[j])));
        }
        __syncwarp();
    }
    __syncthreads();
}

//! e becomes X = L^-H D^-1 L^-1. X takes the place of rows of L^-1 that are used up.
template <typename E, int Parts>
__device__ inline void
square_unknown(E (&e)[Parts][Parts], int n, unknown_memory<E, Parts>& shared)
{
    constexpr int order = small_side * Parts;
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    int count = 0; // rows of this pass
    for (int first = 0, set = 0; first < n; first += count, set ^= 1) {
        const int* const sequence = shared.sequence + first;
        count = min(rows_together, n - first);
        if (first + count < n && shared.mates[sequence[count - 1]] == sequence[count]) {
            --count; // the two rows of a pivot stay together
        }
        const auto lines = shared.lines[set];
        for (int k = 0; k < count; ++k) {
            const int row = sequence[k], step = shared.steps[row];
            for_row<E>(e, row, [&](E& element, int j) {
                lines[k][j] = shared.steps[j] < step ? element : number<E>(j == row);
                element = number<E>(0);
            });
        }
        __syncthreads();
        const auto products = shared.lines[2];
        for (int i = threadIdx.x; i < count * order; i += small_threads) {
            const int k = i / order, j = i % order;
            const int row = sequence[k], mate = shared.mates[row];
            const int other = mate == row                        ? k
                              : k > 0 && sequence[k - 1] == mate ? k - 1
                                                                 : k + 1;
            products[k][j] = multiply_add(scaled(lines[k][j], shared.own[row]),
                                          lines[other][j],
                                          shared.beside[row]);
        }
        __syncthreads();
        // A line is zero where rows are not used up yet, so those elements do not change.
        // No branch delays the reads of the next line.
#pragma unroll 2
        for (int k = 0; k < count; ++k) {
            E factors[Parts], by[Parts];
            read_mine(factors, lines[k], y);
            read_mine(by, products[k], x);
#pragma unroll
            for (int r = 0; r < Parts; ++r) {
                factors[r] = conjugate(factors[r]);
            }
            add_outer(e, factors, by, ~0u);
        }
    }
}

/*!
 * Inverts a matrix of unknown definiteness in place. It equilibrates the matrix by powers
 * of two and factors it, P L D L^H P^T. Reads the lower triangle, writes both;
 * blockIdx.z: matrix. The state becomes `first` if only zeros are left of a column. It
 * also does if the norms of the equilibrated matrix and its inverse have a product above
 * the limit. norms: those two norms, (batch, 4), or null.
 */
template <typename From, typename E, int Parts>
__global__ void __launch_bounds__(small_threads,
                                  symmetric_tuning::small::unknown_blocks<E>(Parts))
    invert_small_unknown(device_matrix<const From> a,
                         device_matrix<E> inverse,
                         int n,
                         int first,
                         unsigned* states,
                         real_of<E> limit = 8 / unit_roundoff<real_of<E>>,
                         double* norms = nullptr)
{
    using R = real_of<E>;
    constexpr int order = small_side * Parts;
    __shared__ unknown_memory<E, Parts> shared;
    __shared__ int exponents[order];
    const int x = threadIdx.x % small_side, y = threadIdx.x / small_side;
    E e[Parts][Parts];
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            e[r][c] = i < n && j < n
                          ? converted<E>(element_of_lower<From>(a.item(), a.stride, i, j))
                          : number<E>(0);
        }
    }
    for (int i = threadIdx.x; i < order; i += small_threads) {
        // Rows from n on too.
        shared.own[i] = 0;
        shared.beside[i] = number<E>(0);
        shared.mates[i] = shared.steps[i] = i;
    }
    const R norm = equilibrate_tile<E, Parts, small_side>(e, exponents);
    bool singular = !factor_unknown<E>(e, n, shared);
    if (!singular) {
        divide_by_pivots<E>(e, shared);
        square_unknown<E>(e, n, shared);
        const R norm_x = largest_row_sum<E, Parts, small_side>(e);
        singular = !(norm * norm_x <= limit); // NaN is, too
        if (norms && threadIdx.x == 0) {
            norms[4 * blockIdx.z] = norm;
            norms[4 * blockIdx.z + 1] = norm_x;
        }
    }
    if (singular) {
        if (threadIdx.x == 0) {
            atomicMin(states + blockIdx.z, unsigned(first));
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < Parts; ++r) {
#pragma unroll
        for (int c = 0; c < Parts; ++c) {
            const int i = y + small_side * r, j = x + small_side * c;
            if (i < n && j <= i) {
                const E value = times_power(e[r][c], exponents[i] + exponents[j]);
                inverse.item()[size_t(i) * inverse.stride + j] = value;
                inverse.item()[size_t(j) * inverse.stride + i] = conjugate(value);
            }
        }
    }
}

//! Inverts a batch of matrices of an order up to most_small_order. Inverses of definite
//! matrices have the scale of `largest`, other inverses none.
//! limit, norms: as of invert_small_unknown()
template <typename E>
void invert_small(device_matrix<const E> a,
                  device_matrix<E> inverse,
                  int n,
                  bool positive,
                  const unsigned long long* largest,
                  unsigned* states,
                  int count,
                  cudaStream_t stream,
                  double limit = 8 / unit_roundoff<real_of<E>>,
                  double* norms = nullptr)
{
    const auto with_parts = [&](auto parts) {
        constexpr int p = decltype(parts)::value;
        const dim3 grid(1, 1, count);
        if (positive) {
            invert_small_definite<E, E, p>
                <<<grid, small_threads, 0, stream>>>(a, inverse, n, 0, largest, states);
        } else {
            invert_small_unknown<E, E, p><<<grid, small_threads, 0, stream>>>(
                a, inverse, n, n, states, real_of<E>(limit), norms);
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
