/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/corner.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"

// Without libcu++, which takes 3 s of a source.
#define _CG_LIMIT_INCLUDED_DEPENDENCIES
#include <cooperative_groups.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_threads = symmetric_tuning::block::threads;
constexpr int corner_warp = block_threads / 32;

//! A barrier that threads may reach from several places of the code, which
//! __syncthreads() does not allow.
__device__ inline void wait_for_all()
{
    asm volatile("bar.sync 1, %0;" ::"n"(block_threads + 32) : "memory");
}

//! Bytes of shared memory that invert_block<W, Parts>() needs; columns: 32 Parts.
template <typename W>
constexpr size_t block_shared_bytes(int columns)
{
    return sizeof(W) * block_rows * (columns + 2 + 2 * (block_rows + 1));
}

/*!
 * Inverts a panel's own rows, of an order up to 32 Parts, by Gauss-Jordan elimination in
 * steps of 32 rows. Each thread block of a cooperative launch holds 32 rows in shared
 * memory. A step eliminates by the rows of one block, the pivot block:
 *
 * - The pivot block publishes its rows, and the inverse P of its 32 x 32 corner.
 * - After a barrier the pivot block multiplies its rows by P. Every other block subtracts
 *   A P times the pivot block's rows, where A are its elements in the pivot columns.
 * - The next pivot block updates its own corner first. One warp then inverts that corner
 *   while the other warps update the rest.
 *
 * So the critical path of a step is the inverse of one corner, two products of 32 x 32
 * and a barrier. A positive definite matrix fails at a pivot that is not above 0. In
 * other matrices `tiny` replaces a pivot below `tiny`.
 *
 * The other blocks take A from the published rows. So both triangles stay those of one
 * symmetric matrix. If they drifted apart, small pivots would multiply the lost digits a
 * hundredfold.
 *
 * d: the rows; only the lower triangle is read. p: the inverse, exactly symmetric.
 * exchange: 64 Parts rows of `stride` for the published rows and corners.
 * One block for each 32 rows of `order`.
 */
template <typename W, int Parts, bool Shifting>
__global__ void __launch_bounds__(block_threads + 32) invert_block(const W* d,
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
    constexpr int padded = block_rows + 1;
    constexpr int threads = block_threads + 32;
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    W* own = reinterpret_cast<W*>(dynamic_shared); // 32 rows of `width`
    W* shared_row = own + block_rows * width;      // 64, aligned to 16 bytes
    W* factor = shared_row + 2 * block_rows;       // 32 rows of 33
    W* given = factor + block_rows * padded;       // 32 rows of 33
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = blockIdx.x * block_rows;
    const int steps = gridDim.x;

    for (int e = threadIdx.x; e < block_rows * width; e += threads) {
        const int i = top + e / width, j = e % width;
        W value = number<W>(i == j);
        if (i < order && j < order) {
            const W there = d[size_t(max(i, j)) * stride + min(i, j)];
            value = i < j ? conjugate(there) : i == j ? number<W>(re(there)) : there;
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
                    const W f = factor[(my_rows + r) * padded + k];
#pragma unroll
                    for (int q = 0; q < Parts; ++q) {
                        sums[r][q] = multiply_add(sums[r][q], f, element[q]);
                    }
                }
            }
        };
    // Calls use(i, j, c) for the elements (i, j) of a 32 x 32 product that a multiplying
    // thread computes; c counts them.
    constexpr int apart = block_threads / block_rows;
    const auto each_small = [&](const auto& use) {
        if (warp != corner_warp) {
#pragma unroll
            for (int c = 0; c < block_rows / apart; ++c) {
                use(int(threadIdx.x) / apart, int(threadIdx.x) % apart + apart * c, c);
            }
        }
    };

    for (int step = 0; step <= steps; ++step) {
        const int corner = step * block_rows;
        const int before = corner - block_rows;
        const bool next = int(blockIdx.x) == step;
        const bool was_pivot = step > 0 && int(blockIdx.x) == step - 1;
        const bool subtracts = step > 0 && !was_pivot;
        W* const inverses = exchange + width * stride;
        const W* const published = exchange + before * stride;
        if (step > 0) {
            for (int e = threadIdx.x; e < block_rows * block_rows; e += threads) {
                const int i = e / block_rows, j = e % block_rows;
                factor[i * padded + j] = inverses[before * block_rows + e];
                if (subtracts) {
                    given[i * padded + j] = published[i * stride + top + j];
                }
            }
            __syncthreads();
        }
        if (subtracts) {
            // -A P. Blocks that were pivot blocks have the opposite sign.
            const auto sign = real_of<W>(int(blockIdx.x) < step - 1 ? 1 : -1);
            W sums[block_rows / apart];
            each_small([&](int, int, int c) { sums[c] = number<W>(0); });
#pragma unroll 8
            for (int k = 0; k < block_rows; ++k) {
                each_small([&](int i, int j, int c) {
                    sums[c] = multiply_add(sums[c],
                                           conjugate(given[k * padded + i]),
                                           factor[k * padded + j]);
                });
            }
            __syncthreads();
            each_small([&](int i, int j, int c) {
                factor[i * padded + j] = scaled(sums[c], sign);
                // The pivot block's rows count as the identity in these columns.
                own[i * width + before + j] = number<W>(0);
            });
            __syncthreads();
        }
        if (next && subtracts) {
            // The corner first, because the corner warp waits for it.
            W sums[block_rows / apart];
            each_small(
                [&](int i, int j, int c) { sums[c] = own[i * width + corner + j]; });
#pragma unroll 8
            for (int k = 0; k < block_rows; ++k) {
                each_small([&](int i, int j, int c) {
                    sums[c] = multiply_add(
                        sums[c], factor[i * padded + k], given[k * padded + j]);
                });
            }
            each_small(
                [&](int i, int j, int c) { own[i * width + corner + j] = sums[c]; });
            __syncthreads();
        }
        if (warp == corner_warp) {
            if (next) {
                W e[block_rows];
#pragma unroll
                for (int i = 0; i < block_rows; ++i) {
                    const bool mirrored = i < lane;
                    const W there = own[(mirrored ? lane : i) * width + corner +
                                        (mirrored ? i : lane)];
                    e[i] = mirrored ? conjugate(there) : there;
                }
                __syncwarp();
                const corner_pivots<W> pivots{ positive, tiny,  first, order,
                                               corner,   state, shifts };
                if constexpr (Shifting) {
                    invert_corner_shifting(e, shared_row, pivots);
                } else {
                    invert_corner(e, shared_row, pivots);
                }
#pragma unroll
                for (int i = 0; i < block_rows; ++i) {
                    inverses[(corner + i) * block_rows + lane] = e[i];
                    own[i * width + corner + lane] = number<W>(i == lane);
                }
            } else if (was_pivot) {
                wait_for_all();
            }
        } else if (step > 0) {
            W sums[rows_a_warp][Parts];
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    // The corner warp has these columns of the corner by now.
                    sums[r][q] = was_pivot || (next && q == step)
                                     ? number<W>(0)
                                     : own[(my_rows + r) * width + lane + 32 * q];
                }
            }
            if (was_pivot) {
                add_product(sums, own, width);
                wait_for_all();
            } else {
                add_product(sums, published, stride);
            }
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    if (!next || q != step) {
                        own[(my_rows + r) * width + lane + 32 * q] = sums[r][q];
                    }
                }
            }
        }
        if (next && warp != corner_warp) {
            // Publishes the rows while the corner warp inverts the corner.
            W* to = exchange + (corner + my_rows) * stride;
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    to[r * stride + lane + 32 * q] =
                        q == step ? number<W>(my_rows + r == lane)
                                  : own[(my_rows + r) * width + lane + 32 * q];
                }
            }
        }
        __syncthreads();
        if (step == steps) {
            break;
        }
        if (steps > 1) {
            cooperative_groups::this_grid().sync();
        }
    }
    for (int e = threadIdx.x; e < block_rows * width; e += threads) {
        const int i = top + e / width, j = e % width;
        if (i < order && j <= i) {
            const W value = i == j ? number<W>(re(own[e])) : own[e];
            p[size_t(i) * stride + j] = value;
            p[size_t(j) * stride + i] = conjugate(value);
        }
    }
}

