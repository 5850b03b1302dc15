/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/passes.cuh"
#include <cuda_pipeline_primitives.h>

// Products of float64 by tensor cores, as panels need them. Both factors have rows of up
// to a few hundred elements. One launch updates a strip or a triangle.

namespace gr::cudaphy::kernels {
namespace {

//! Rows and columns that a product need not update; none by default.
struct rows_left_out {
    int first = 0, end = 0;
    __device__ bool has(int from, int to) const { return from >= first && to <= end; }
};

constexpr int band = symmetric_tuning::tensor::band;

//! c += a b, a is 16 x 8 and b is 8 x 8. The inner index may have any order that is the
//! same in both.
__device__ inline void
tensor_multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
                         "{%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                         : "d"(a[2 * k + half]), "d"(b[k]));
        }
    }
#endif
}

/*!
 * c = from + sign a b^T; a null `from` counts as zeros. a (rows, inner), b (columns,
 * inner); inner is a multiple of 16, columns of 2. If `triangle`, only the tiles that
 * touch the lower triangle are computed. blockIdx.x = tile
 */
template <typename Tile>
__global__ void __launch_bounds__(Tile::threads)
    tensor_product(double sign,
                   device_matrix<const double> a,
                   device_matrix<const double> b,
                   device_matrix<const double> from,
                   device_matrix<double> c,
                   int rows,
                   int columns,
                   int inner,
                   bool triangle,
                   rows_left_out left_out)
{
#if __CUDA_ARCH__ >= 800
    constexpr int step = Tile::step, chunks = step / 2; // of 16 bytes
    constexpr int in_rows = Tile::rows + Tile::columns;
    constexpr int down = Tile::warp_rows / 16, across = Tile::warp_columns / 8;
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    double2* const shared = reinterpret_cast<double2*>(dynamic_shared);

    int down_at, across_at;
    if (triangle) {
        // Tiles are numbered by bands of tile rows, and column by column in a band. So
        // blocks that run at the same time share factors in the L2 cache. Before band i
        // there are i (i + 1) / 2 squares.
        constexpr int square = band * band * Tile::rows / Tile::columns;
        const int t = blockIdx.x / square;
        int i = int((sqrtf(8.f * t + 1) - 1) / 2);
        while ((i + 1) * (i + 2) / 2 <= t) {
            ++i;
        }
        while (i * (i + 1) / 2 > t) {
            --i;
        }
        const int in_band = blockIdx.x - square * (i * (i + 1) / 2);
        down_at = i * band + in_band % band;
        across_at = in_band / band;
    } else {
        const int tiles = (columns + Tile::columns - 1) / Tile::columns;
        down_at = blockIdx.x / tiles;
        across_at = blockIdx.x % tiles;
    }
    const int top = down_at * Tile::rows, left = across_at * Tile::columns;
    if (top >= rows || left >= columns || (triangle && left >= top + Tile::rows) ||
        left_out.has(top, min(top + Tile::rows, rows)) ||
        left_out.has(left, min(left + Tile::columns, columns))) {
        return;
    }

    // Each row rotates its chunks by two more than the row before. Half a warp reads four
    // elements of each of four rows at once: no two of them lie in the same bank.
    const auto place = [](int row, int chunk) {
        return row * chunks + (chunk ^ ((row & 3) * 2));
    };
    const auto load = [&](int stage, int k) {
        for (int e = threadIdx.x; e < in_rows * chunks; e += Tile::threads) {
            const int row = e / chunks, chunk = e % chunks;
            const bool of_a = row < Tile::rows;
            const int at = of_a ? top + row : left + row - Tile::rows;
            const int most = of_a ? rows : columns;
            const double* line = of_a ? a.data + size_t(min(at, most - 1)) * a.stride
                                      : b.data + size_t(min(at, most - 1)) * b.stride;
            __pipeline_memcpy_async(shared + stage * in_rows * chunks + place(row, chunk),
                                    line + k + 2 * chunk,
                                    16);
        }
    };
    const int steps = inner / step;
    for (int s = 0; s < Tile::stages - 1; ++s) {
        if (s < steps) {
            load(s, s * step);
        }
        __pipeline_commit();
    }

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group = lane / 4, in_group = lane % 4;
    constexpr int warps_across = Tile::columns / Tile::warp_columns;
    const int warp_top = warp / warps_across * Tile::warp_rows;
    const int warp_left = warp % warps_across * Tile::warp_columns;
    double sums[down][across][4];
    // Calls `use` for each pair of elements that the lane holds.
    const auto each_pair = [&](const auto& use) {
#pragma unroll
        for (int i = 0; i < down; ++i) {
#pragma unroll
            for (int j = 0; j < across; ++j) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = top + warp_top + 16 * i + 8 * half + group;
                    const int column = left + warp_left + 8 * j + 2 * in_group;
                    use(row < rows && column < columns,
                        row,
                        column,
                        sums[i][j] + 2 * half);
                }
            }
        }
    };
    each_pair([&](bool there, int row, int column, double* pair) {
        double2 value = { 0, 0 };
        if (from.data && there) {
            value = *reinterpret_cast<const double2*>(from.data +
                                                      size_t(row) * from.stride + column);
        }
        pair[0] = value.x * sign;
        pair[1] = value.y * sign;
    });
    for (int s = 0; s < steps; ++s) {
        __pipeline_wait_prior(Tile::stages - 2);
        __syncthreads();
        const int ahead = s + Tile::stages - 1;
        if (ahead < steps) {
            load(ahead % Tile::stages, ahead * step);
        }
        __pipeline_commit();
        // Loads the elements one by one into the registers that tensor cores read. Loads
        // of pairs along the inner index would need more moves than there is arithmetic.
        const double* from_a =
            reinterpret_cast<const double*>(shared + s % Tile::stages * in_rows * chunks);
        const auto element = [&](int row, int k) {
            return from_a[2 * place(row, k / 2) + k % 2];
        };
#pragma unroll
        for (int k = in_group; k < step + in_group; k += 8) {
            double right[across][2];
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const int row = Tile::rows + warp_left + 8 * j + group;
                right[j][0] = element(row, k);
                right[j][1] = element(row, k + 4);
            }
#pragma unroll
            for (int i = 0; i < down; ++i) {
                const int row = warp_top + 16 * i + group;
                const double left_part[4] = { element(row, k),
                                              element(row + 8, k),
                                              element(row, k + 4),
                                              element(row + 8, k + 4) };
#pragma unroll
                for (int j = 0; j < across; ++j) {
                    tensor_multiply_add(sums[i][j], left_part, right[j]);
                }
            }
        }
    }
    each_pair([&](bool there, int row, int column, const double* pair) {
        if (there) {
            *reinterpret_cast<double2*>(c.data + size_t(row) * c.stride +
                                        column) = { pair[0] * sign, pair[1] * sign };
        }
    });
