/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/symmetric_corner.cuh"
#include "kernels/symmetric/symmetric_workspace.cuh"
#include <cooperative_groups.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_threads = 256;              //!< that multiply
constexpr int corner_warp = block_threads / 32; //!< beside them

//! Bytes of shared memory that invert_block<W, Parts> takes for 32 Parts columns.
template <typename W>
constexpr size_t block_shared_bytes(int columns)
{
    return sizeof(W) * block_rows * (columns + block_rows + 1 + 4);
}

/*!
 * The inverse of a panel's own rows, of an order up to 32 Parts, by Gauss-Jordan
 * elimination in steps of 32 rows: `Parts` thread blocks of a cooperative launch hold 32
 * rows each in shared memory. The block whose turn it is multiplies its rows by the
 * inverse of its 32 x 32 corner and publishes them; after a barrier, all others subtract
 * their share, the next one from its corner first, so that a warp of its own inverts that
 * beside the others. A pivot that is not above 0 makes a positive definite matrix fail,
 * and of another one a pivot below `tiny` is replaced by that.
 *
 * Where shifts are kept, the others' factors are the rows themselves, published as they
 * were, so that both triangles stay those of one symmetric matrix: what is not symmetric
 * is lost digits, a hundred times over, when pivots are small.
 *
 * d: the rows, of which the lower triangle is read. p: the inverse, exactly symmetric.
 * exchange: 64 Parts rows of `stride`, for what is published.
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
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    W* own = reinterpret_cast<W*>(dynamic_shared); // 32 rows of `width`
    W* shared_row = own + block_rows * width;      // aligned to 16 bytes
    W* factor = shared_row + 4 * block_rows;       // 32 rows of 33
    constexpr int factor_stride = block_rows + 1;
    constexpr int threads = block_threads + 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = blockIdx.x * block_rows;

    for (int e = threadIdx.x; e < block_rows * width; e += threads) {
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

    for (int turn = 0; turn <= Parts; ++turn) {
        const int corner = turn * block_rows;
        const int before = corner - block_rows;
        // The share of the turn before.
        const bool shares = turn > 0 && int(blockIdx.x) != turn - 1;
        const bool next = int(blockIdx.x) == turn;
        const W* published = exchange + before * stride;
        const W* given = published + width * stride;
        if (shares) {
            // Rows that had their turn have exchanged their sign.
            const auto sign = real_of<W>(int(blockIdx.x) < turn - 1 ? 1 : -1);
            for (int e = threadIdx.x; e < block_rows * block_rows; e += threads) {
                const int i = e / block_rows, j = e % block_rows;
                if (Shifting) {
                    factor[j * factor_stride + i] =
                        scaled(conjugate(given[i * stride + top + j]), sign);
                    own[i * width + before + j] = number<W>(0);
                } else {
                    W& element = own[i * width + before + j];
                    factor[i * factor_stride + j] = negative(element);
                    element = number<W>(0);
                }
            }
            __syncthreads();
        }
        if (next && shares) {
            // The corner first.
            for (int e = threadIdx.x; e < block_rows * block_rows / 4; e += threads) {
                const int i = e / 8, j0 = corner + e % 8 * 4;
                W sum[4];
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    sum[c] = own[i * width + j0 + c];
                }
#pragma unroll 8
                for (int k = 0; k < block_rows; ++k) {
                    const W f = factor[i * factor_stride + k];
#pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        sum[c] = multiply_add(sum[c], f, published[k * stride + j0 + c]);
                    }
                }
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    own[i * width + j0 + c] = sum[c];
                }
            }
            __syncthreads();
        }
        if (warp == corner_warp) {
            if (next) {
                W e[block_rows];
#pragma unroll
                for (int i = 0; i < block_rows; ++i) {
                    const bool mirrored = Shifting && i < lane;
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
                    own[i * width + corner + lane] = e[i];
                }
            }
        } else if (shares) {
            W sums[rows_a_warp][Parts];
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    // The corner's columns are the corner warp's by now.
                    sums[r][q] = next && q == turn
                                     ? number<W>(0)
                                     : own[(my_rows + r) * width + lane + 32 * q];
                }
            }
            add_product(sums, published, stride);
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    if (!next || q != turn) {
                        own[(my_rows + r) * width + lane + 32 * q] = sums[r][q];
                    }
                }
            }
        }
        if (Shifting && next && warp != corner_warp) {
            // As they were, while the corner is being inverted; its columns are no one's.
            W* to = exchange + (corner + width + my_rows) * stride;
#pragma unroll
            for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                for (int q = 0; q < Parts; ++q) {
                    if (q != turn) {
                        to[r * stride + lane + 32 * q] =
                            own[(my_rows + r) * width + lane + 32 * q];
                    }
                }
            }
        }
        __syncthreads();
        if (turn == Parts) {
            break;
        }
        if (next) {
            W* to = exchange + corner * stride;
            for (int e = threadIdx.x; e < block_rows * block_rows; e += threads) {
                const int i = e / block_rows, j = e % block_rows;
                W& element = own[i * width + corner + j];
                factor[i * factor_stride + j] = element;
                element = number<W>(i == j);
            }
            __syncthreads();
            W sums[rows_a_warp][Parts];
            if (warp != corner_warp) {
#pragma unroll
                for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                    for (int q = 0; q < Parts; ++q) {
                        sums[r][q] = number<W>(0);
                    }
                }
                add_product(sums, own, width);
            }
            __syncthreads();
            if (warp != corner_warp) {
#pragma unroll
                for (int r = 0; r < rows_a_warp; ++r) {
#pragma unroll
                    for (int q = 0; q < Parts; ++q) {
                        own[(my_rows + r) * width + lane + 32 * q] = sums[r][q];
                        to[(my_rows + r) * stride + lane + 32 * q] = sums[r][q];
                    }
                }
            }
        }
        if (Parts > 1) {
            cooperative_groups::this_grid().sync();
        }
        __syncthreads();
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

//! \brief Launches of invert_block on a device, for panels of up to columns().
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

    //! `inverse` = that of the rows, which have the stride columns(), of the order given;
    //! `first` is the first of them in the matrix.
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
            config.gridDim = dim3(parts);
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
    static constexpr int widest = sizeof(W) == 16 ? 128 : 256;

    //! Calls `use` with the kernels for panels up to that many columns.
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
