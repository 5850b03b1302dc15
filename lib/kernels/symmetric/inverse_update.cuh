/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_passes.cuh"

// X <- X / f - Y M Y^H with Y = X V / f and M = D (I + V^H Y D)^-1, Hermitian. X is read
// from its first row to its last for Y and, for the change, by tiles of its lower
// triangle from the last to the first, so that what the L2 cache still holds is met
// again: of n^2 elements about n^2 are read, then up to n^2 / 2 more, and n^2 written. A
// rank of one takes two kernels, as its M is a number that each tile's block finds for
// itself; more take two small ones between.

namespace gr::cudaphy::kernels {
namespace {

constexpr int update_threads = 256;
constexpr int update_rows = update_threads / 32; //!< a warp a row
constexpr int columns_at_once = 8;
constexpr int update_side = 64; //!< of a tile
constexpr int gram_rows = 64;   //!< a block

//! What is too small, beside the largest element, to be a pivot.
template <typename E>
constexpr double smallest_share = 16 * double(unit_roundoff<real_of<E>>);

//! Y = X V / f, and, for a rank of one, each block's part of v^H y. blockIdx.x: group of
//! rows
template <typename E>
__global__ void __launch_bounds__(update_threads)
    multiply_update(device_matrix<const E> x,
                    const E* v,
                    int n,
                    int k,
                    real_of<E> over_f,
                    E* y,
                    double* partial)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = blockIdx.x * update_rows + warp;
    const size_t item = size_t(blockIdx.z) * n * k;
    double weight = 0;
    if (row < n) {
        const E* from = x.item() + size_t(row) * n;
        for (int c0 = 0; c0 < k; c0 += columns_at_once) {
            E total[columns_at_once];
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) {
                total[c] = number<E>(0);
            }
            if (k == 1) {
                // Four sums, so that their latencies overlap.
#pragma unroll 2
                for (int j = lane; j < n; j += 128) {
#pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        if (j + 32 * c < n) {
                            total[c] = multiply_add(
                                total[c], from[j + 32 * c], v[item + j + 32 * c]);
                        }
                    }
                }
                total[0] = sum(sum(total[0], total[1]), sum(total[2], total[3]));
            } else {
                for (int j = lane; j < n; j += 32) {
                    const E element = from[j];
#pragma unroll
                    for (int c = 0; c < columns_at_once; ++c) {
                        if (c0 + c < k) {
                            total[c] = multiply_add(
                                total[c], element, v[item + size_t(j) * k + c0 + c]);
                        }
                    }
                }
            }
#pragma unroll
            for (int c = 0; c < columns_at_once; ++c) {
                if (c0 + c < k) {
                    total[c] = scaled(warp_sum(total[c]), over_f);
                    if (lane == 0) {
                        y[item + size_t(row) * k + c0 + c] = total[c];
                    }
                }
            }
            if (k == 1) {
                using V = wide_of<E>;
                weight = re(product(conjugate(converted<V>(v[item + row])),
                                    converted<V>(total[0])));
                // A part that is not finite must not be lost with the imaginary ones.
                weight += is_finite(total[0]) ? 0 : double(nan(""));
            }
        }
    }
    if (partial) {
        __shared__ double weights[update_rows];
        if (lane == 0) {
            weights[warp] = weight;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < update_rows; ++w) {
                weight += weights[w];
            }
            partial[size_t(blockIdx.z) * gridDim.x + blockIdx.x] = weight;
        }
    }
}

//! Parts of V^H Y, (chunks of rows, k, k). blockIdx.x: chunk
template <typename E>
__global__ void __launch_bounds__(update_threads)
    multiply_gram(const E* v, const E* y, int n, int k, wide_of<E>* partial)
{
    using V = wide_of<E>;
    const size_t item = size_t(blockIdx.z) * n * k;
    const int first = blockIdx.x * gram_rows;
    partial += (size_t(blockIdx.z) * gridDim.x + blockIdx.x) * k * k;
    for (int e = threadIdx.x; e < k * k; e += update_threads) {
        const int p = e / k, q = e % k;
        V total = number<V>(0);
        for (int i = first; i < min(n, first + gram_rows); ++i) {
            total = multiply_add(total,
                                 conjugate(converted<V>(v[item + size_t(i) * k + p])),
                                 converted<V>(y[item + size_t(i) * k + q]));
        }
        partial[e] = total;
    }
}

