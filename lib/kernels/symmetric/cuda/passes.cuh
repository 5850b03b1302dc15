/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/element.cuh"
#include "kernels/symmetric/cuda/tuning.cuh"

// Passes over whole symmetric matrices that are given by their lower triangle. blockIdx.z
// is the index of the matrix in its batch.

namespace gr::cudaphy::kernels {
namespace {

//! The states of a matrix; 1..n is the step that failed. The smallest state that a block
//! reports counts, so the order of the blocks does not matter. finish_symmetric() turns
//! it into a status.
constexpr unsigned good_state = 0xffffffff; //!< of memory set to bytes 0xff
constexpr unsigned input_not_finite = 0;
constexpr unsigned result_not_finite = 0x7fffffff;

//! One matrix, or a batch of matrices from the first on.
template <typename E>
struct device_matrix {
    E* data;
    int stride;
    size_t to_next = 0;

    __device__ E* item() const { return data + blockIdx.z * to_next; }
};

template <typename Item>
device_matrix<const Item> constant(device_matrix<Item> a)
{
    return { a.data, a.stride, a.to_next };
}
template <typename Item>
device_matrix<Item> item_of(device_matrix<Item> a, int item)
{
    return { a.data + item * a.to_next, a.stride, a.to_next };
}
template <typename Item>
device_matrix<Item> single(device_matrix<Item> a)
{
    return { a.data, a.stride, 0 };
}

constexpr int tile_side = 32;
constexpr int tile_threads_down = symmetric_tuning::passes::tile_threads_down;

//! The power of two that scales the largest element's size into [1, 2), within R's range.
//! largest: that size, as the bits of a double; null: the scale is 1
template <typename R>
__device__ inline R scale_of(const unsigned long long* largest)
{
    const double size = largest ? __longlong_as_double(largest[blockIdx.z]) : 1.0;
    if (!(size > 0) || !is_finite(size)) {
        return 1;
    }
    const int most = std::is_same_v<R, float> ? 120 : 1000;
    return R(scalbn(1.0, max(-most, min(most, -ilogb(size)))));
}

constexpr int examine_rows = symmetric_tuning::passes::examine_rows;
constexpr int examine_threads = 32 * examine_rows;

//! Finds elements that are not finite, and the size of the largest element.
//! blockIdx.x: group of rows
template <typename E>
__global__ void __launch_bounds__(examine_threads) examine_symmetric(
    device_matrix<const E> a, int n, unsigned* states, unsigned long long* largest)
{
    const E* from = a.item();
    bool finite = true;
    real_of<E> most = 0;
    // One warp for each row. It has several loads of the row under way at once.
    constexpr int at_once = symmetric_tuning::passes::examine_loads;
    const int i = blockIdx.x * examine_rows + threadIdx.x / 32;
    const E* row = from + size_t(min(i, n - 1)) * a.stride;
    for (int j = threadIdx.x % 32; i < n && j <= i; j += 32 * at_once) {
        E values[at_once];
#pragma unroll
        for (int c = 0; c < at_once; ++c) {
            values[c] = row[min(j + 32 * c, i)];
        }
#pragma unroll
        for (int c = 0; c < at_once; ++c) {
            const E value = j + 32 * c >= i ? number<E>(re(values[c])) : values[c];
            finite = finite && is_finite(value);
            most = fmax(most, size_of(value));
        }
    }
    if (!finite) {
        atomicMin(states + blockIdx.z, input_not_finite);
    }
    for (int apart = 16; apart; apart /= 2) {
        most = fmax(most, __shfl_xor_sync(0xffffffff, most, apart));
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(largest + blockIdx.z,
                  static_cast<unsigned long long>(__double_as_longlong(double(most))));
    }
}

//! The lower triangle, scaled, with ones on the diagonal of rows n to m.
//! blockIdx = tile
template <typename E, typename W>
__global__ void load_triangle(device_matrix<const E> a,
                              int n,
                              device_matrix<W> work,
                              int m,
                              const unsigned long long* largest)
{
    const auto scale = scale_of<real_of<W>>(largest);
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < m && j <= i) {
            W value = number<W>(i == j);
            if (i < n) {
                value = scaled(converted<W>(a.item()[size_t(i) * a.stride + j]), scale);
                if (i == j) {
                    value = number<W>(re(value));
                }
            }
            work.item()[size_t(i) * work.stride + j] = value;
        }
    }
}

