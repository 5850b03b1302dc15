/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products of dense matrices on vector units and all cores. A block-diagonal matrix may
// stand between the factors. Highway includes this file once for each instruction set, so
// it has no #pragma once.
#if defined(CUDAPHY_DENSE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_DENSE_PRODUCT_INL_H
#undef CUDAPHY_DENSE_PRODUCT_INL_H
#else
#define CUDAPHY_DENSE_PRODUCT_INL_H
#endif

#include "kernels/common/memory/thread_memory.h"
#include "kernels/symmetric/cpu_product/dense_packing-inl.h"
#include "kernels/symmetric/cpu_product/split_product-inl.h"
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/*
 * The algorithm of Goto and van de Geijn (ACM TOMS 34(3), 2008). A slice of B, some
 * hundred rows, is packed into panels as wide as a tile of C. A piece of A is packed into
 * panels as high as a tile, and stays in the second-level cache. A tile of C stays in
 * registers.
 *
 * Packing also transposes, conjugates, and separates real from imaginary parts. So one
 * inner loop serves all real products, and one all complex ones. The next panel of B is
 * prefetched into the second-level cache, because the slice lies in the third-level cache
 * or in memory.
 *
 * Large products of floats go to matrix units if the processor has them.
 */
template <typename T>
class dense_product
{
public:
    using packing = dense_packing<T>;
    using split = split_product<T>;
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    using tag = hn::ScalableTag<real>;
    using vec = hn::Vec<tag>;

    static constexpr bool many_registers =
        HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON;
    static constexpr size_t tile_rows = many_registers ? 12 : 6;
    static constexpr size_t vectors = parts == 1 ? 2 : 1;
    static constexpr size_t tile_columns = vectors * hn::MaxLanes(tag());
    static constexpr size_t slice = 256;
    static constexpr size_t piece_rows = 96;

    static void run(const product<T>& p, const crew& by, real* packed_b)
    {
        if (p.m == 0 || p.n == 0) {
            return;
        }
        if (split::suits(p)) {
            split::run(p, by, packed_b);
            return;
        }
        for (size_t first = 0, depth; first < p.k; first += depth) {
            depth = slice_depth(p, first, slice);
            run_slice(p, by, packed_b, first, depth);
        }
    }

private:
    static void run_slice(
        const product<T>& p, const crew& by, real* packed_b, size_t first, size_t depth)
    {
        const bool parallel = p.m * p.n * depth > (size_t(1) << 18);
        const crew these{ by.parallel && parallel };
        const size_t panels = (p.n + tile_columns - 1) / tile_columns;
        these.each(panels, 4, [&](size_t from, size_t to) {
            for (size_t panel = from; panel < to; ++panel) {
                const size_t column = panel * tile_columns;
                packing::template pack_b<tile_columns>(
                    p,
                    first,
                    depth,
                    column,
                    std::min(tile_columns, p.n - column),
                    packed_b + panel * slice * tile_columns * parts);
            }
        });
        each_job(p, these, piece_rows, tile_columns, [&](const product_job& job) {
            thread_local thread_memory<real> memory;
            real* const packed_a = memory.get(piece_rows * slice * parts);
            for (size_t r = 0; r < job.rows; r += tile_rows) {
                packing::template pack_a<tile_rows>(p,
                                                    first,
                                                    depth,
                                                    job.row + r,
                                                    std::min(tile_rows, job.rows - r),
                                                    packed_a + r * depth * parts);
            }
            multiply(p, first, depth, job, packed_a, packed_b);
        });
    }

