/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"
#include "kernels/symmetric/cuda/schedule.h"

// The passes that panels of columns need beside products: see schedule.h.

namespace gr::cudaphy::kernels {
namespace {

//! Copies the whole columns of a panel out of the lower triangle `a`. Panels begin at
//! multiples of the tiles' side. blockIdx = tile
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
        // Row y of the tile as the lower triangle stores it.
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

//! Writes W to the panel's columns in the lower triangle `a`. The panel's own rows get
//! `sign` times P instead. blockIdx = tile of W
template <typename W>
__global__ void scatter_panel(device_matrix<const W> w,
                              device_matrix<const W> p,
                              int sign,
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
                a.data[size_t(i) * a.stride + panel.first + c] = scaled(
                    p.data[size_t(i - panel.first) * p.stride + c], real_of<W>(sign));
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

//! to = the panel's columns after its elimination: W, and -P in the panel's own rows.
//! blockIdx = tile
template <typename W>
__global__ void write_eliminated(device_matrix<const W> w,
                                 device_matrix<const W> p,
                                 int order,
                                 symmetric_panel panel,
                                 device_matrix<W> to)
{
    const int c = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < order && c < panel.columns) {
            const int own = i - panel.first;
            to.data[size_t(i) * to.stride + c] =
                own >= 0 && own < panel.columns
                    ? negative(p.data[size_t(own) * p.stride + c])
                    : w.data[size_t(i) * w.stride + c];
        }
    }
}

//! to (rows, columns) = from^H, from (columns, rows). blockIdx = tile of `to`
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