//! \brief Launches invert_block() on a device, for panels of up to columns() columns.
template <typename W>
class block_inverter
{
public:
    void prepare(int device)
    {
        int most = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
        d_columns = widest;
        while (block_shared_bytes<W>(d_columns) > size_t(most)) {
            d_columns /= 2;
        }
        with_parts(d_columns, [](auto in_order, auto shifting, int parts) {
            for (const auto kernel : { in_order, shifting }) {
                cuda_check(
                    cudaFuncSetAttribute(kernel,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         int(block_shared_bytes<W>(32 * parts))),
                    "cudaFuncSetAttribute");
            }
        });
    }
    int columns() const { return d_columns; }

    void take(workspace_pieces& pieces)
    {
        d_exchange = pieces.take<W>(2 * size_t(d_columns) * d_columns);
    }

    //! `inverse` = the inverse of the `order` rows, whose stride is columns().
    //! \param first  the first of these rows in the matrix
    void invert(const W* rows,
                int order,
                W* inverse,
                bool positive,
                int first,
                unsigned* state,
                const pivot_shifts<W>& shifts,
                cudaStream_t stream) const
    {
        int columns = block_rows;
        while (columns < order) {
            columns *= 2;
        }
        const auto tiny = positive ? real_of<W>(0) : unit_roundoff<real_of<W>>;
        with_parts(columns, [&](auto in_order, auto shifting, int parts) {
            if (32 * parts != columns) {
                return;
            }
            cudaLaunchAttribute cooperative;
            cooperative.id = cudaLaunchAttributeCooperative;
            cooperative.val.cooperative = 1;
            cudaLaunchConfig_t config = {};
            config.gridDim = dim3((order + block_rows - 1) / block_rows);
            config.blockDim = dim3(block_threads + 32);
            config.dynamicSmemBytes = block_shared_bytes<W>(columns);
            config.stream = stream;
            config.attrs = &cooperative;
            config.numAttrs = 1;
            cuda_check(cudaLaunchKernelEx(&config,
                                          shifts.count ? shifting : in_order,
                                          rows,
                                          order,
                                          inverse,
                                          d_exchange,
                                          d_columns,
                                          positive,
                                          tiny,
                                          first,
                                          state,
                                          shifts),
                       "symmetric_inverse: invert_block");
        });
    }

private:
    static constexpr int widest = symmetric_tuning::block::most_columns<W>;

    //! Calls `use` with the kernels for panels of up to `columns` columns.
    template <typename Use>
    static void with_parts(int columns, const Use& use)
    {
        const auto with = [&](auto parts) {
            constexpr int count = parts;
            if (columns >= 32 * count) {
                use(invert_block<W, count, false>, invert_block<W, count, true>, count);
            }
        };
        with(std::integral_constant<int, 1>());
        with(std::integral_constant<int, 2>());
        with(std::integral_constant<int, 4>());
        if constexpr (widest >= 256) {
            with(std::integral_constant<int, 8>());
        }
    }

    int d_columns = 0;
    W* d_exchange = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