    static void multiply(const product<T>& p,
                         size_t first,
                         size_t depth,
                         const product_job& job,
                         const real* packed_a,
                         const real* packed_b)
    {
        const bool add = p.add || first > 0;
        const size_t row = job.row, rows = job.rows;
        for (size_t panel = job.begin; panel < job.end; ++panel) {
            const size_t column = panel * tile_columns;
            const size_t columns = std::min(tile_columns, p.n - column);
            const real* b = packed_b + panel * slice * tile_columns * parts;
            size_t r = 0;
            if (p.lower && column > row) {
                r = (column - row) / tile_rows * tile_rows;
            }
            for (; r < rows; r += tile_rows) {
                const real* a = packed_a + r * depth * parts;
                T* c = p.c + (row + r) * p.ldc + column;
                const size_t high = std::min(tile_rows, rows - r);
                const real* ahead = b + slice * tile_columns * parts +
                                    r / tile_rows * (depth / rows_a_line) * line_reals;
                if (high == tile_rows && columns == tile_columns) {
                    tile(depth, a, b, c, p.ldc, p.negative, add, ahead);
                } else {
                    HWY_ALIGN T whole[tile_rows * tile_columns];
                    tile(depth, a, b, whole, tile_columns, p.negative, false, ahead);
                    for (size_t i = 0; i < high; ++i) {
                        for (size_t j = 0; j < columns; ++j) {
                            T& to = c[i * p.ldc + j];
                            to = (add ? to : T(0)) + whole[i * tile_columns + j];
                        }
                    }
                }
            }
        }
    }

    //! The tiles of a piece of A share the prefetch of the next panel of B. Each tile
    //! prefetches one cache line every rows_a_line rows of its own panel.
    static constexpr size_t line_reals = 64 / sizeof(real);
    static constexpr size_t rows_a_line =
        line_reals * (piece_rows / tile_rows) / (tile_columns * parts);

    static HWY_INLINE void bring_row(const T* row)
    {
        constexpr size_t line = 64;
        const char* const from = reinterpret_cast<const char*>(row);
        for (size_t byte = 0; byte < tile_columns * sizeof(T); byte += line) {
            hwy::Prefetch(from + byte);
        }
        hwy::Prefetch(from + tile_columns * sizeof(T) - 1);
    }

    static HWY_NOINLINE void tile(size_t depth,
                                  const real* HWY_RESTRICT a,
                                  const real* HWY_RESTRICT b,
                                  T* HWY_RESTRICT c,
                                  size_t ldc,
                                  bool negative,
                                  bool add,
                                  const real* ahead)
    {
        const tag d;
        constexpr size_t lanes = hn::MaxLanes(tag());
        vec sum[tile_rows][2];
        CUDAPHY_UNROLL
        for (size_t r = 0; r < tile_rows; ++r) {
            sum[r][0] = hn::Zero(d);
            sum[r][1] = hn::Zero(d);
        }
        // C is prefetched a few lines at a time. A core waits for few lines at once, and
        // loads of A and B need some of these places.
        constexpr size_t rows_between = 4;
        for (size_t k = 0; k < depth; ++k) {
            if (add && k % rows_between == 0 && k / rows_between < tile_rows) {
                bring_row(c + k / rows_between * ldc);
            }
            if (k % rows_a_line == 0) {
                __builtin_prefetch(ahead + k / rows_a_line * line_reals, 0, 2);
            }
            const vec b0 = hn::Load(d, b);
            const vec b1 = hn::Load(d, b + lanes);
            CUDAPHY_UNROLL
            for (size_t r = 0; r < tile_rows; ++r) {
                const vec x = hn::Set(d, a[r]);
                sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
                sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
                if constexpr (parts == 2) {
                    const vec y = hn::Set(d, a[tile_rows + r]);
                    sum[r][0] = hn::NegMulAdd(y, b1, sum[r][0]);
                    sum[r][1] = hn::MulAdd(y, b0, sum[r][1]);
                }
            }
            a += tile_rows * parts;
            b += 2 * lanes;
        }
        CUDAPHY_UNROLL
        for (size_t r = 0; r < tile_rows; ++r) {
            real* to = reinterpret_cast<real*>(c + r * ldc);
            vec s0 = negative ? hn::Neg(sum[r][0]) : sum[r][0];
            vec s1 = negative ? hn::Neg(sum[r][1]) : sum[r][1];
            if constexpr (parts == 1) {
                if (add) {
                    s0 = hn::Add(s0, hn::LoadU(d, to));
                    s1 = hn::Add(s1, hn::LoadU(d, to + lanes));
                }
                hn::StoreU(s0, d, to);
                hn::StoreU(s1, d, to + lanes);
            } else {
                if (add) {
                    vec re, im;
                    hn::LoadInterleaved2(d, to, re, im);
                    s0 = hn::Add(s0, re);
                    s1 = hn::Add(s1, im);
                }
                hn::StoreInterleaved2(s0, s1, d, to);
            }
        }
    }
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