#endif
}

/*!
 * \brief The products of panels by tensor cores. The device's tensor cores must take
 * float64, and the device must be at least half as fast in float64 as in float32.
 */
class tensor_products
{
public:
    //! \param device  the current device
    //! \returns whether the products can run on it
    bool prepare(int device)
    {
        int ratio = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device),
                   "cudaDeviceGetAttribute");
        cudaFuncAttributes compiled = {};
        cuda_check(cudaFuncGetAttributes(&compiled, tensor_product<triangle_tile>),
                   "cudaFuncGetAttributes");
        if (ratio > 2 || compiled.ptxVersion < 80) {
            return false;
        }
        allow<triangle_tile>();
        allow<strip_tile>();
        allow<corner_tile>();
        return true;
    }

    //! The lower triangle of c -= a b^T. Rows and columns of `left_out` need not be right
    //! afterwards.
    static void subtract_triangle(device_matrix<const double> a,
                                  device_matrix<const double> b,
                                  device_matrix<double> c,
                                  int order,
                                  int inner,
                                  rows_left_out left_out,
                                  cudaStream_t stream)
    {
        constexpr int rows = band * triangle_tile::rows;
        const int bands = (order + rows - 1) / rows;
        launch<triangle_tile>(band * (rows / triangle_tile::columns) *
                                  (bands * (bands + 1) / 2),
                              stream,
                              -1,
                              a,
                              b,
                              constant(c),
                              c,
                              order,
                              order,
                              inner,
                              true,
                              left_out);
    }

    //! c = from + sign a b^T, fastest for few columns.
    static void multiply_strip(double sign,
                               device_matrix<const double> a,
                               device_matrix<const double> b,
                               device_matrix<const double> from,
                               device_matrix<double> c,
                               int rows,
                               int columns,
                               int inner,
                               cudaStream_t stream)
    {
        launch_all<strip_tile>(stream, sign, a, b, from, c, rows, columns, inner);
    }

    //! c = from + sign a b^T, with the least latency for few rows and columns.
    static void multiply_corner(double sign,
                                device_matrix<const double> a,
                                device_matrix<const double> b,
                                device_matrix<const double> from,
                                device_matrix<double> c,
                                int rows,
                                int columns,
                                int inner,
                                cudaStream_t stream)
    {
        launch_all<corner_tile>(stream, sign, a, b, from, c, rows, columns, inner);
    }

private:
    using triangle_tile = symmetric_tuning::tensor::triangle_tile;
    using strip_tile = symmetric_tuning::tensor::strip_tile;
    using corner_tile = symmetric_tuning::tensor::corner_tile;

    template <typename Tile>
    static void allow()
    {
        cuda_check(cudaFuncSetAttribute(tensor_product<Tile>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Tile::shared_bytes),
                   "cudaFuncSetAttribute");
    }
    template <typename Tile>
    static void launch_all(cudaStream_t stream,
                           double sign,
                           device_matrix<const double> a,
                           device_matrix<const double> b,
                           device_matrix<const double> from,
                           device_matrix<double> c,
                           int rows,
                           int columns,
                           int inner)
    {
        const int down = (rows + Tile::rows - 1) / Tile::rows;
        const int across = (columns + Tile::columns - 1) / Tile::columns;
        launch<Tile>(down * across,
                     stream,
                     sign,
                     a,
                     b,
                     from,
                     c,
                     rows,
                     columns,
                     inner,
                     false,
                     rows_left_out());
    }
    template <typename Tile, typename... Arguments>
    static void launch(int tiles, cudaStream_t stream, const Arguments&... arguments)
    {
        tensor_product<Tile>
            <<<tiles, Tile::threads, Tile::shared_bytes, stream>>>(arguments...);
        cuda_check_launch("symmetric_inverse: tensor_product");
    }
};

} // namespace
} // namespace gr::cudaphy::kernels
