/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_passes.cuh"
#include "kernels/symmetric/symmetric_schedule.h"
#include "kernels/symmetric/symmetric_shifts.cuh"
#include <cooperative_groups.h>

// What a panel of columns needs besides products: see symmetric_schedule.h.

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_rows = 32; //!< of a block that is inverted, a thread block's
constexpr int block_threads = 256;

//! Bytes of shared memory that invert_block<W, Quarters> takes.
template <typename W>
constexpr size_t block_shared_bytes(int columns)
{
    return sizeof(W) * block_rows * (columns + block_rows + 1 + 4);
}

/*!
 * The inverse of a panel's own rows, of an order up to 32 Parts, by Gauss-Jordan
 * elimination in steps of 32 rows: `Parts` thread blocks of a cooperative launch hold 32
 * rows each in shared memory. The block whose turn it is inverts its 32 x 32 corner,
 * multiplies its rows by that and publishes them; after a barrier, all others subtract
 * their share. A pivot that is not above 0 makes a positive definite matrix fail, and of
 * another one a pivot below `tiny` is replaced by that.
 *
 * Where shifts are kept, the pivots of a corner are taken from the largest on its
 * diagonal on, small ones are shifted, and the others' factors are the published rows
 * themselves, as they were, so that both triangles stay those of one symmetric matrix:
 * what is not symmetric is lost digits, a hundred times over, when pivots are small.
 *
 * d: the rows, of which the lower triangle is read. p: the inverse, exactly symmetric.
 * exchange: 64 Parts rows of `stride`, for what is published.
 */