//! M and the status, by elimination with partial pivoting in double precision. A block a
//! matrix.
template <typename E>
__global__ void __launch_bounds__(update_threads) invert_gram(const wide_of<E>* partial,
                                                              int chunks,
                                                              const real_of<E>* d,
                                                              int k,
                                                              wide_of<E>* spaces,
                                                              E* m,
                                                              int* status)
{
    using V = wide_of<E>;
    V* small = spaces + size_t(blockIdx.x) * 2 * k * k; // k rows of I + D G, then D
    __shared__ int pivot;
    __shared__ int failed;
    const int width = 2 * k;
    partial += size_t(blockIdx.x) * chunks * k * k;
    d += size_t(blockIdx.x) * k;
    m += size_t(blockIdx.x) * k * k;
    if (threadIdx.x == 0) {
        failed = 0;
    }
    for (int e = threadIdx.x; e < k * k; e += update_threads) {
        V total = number<V>(0);
        for (int chunk = 0; chunk < chunks; ++chunk) {
            total = sum(total, partial[size_t(chunk) * k * k + e]);
        }
        const int p = e / k, q = e % k;
        small[p * width + q] = sum(scaled(total, double(d[p])), number<V>(p == q));
        small[p * width + k + q] = number<V>(p == q ? double(d[p]) : 0);
    }
    __syncthreads();
    double largest = 1;
    bool finite = true;
    for (int e = 0; e < k * k; ++e) {
        const V element = small[e / k * width + e % k];
        finite = finite && is_finite(element);
        largest = fmax(largest, modulus(element));
    }
    for (int step = 0; finite && step < k; ++step) {
        if (threadIdx.x == 0) {
            pivot = step;
            for (int p = step; p < k; ++p) {
                if (modulus(small[p * width + step]) >
                    modulus(small[pivot * width + step])) {
                    pivot = p;
                }
            }
            failed =
                !(modulus(small[pivot * width + step]) > largest * k * smallest_share<E>);
        }
        __syncthreads();
        if (failed) {
            break;
        }
        if (pivot != step) {
            for (int c = threadIdx.x; c < width; c += update_threads) {
                const V other = small[pivot * width + c];
                small[pivot * width + c] = small[step * width + c];
                small[step * width + c] = other;
            }
        }
        __syncthreads();
        const V over = reciprocal(small[step * width + step]);
        __syncthreads();
        for (int c = threadIdx.x; c < width; c += update_threads) {
            small[step * width + c] = product(small[step * width + c], over);
        }
        __syncthreads();
        // A thread's column must not change before all rows have read it: only columns
        // behind the step's count.
        for (int e = threadIdx.x; e < k * (width - step - 1); e += update_threads) {
            const int p = e / (width - step - 1), c = step + 1 + e % (width - step - 1);
            if (p != step) {
                small[p * width + c] = multiply_add(small[p * width + c],
                                                    negative(small[p * width + step]),
                                                    small[step * width + c]);
            }
        }
        __syncthreads();
    }
    const int code = !finite ? -1 : failed;
    for (int e = threadIdx.x; e < k * k; e += update_threads) {
        const int p = e / k, q = e % k;
        // (I + D G)^-1 D, made Hermitian.
        const V mean = scaled(
            sum(small[p * width + k + q], conjugate(small[q * width + k + p])), 0.5);
        m[e] = converted<E>(mean);
    }
    if (threadIdx.x == 0) {
        status[blockIdx.x] = code;
    }
}