//! Writes the lower triangle of `from`, times `factor` and scale_of(largest), to both
//! triangles of `to`. `to` may be the same matrix. blockIdx = tile
template <typename From, typename To>
__global__ void write_both(device_matrix<const From> from,
                           int n,
                           device_matrix<To> to,
                           double factor,
                           const unsigned long long* largest,
                           unsigned* states)
{
    if (blockIdx.x > blockIdx.y) {
        return;
    }
    __shared__ To tile[tile_side][tile_side + 1];
    const auto scale = scale_of<real_of<From>>(largest) * real_of<From>(factor);
    const int top = blockIdx.y * tile_side, left = blockIdx.x * tile_side;
    const int x = threadIdx.x;
    bool finite = true;
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        const int i = top + y, j = left + x;
        if (i < n && j <= i) {
            auto value = scaled(from.item()[size_t(i) * from.stride + j], scale);
            if (i == j) {
                value = number<From>(re(value));
            }
            tile[y][x] = converted<To>(value);
            finite = finite && is_finite(tile[y][x]);
        }
    }
    if (states && !finite) {
        atomicMin(states + blockIdx.z, result_not_finite);
    }
    __syncthreads();
    for (int y = threadIdx.y; y < tile_side; y += tile_threads_down) {
        if (top + y < n && left + x <= top + y) {
            to.item()[size_t(top + y) * to.stride + left + x] = tile[y][x];
        }
        // Row left + y of the upper triangle.
        if (top + x < n && left + y < top + x) {
            to.item()[size_t(left + y) * to.stride + top + x] = conjugate(tile[x][y]);
        }
    }
}

//! Writes each status, and zeros to matrices that failed. blockIdx.x: group of rows
template <typename E>
__global__ void
finish_symmetric(device_matrix<E> x, int n, const unsigned* states, int* status)
{
    const unsigned state = states[blockIdx.z];
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        status[blockIdx.z] = state == good_state ? 0
                             : state == input_not_finite || state == result_not_finite
                                 ? -1
                                 : int(state);
    }
    if (state == good_state) {
        return;
    }
    const int first = blockIdx.x * examine_rows;
    for (int i = first; i < min(n, first + examine_rows); ++i) {
        for (int j = threadIdx.x; j < n; j += examine_threads) {
            x.item()[size_t(i) * x.stride + j] = number<E>(0);
        }
    }
}

//! The identity. blockIdx = tile
template <typename E>
__global__ void set_identity(device_matrix<E> to, int n)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < n && j < n) {
            to.item()[size_t(i) * to.stride + j] = number<E>(i == j);
        }
    }
}

//! to = from, both triangles, converted. blockIdx = tile
template <typename From, typename To>
__global__ void copy_matrix(device_matrix<const From> from, int n, device_matrix<To> to)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < n && j < n) {
            to.item()[size_t(i) * to.stride + j] =
                converted<To>(from.item()[size_t(i) * from.stride + j]);
        }
    }
}

//! to = diag(values)^-1 from. blockIdx = tile
template <typename E>
__global__ void divide_rows(device_matrix<const E> from,
                            int n,
                            const real_of<E>* values,
                            device_matrix<E> to)
{
    const int j = blockIdx.x * tile_side + threadIdx.x;
    for (int t = 0; t < tile_side; t += tile_threads_down) {
        const int i = blockIdx.y * tile_side + t + threadIdx.y;
        if (i < n && j < n) {
            to.item()[size_t(i) * to.stride + j] =
                scaled(from.item()[size_t(i) * from.stride + j], 1 / values[i]);
        }
    }
}

inline dim3 tiles_of(int rows, int columns, size_t batch = 1)
{
    return dim3((columns + tile_side - 1) / tile_side,
                (rows + tile_side - 1) / tile_side,
                unsigned(batch));
}
inline dim3 tile_block() { return dim3(tile_side, tile_threads_down); }
inline dim3 row_groups(int rows, size_t batch = 1)
{
    return dim3((rows + examine_rows - 1) / examine_rows, 1, unsigned(batch));
}

} // namespace
} // namespace gr::cudaphy::kernels