template <typename W, int Parts>
__global__ void __launch_bounds__(block_threads) invert_block(const W* d,
                                                              int order,
                                                              W* p,
                                                              W* exchange,
                                                              int stride,
                                                              bool positive,
                                                              real_of<W> tiny,
                                                              int first,
                                                              unsigned* state,
                                                              pivot_shifts<W> shifts)
{
    constexpr int width = block_rows * Parts;
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    W* own = reinterpret_cast<W*>(dynamic_shared); // 32 rows of `width`
    W* factor = own + block_rows * width;          // 32 rows of 33
    W* shared_row = factor + block_rows * (block_rows + 1);
    W* shared_column = shared_row + 2 * block_rows;
    constexpr int factor_stride = block_rows + 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = blockIdx.x * block_rows;
    const bool shifting = shifts.count;

    for (int e = threadIdx.x; e < block_rows * width; e += block_threads) {
        const int i = top + e / width, j = e % width;
        W value = number<W>(i == j);
        if (i < order && j < order) {
            const W given = d[size_t(max(i, j)) * stride + min(i, j)];
            value = i < j ? conjugate(given) : i == j ? number<W>(re(given)) : given;
        }
        own[e] = value;
    }
    __syncthreads();

    constexpr int rows_a_warp = block_rows * 32 / block_threads;
    const int my_rows = warp * rows_a_warp;
    // sums[r][q] += factor[my_rows + r][:] times column lane + 32 q of `right`
    const auto add_product =
        [&](W(&sums)[rows_a_warp][Parts], const W* right, int apart) {
#pragma unroll 4
            for (int k = 0; k < block_rows; ++k) {
                W element[Parts];
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    element[q] = right[size_t(k) * apart + lane + 32 * q];
                }
#pragma unroll
                for (int r = 0; r < rows_a_warp; ++r) {
                    const W f = factor[(my_rows + r) * factor_stride + k];
#pragma unroll
                    for (int q = 0; q < Parts; ++q) {
                        sums[r][q] = multiply_add(sums[r][q], f, element[q]);
                    }
                }
            }
        };

    for (int turn = 0; turn < Parts; ++turn) {
        const int corner = turn * block_rows;
        W* published = exchange + size_t(corner) * stride;
        W* given = published + size_t(width) * stride;
        if (int(blockIdx.x) == turn) {
            // The corner, 4 elements of a row a thread.
            const int i = threadIdx.x / 8, j0 = threadIdx.x % 8 * 4;
            W e[4];
            int shifted = 0;
            real_of<W> largest = 0, diagonal = 0; // of row `lane`
            bool taken = false;
            if (shifting) {
                shifted = *static_cast<volatile int*>(shifts.count);
                for (int at = threadIdx.x; at < block_rows * width; at += block_threads) {
                    given[size_t(at / width) * stride + at % width] = own[at];
                }
                for (int t = 0; t < block_rows; ++t) {
                    const int other = (lane + t) % block_rows; // in a bank of its own
                    largest = fmax(largest, size_of(own[lane * width + corner + other]));
                }
                for (int apart = 16; apart; apart /= 2) {
                    largest = fmax(largest, __shfl_xor_sync(0xffffffff, largest, apart));
                }
                diagonal = re(own[lane * width + corner + lane]);
            }
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int j = j0 + c;
                const bool mirrored = shifting && i < j;
                const W there =
                    own[(mirrored ? j : i) * width + corner + (mirrored ? i : j)];
                e[c] = mirrored ? conjugate(there) : there;
            }
            for (int step = 0; step < block_rows; ++step) {
                const int k =
                    shifting ? lane_of_largest(float(fabs(diagonal)), taken) : step;
                W* row = shared_row + step % 2 * block_rows;
                W* column = shared_column + step % 2 * block_rows;
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    if (i == k) {
                        row[j0 + c] = e[c];
                    }
                    if (j0 + c == k) {
                        column[i] = e[c];
                    }
                }
                __syncthreads();
                auto pivot = re(row[k]);
                if (positive && !(pivot > 0)) {
                    if (threadIdx.x == 0) {
                        atomicMin(state, unsigned(first + corner + k + 1));
                    }
                    pivot = 1;
                } else if (shifting &&
                           fabs(pivot) < real_of<W>(smallest_pivot_share) * largest &&
                           shifted < shifts.most && corner + k < order) {
                    const auto made = pivot < 0 ? -largest : largest;
                    if (threadIdx.x == 0) {
                        shifts.rows[shifted] = first + corner + k;
                        shifts.amounts[shifted] = made - pivot;
                    }
                    ++shifted;
                    pivot = made;
                } else if (fabs(pivot) < tiny) {
                    pivot = pivot < 0 ? -tiny : tiny;
                }
                const auto over = 1 / pivot;
                if (shifting) {
                    taken = taken || lane == k;
                    diagonal -= re(product(column[lane], conjugate(column[lane]))) * over;
                }
                const W f = scaled(column[i], -over);
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int j = j0 + c;
                    if (i == k) {
                        e[c] = j == k ? number<W>(over) : scaled(row[j], over);
                    } else {
                        e[c] = j == k ? f : multiply_add(e[c], f, row[j]);
                    }
                }
            }
            if (shifting && threadIdx.x == 0) {
                *shifts.count = shifted;
            }
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                factor[i * factor_stride + j0 + c] = e[c];
                own[i * width + corner + j0 + c] = number<W>(i == j0 + c);
            }
            __syncthreads();
            W sums[rows_a_warp][Parts];
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    sums[r][q] = number<W>(0);
                }
            }
            add_product(sums, own, width);
            __syncthreads();
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    own[(my_rows + r) * width + lane + 32 * q] = sums[r][q];
                    published[size_t(my_rows + r) * stride + lane + 32 * q] = sums[r][q];
                }
            }
        }
        if (Parts > 1) {
            cooperative_groups::this_grid().sync();
        }
        if (int(blockIdx.x) != turn) {
            // Rows that had their turn have exchanged their sign.
            const auto sign = real_of<W>(int(blockIdx.x) < turn ? 1 : -1);
            for (int e = threadIdx.x; e < block_rows * block_rows; e += block_threads) {
                if (shifting) {
                    const int r = e % block_rows, k = e / block_rows;
                    factor[r * factor_stride + k] =
                        scaled(conjugate(given[size_t(k) * stride + top + r]), sign);
                    own[k * width + corner + r] = number<W>(0);
                } else {
                    W& element = own[e / block_rows * width + corner + e % block_rows];
                    factor[e / block_rows * factor_stride + e % block_rows] =
                        negative(element);
                    element = number<W>(0);
                }
            }
            __syncthreads();
            W sums[rows_a_warp][Parts];
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    sums[r][q] = own[(my_rows + r) * width + lane + 32 * q];
                }
            }
            add_product(sums, published, stride);
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    own[(my_rows + r) * width + lane + 32 * q] = sums[r][q];
                }
            }
        }
        __syncthreads();
    }
    for (int e = threadIdx.x; e < block_rows * width; e += block_threads) {
        const int i = top + e / width, j = e % width;
        if (i < order && j <= i) {
            const W value = i == j ? number<W>(re(own[e])) : own[e];
            p[size_t(i) * stride + j] = value;
            p[size_t(j) * stride + i] = conjugate(value);
        }
    }
}