//! X / f - Y M Y^H by tiles of the lower triangle, from the last; blockIdx.x: tile.
template <typename E, bool RankOne>
__global__ void __launch_bounds__(update_threads) change_inverse(device_matrix<E> x,
                                                                 int n,
                                                                 int k,
                                                                 real_of<E> over_f,
                                                                 const E* y,
                                                                 const E* m,
                                                                 const double* partial,
                                                                 int parts,
                                                                 const real_of<E>* d,
                                                                 int* status)
{
    constexpr int side = update_side;
    constexpr int rows_a_warp = side / update_rows;
    constexpr int columns = RankOne ? 1 : columns_at_once;
    __shared__ E tile[32][33];
    __shared__ E left[side][columns + 1];  // -Y M, its rows
    __shared__ E right[side][columns + 1]; // Y, the columns' rows
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int tiles = (n + side - 1) / side;
    const int last = tiles * (tiles + 1) / 2 - 1 - int(blockIdx.x);
    int down = int((sqrtf(8.0f * last + 1) - 1) / 2);
    down += (down + 1) * (down + 2) / 2 <= last ? 1 : 0;
    down -= down * (down + 1) / 2 > last ? 1 : 0;
    const int across = last - down * (down + 1) / 2;
    const int top = down * side, first = across * side;
    y += size_t(blockIdx.z) * n * k;
    real_of<E> weight = 0;
    if (RankOne) {
        double total = 0;
        for (int part = threadIdx.x; part < parts; part += update_threads) {
            total += partial[size_t(blockIdx.z) * parts + part];
        }
        total = block_sum<update_threads>(total);
        const double by = d[blockIdx.z];
        const double whole = 1 + by * total;
        const double least = fmax(1.0, fabs(whole)) * smallest_share<E>;
        const int code = !is_finite(whole) ? -1 : fabs(whole) <= least ? 1 : 0;
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            status[blockIdx.z] = code;
        }
        if (code) {
            return;
        }
        weight = real_of<E>(-by / whole);
    } else {
        if (status[blockIdx.z]) {
            return;
        }
        m += size_t(blockIdx.z) * k * k;
    }
    // Lane: columns first + lane and first + 32 + lane; warp: every 8th row.
    E sums[rows_a_warp][2];
#pragma unroll
    for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const int i = top + warp + update_rows * r, j = first + lane + 32 * c;
            sums[r][c] = number<E>(0);
            if (i < n && j <= i) {
                sums[r][c] = scaled(x.item()[size_t(i) * n + j], over_f);
            }
        }
    }
    for (int c0 = 0; c0 < k; c0 += columns) {
        __syncthreads();
        for (int e = threadIdx.x; e < side * columns; e += update_threads) {
            const int r = e / columns, c = e % columns;
            const bool there = c0 + c < k;
            E mine = number<E>(0);
            if (there && top + r < n) {
                if (RankOne) {
                    mine = y[top + r];
                } else {
                    for (int q = 0; q < k; ++q) {
                        mine = multiply_add(
                            mine, y[size_t(top + r) * k + q], m[q * k + c0 + c]);
                    }
                    mine = negative(mine);
                }
            }
            left[r][c] = mine;
            right[r][c] = there && first + r < n
                              ? conjugate(y[size_t(first + r) * k + c0 + c])
                              : number<E>(0);
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < columns; ++q) {
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    const E f = left[warp + update_rows * r][q];
                    const E g = right[lane + 32 * c][q];
                    if (RankOne) {
                        sums[r][c] = sum(sums[r][c], scaled(product(f, g), weight));
                    } else {
                        sums[r][c] = multiply_add(sums[r][c], f, g);
                    }
                }
            }
        }
    }
    // The tile, and by quarters of 32 x 32 its mirror image.
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
        const int half_down = quarter / 2, half_across = quarter % 2;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows_a_warp / 2; ++r) {
            const int within = warp + update_rows * r;
            const int i = top + 32 * half_down + within;
            const int j = first + 32 * half_across + lane;
            E value = sums[half_down * (rows_a_warp / 2) + r][half_across];
            if (i == j) {
                value = number<E>(re(value));
            }
            tile[within][lane] = value;
            if (i < n && j <= i) {
                x.item()[size_t(i) * n + j] = value;
            }
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows_a_warp / 2; ++r) {
            const int within = warp + update_rows * r;
            const int i = first + 32 * half_across + within; // row of the upper triangle
            const int j = top + 32 * half_down + lane;
            if (j < n && i < j) {
                x.item()[size_t(i) * n + j] = conjugate(tile[lane][within]);
            }
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
