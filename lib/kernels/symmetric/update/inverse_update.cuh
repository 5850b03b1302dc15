/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/update/tiles.cuh"

// X <- X / f - Y M Y^H with Y = X V / f and M = D (I + V^H Y D)^-1, Hermitian.
// For a rank of one M is a number. The lower triangle is read tile by tile for Y, and
// then from the last tile to the first for the change. So the second pass begins with
// tiles that the L2 cache still holds. An update reads n^2 / 2 elements, and up to n^2 /
// 2 of them again, and writes n^2. A copy reads n^2 and writes n^2.

namespace gr::cudaphy::kernels {
namespace {

//! A pivot must be above this share of the largest element.
template <typename E>
constexpr double smallest_share = 16 * double(unit_roundoff<real_of<E>>);

/*!
 * The parts of X v, (tiles, n), one for each column of tiles. A tile's sums over its rows
 * are the part of the tile's own column of tiles. Its sums over its columns are the part
 * of its mirror image's column of tiles. blockIdx.x: tile
 */
template <typename E>
__global__ void __launch_bounds__(update_threads)
    multiply_triangle(device_matrix<const E> x, const E* v, int n, bool aligned, E* parts)
{
    constexpr int warps = update_threads / 32;
    __shared__ E row_sums[update_side];
    __shared__ E column_sums[warps][update_side];
    const tile_place at(blockIdx.x);
    v += size_t(blockIdx.z) * n;
    parts += size_t(blockIdx.z) * ((n + update_side - 1) / update_side) * n;
    E e[4][4];
    load_tile(x.item(), n, at, aligned, e);
    E rows[4], columns[4]; // elements of v
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int i = at.top + tile_row(k), j = at.first + tile_column<E>(k);
        rows[k] = i < n ? v[i] : number<E>(0);
        columns[k] = j < n ? v[j] : number<E>(0);
    }
    E across[4], down[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        across[k] = number<E>(0);
        down[k] = number<E>(0);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            across[r] = multiply_add(across[r], e[r][q], columns[q]);
            if (at.top + tile_row(r) != at.first + tile_column<E>(q)) {
                down[q] = multiply_add(down[q], conjugate(e[r][q]), rows[r]);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        across[k] = lanes_sum<lanes_a_row>(across[k]);
        down[k] = sum(down[k], of_lane_beside<lanes_a_row>(down[k]));
        if (threadIdx.x % lanes_a_row == 0) {
            row_sums[tile_row(k)] = across[k];
        }
        if (threadIdx.x % 32 < lanes_a_row) {
            column_sums[threadIdx.x / 32][tile_column<E>(k)] = down[k];
        }
    }
    __syncthreads();
    if (threadIdx.x >= update_side) {
        return;
    }
    E whole_row = row_sums[threadIdx.x], whole_column = number<E>(0);
#pragma unroll
    for (int w = 0; w < warps; ++w) {
        whole_column = sum(whole_column, column_sums[w][threadIdx.x]);
    }
    const int i = at.top + threadIdx.x, j = at.first + threadIdx.x;
    if (at.top == at.first) {
        whole_row = sum(whole_row, whole_column);
    } else {
        parts[size_t(at.top / update_side) * n + j] = whole_column;
    }
    if (i < n) {
        parts[size_t(at.first / update_side) * n + i] = whole_row;
    }
}

//! y = the sum of the parts / f, and each thread block's part of v^H y. blockIdx.x: group
//! of 64 rows
template <typename E>
__global__ void __launch_bounds__(update_threads) sum_products(
    const E* parts, const E* v, int n, real_of<E> over_f, E* y, double* weights)
{
    using V = wide_of<E>;
    constexpr int at_once = update_threads / update_side;
    __shared__ E totals[at_once][update_side];
    const int row = threadIdx.x % update_side, group = threadIdx.x / update_side;
    const int i = blockIdx.x * update_side + row;
    const int tiles = (n + update_side - 1) / update_side;
    parts += size_t(blockIdx.z) * tiles * n;
    E total = number<E>(0);
    if (i < n) {
#pragma unroll 8
        for (int part = group; part < tiles; part += at_once) {
            total = sum(total, parts[size_t(part) * n + i]);
        }
    }
    totals[group][row] = total;
    __syncthreads();
    double weight = 0;
    if (group == 0 && i < n) {
        for (int other = 1; other < at_once; ++other) {
            total = sum(total, totals[other][row]);
        }
        total = scaled(total, over_f);
        const size_t at = size_t(blockIdx.z) * n + i;
        y[at] = total;
        weight = re(product(conjugate(converted<V>(v[at])), converted<V>(total)));
        // An imaginary part that is not finite would be lost without this NaN.
        weight += is_finite(total) ? 0 : double(nan(""));
    }
    weight = block_sum<update_threads>(weight);
    if (threadIdx.x == 0) {
        weights[size_t(blockIdx.z) * gridDim.x + blockIdx.x] = weight;
    }
}

//! X <- X / f - d / (1 + d v^H y) y y^H. blockIdx.x: tile
template <typename E>
__global__ void __launch_bounds__(update_threads) change_by_one(device_matrix<E> x,
                                                                int n,
                                                                bool aligned,
                                                                real_of<E> over_f,
                                                                const E* y,
                                                                const double* weights,
                                                                const real_of<E>* d,
                                                                int* status)
{
    using shape = tile_shape<E>;
    __shared__ elements_of_16_bytes<E> turned[shape::chunk * shape::units];
    const tile_place at(gridDim.x - 1 - blockIdx.x);
    E e[4][4];
    load_tile<E>(x.item(), n, at, aligned, e);
    const int parts = (n + update_side - 1) / update_side;
    double total = 0;
    for (int part = threadIdx.x; part < parts; part += update_threads) {
        total += weights[size_t(blockIdx.z) * parts + part];
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
    const auto weight = real_of<E>(-by / whole);
    y += size_t(blockIdx.z) * n;
    E columns[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
        const int j = at.first + tile_column<E>(q);
        columns[q] = j < n ? conjugate(y[j]) : number<E>(0);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = at.top + tile_row(r);
        const E row = i < n ? scaled(y[i], weight) : number<E>(0);
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            e[r][q] = multiply_add(scaled(e[r][q], over_f), row, columns[q]);
        }
    }
    store_tile_and_mirror(x.item(), n, at, aligned, e, turned);
}

//! Columns of Y and Y M that are in shared memory at once, and elements from one column
//! to the next.
template <typename E>
constexpr int columns_at_once = sizeof(E) == 4 ? 16 : 8;
template <typename E>
constexpr int column_stride = update_side + tile_shape<E>::count;

//! X <- X / f - Z Y^H with Z = Y M, both of shape (n, k). blockIdx.x: tile
template <typename E>
__global__ void __launch_bounds__(update_threads) change_by_many(device_matrix<E> x,
                                                                 int n,
                                                                 bool aligned,
                                                                 int k,
                                                                 real_of<E> over_f,
                                                                 const E* y,
                                                                 const E* z,
                                                                 const int* status)
{
    using shape = tile_shape<E>;
    using group = typename shape::group;
    constexpr int columns = columns_at_once<E>;
    constexpr int apart = column_stride<E> / shape::count; // in groups
    constexpr int staged = columns * apart;
    constexpr int mirrored = shape::chunk * shape::units;
    constexpr int groups = 2 * staged < mirrored ? mirrored : 2 * staged;
    __shared__ group space[groups];
    if (status[blockIdx.z]) {
        return;
    }
    const tile_place at(gridDim.x - 1 - blockIdx.x);
    y += size_t(blockIdx.z) * n * k;
    z += size_t(blockIdx.z) * n * k;
    E* const left = reinterpret_cast<E*>(space);           // -Z, column after column
    E* const right = reinterpret_cast<E*>(space + staged); // conjugate of Y
    E e[4][4];
    load_tile<E>(x.item(), n, at, aligned, e);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            e[r][q] = scaled(e[r][q], over_f);
        }
    }
    for (int c0 = 0; c0 < k; c0 += columns) {
        __syncthreads();
        for (int s = threadIdx.x; s < update_side * columns; s += update_threads) {
            const int row = s / columns, c = s % columns;
            const bool there = c0 + c < k;
            const int i = at.top + row, j = at.first + row;
            left[c * column_stride<E> + row] =
                there && i < n ? negative(z[size_t(i) * k + c0 + c]) : number<E>(0);
            right[c * column_stride<E> + row] =
                there && j < n ? conjugate(y[size_t(j) * k + c0 + c]) : number<E>(0);
        }
        __syncthreads();
        const int count = min(columns, k - c0);
#pragma unroll 4
        for (int c = 0; c < count; ++c) {
            E rows[4], across[4];
#pragma unroll
            for (int h = 0; h < shape::chunks; ++h) {
                const group down = *reinterpret_cast<const group*>(
                    left + c * column_stride<E> + tile_row(h * shape::count));
                const group beside = *reinterpret_cast<const group*>(
                    right + c * column_stride<E> + tile_column<E>(h * shape::count));
#pragma unroll
                for (int q = 0; q < shape::count; ++q) {
                    rows[h * shape::count + q] = down.e[q];
                    across[h * shape::count + q] = beside.e[q];
                }
            }
#pragma unroll
            for (int r = 0; r < 4; ++r) {
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    e[r][q] = multiply_add(e[r][q], rows[r], across[q]);
                }
            }
        }
    }
    store_tile_and_mirror(x.item(), n, at, aligned, e, space);
}

} // namespace
} // namespace gr::cudaphy::kernels