//! Whole columns of a panel from the lower triangle `a` of the order given. blockIdx =
//! tile; panels begin at multiples of the tiles' side.
template <typename W>
__global__ void gather_panel(device_matrix<const W> a,
                             int order,
                             symmetric_panel panel,
                             device_matrix<W> to)
{
    __shared__ W tile[tile_side][tile_side + 1];
    const int top = blockIdx.y * tile_side, left = blockIdx.x * tile_side;
    const int x = threadIdx.x;
    const bool mirrored = top < panel.first + left;
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        // Row y of the tile as it lies in memory.
        const int i = mirrored ? panel.first + left + y : top + y;
        const int j = mirrored ? top + x : panel.first + left + x;
        if (i < order && j < order) {
            const W value = a.data[size_t(i) * a.stride + j];
            if (mirrored) {
                tile[x][y] = conjugate(value);
            } else {
                tile[y][x] = value;
            }
        }
    }
    __syncthreads();
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        if (top + y < order && left + x < panel.columns) {
            to.data[size_t(top + y) * to.stride + left + x] = tile[y][x];
        }
    }
}

//! W and -P to the columns of the panel in the lower triangle `a`. blockIdx = tile of W
template <typename W>
__global__ void scatter_panel(device_matrix<const W> w,
                              device_matrix<const W> p,
                              int order,
                              symmetric_panel panel,
                              device_matrix<W> a)
{
    __shared__ W tile[tile_side][tile_side + 1];
    const int top = blockIdx.y * tile_side, left = blockIdx.x * tile_side;
    const int x = threadIdx.x;
    const int end = panel.first + panel.columns;
    const bool in_panel = top >= panel.first && top < end;
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        const int i = top + y, c = left + x;
        if (i < order && c < panel.columns) {
            if (i < panel.first) {
                tile[y][x] = conjugate(w.data[size_t(i) * w.stride + c]);
            } else if (!in_panel) {
                a.data[size_t(i) * a.stride + panel.first + c] =
                    w.data[size_t(i) * w.stride + c];
            } else if (i < end) {
                a.data[size_t(i) * a.stride + panel.first + c] =
                    negative(p.data[size_t(i - panel.first) * p.stride + c]);
            }
        }
    }
    if (top >= panel.first) {
        return;
    }
    __syncthreads();
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        if (left + y < panel.columns) {
            a.data[size_t(panel.first + left + y) * a.stride + top + x] = tile[x][y];
        }
    }
}

//! to (rows, columns) = from (columns, rows), conjugate transposed. blockIdx = tile of to
template <typename W>
__global__ void
transpose(device_matrix<const W> from, int rows, int columns, device_matrix<W> to)
{
    __shared__ W tile[tile_side][tile_side + 1];
    const int top = blockIdx.y * tile_side, left = blockIdx.x * tile_side;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        if (left + y < columns && top + x < rows) {
            tile[y][x] = conjugate(from.data[size_t(left + y) * from.stride + top + x]);
        }
    }
    __syncthreads();
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        if (top + y < rows && left + x < columns) {
            to.data[size_t(top + y) * to.stride + left + x] = tile[x][y];
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
