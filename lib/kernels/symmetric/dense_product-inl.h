/* SPDX-License-Identifier: GPL-3.0-or-later */
// Products of dense matrices on vector units and all cores, for both kinds of triangle
// and with a block-diagonal matrix between the factors. Included once an instruction set,
// hence no #pragma once.
#if defined(CUDAPHY_DENSE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_DENSE_PRODUCT_INL_H
#undef CUDAPHY_DENSE_PRODUCT_INL_H
#else
#define CUDAPHY_DENSE_PRODUCT_INL_H
#endif

#include "kernels/symmetric/dense_product.h"
#include "kernels/symmetric/transpose-inl.h"
#include <algorithm>
#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/*
 * As Goto and van de Geijn do it (ACM TOMS 34(3), 2008): a slice of B, some hundred rows,
 * is packed into panels as wide as a tile of C; a piece of A, in panels as high as the
 * tile, stays in the second-level cache; the tile itself in registers. Packing also
 * transposes, conjugates and parts re from im, so that there is one inner loop for real
 * and one for complex numbers. The next panel of B comes to the second-level cache while
 * a piece of A is multiplied with one, for the whole slice lies in the third-level cache
 * or in memory.
 */
template <typename T>
class dense_product
{
public:
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

    //! Reals that the packed slice of B needs, for up to n columns.
    static constexpr size_t packed_reals(size_t n)
    {
        return slice * parts * (n + 64); // 64: at least tile_columns
    }

    static void run(const product<T>& p, const crew& by, real* packed_b)
    {
        if (p.m == 0 || p.n == 0) {
            return;
        }
        for (size_t first = 0, depth; first < p.k; first += depth) {
            depth = std::min(slice, p.k - first);
            // The next slice begins with a whole block of D.
            if (p.between &&
                p.between->below[p.between_first + first + depth - 1] != T(0)) {
                --depth;
            }
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
                pack_b(p,
                       first,
                       depth,
                       panel * tile_columns,
                       packed_b + panel * slice * tile_columns * parts);
            }
        });
        const size_t pieces = (p.m + piece_rows - 1) / piece_rows;
        const size_t chunks = pieces >= 8 ? 1 : (panels + 31) / 32;
        const size_t chunk = (panels + chunks - 1) / chunks;
        these.each(pieces * chunks, 1, [&](size_t from, size_t to) {
            HWY_ALIGN thread_local real packed_a[piece_rows * slice * parts];
            for (size_t job = from; job < to; ++job) {
                // Long rows of a triangle first.
                const size_t row = (pieces - 1 - job / chunks) * piece_rows;
                const size_t rows = std::min(piece_rows, p.m - row);
                const size_t begin = job % chunks * chunk;
                size_t end = std::min(panels, begin + chunk);
                if (p.lower) {
                    end = std::min(end, (row + rows - 1) / tile_columns + 1);
                }
                if (begin < end) {
                    pack_a(p, first, depth, row, rows, packed_a);
                    multiply(p, first, depth, row, rows, begin, end, packed_a, packed_b);
                }
            }
        });
    }

    static void multiply(const product<T>& p,
                         size_t first,
                         size_t depth,
                         size_t row,
                         size_t rows,
                         size_t begin,
                         size_t end,
                         const real* packed_a,
                         const real* packed_b)
    {
        const bool add = p.add || first > 0;
        for (size_t panel = begin; panel < end; ++panel) {
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

    //! The tiles of a piece of A share the next panel of B out: each brings a line of the
    //! cache every so many rows of its own panel.
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
        // C comes meanwhile, a few lines at a time: a core awaits few at once, and loads
        // of A and B are to find room among them.
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

    static HWY_INLINE void put(real* to, size_t stride, T value, bool conjugate)
    {
        if constexpr (parts == 1) {
            to[0] = value;
        } else {
            to[0] = value.real();
            to[stride] = conjugate ? -value.imag() : value.imag();
        }
    }

    //! Lines of memory that lie across the panel are read a cache line at a time.
    static constexpr size_t run_length = 16;

    //! Width columns of a packed panel from `count` lines that lie across it.
    template <size_t width>
    static void pack_across(
        const T* from, size_t ld, size_t depth, size_t count, bool conjugate, real* to)
    {
        size_t k = 0;
        if constexpr (parts == 1) {
            if (count == width) {
                // A tile's rows are no multiple of a vector.
                using some = hn::CappedTag<real, width == tile_columns ? most_lanes : 4>;
                constexpr size_t lanes = hn::MaxLanes(some());
                for (; k + in_block <= depth; k += in_block) {
                    for (size_t j = 0; j < width; j += lanes) {
                        const size_t line = std::min(j, width - lanes); // may overlap
                        transpose(some(),
                                  from + line * ld + k,
                                  ld,
                                  to + k * width + line,
                                  width);
                    }
                }
            }
        }
        for (; k < depth; k += run_length) {
            const size_t length = std::min(run_length, depth - k);
            for (size_t j = 0; j < count; ++j) {
                real* const target = to + k * width * parts + j;
                for (size_t l = 0; l < length; ++l) {
                    put(target + l * width * parts,
                        width,
                        from[j * ld + k + l],
                        conjugate);
                }
            }
        }
    }

    //! The same from lines that lie along it.
    template <size_t width>
    static void pack_along(
        const T* from, size_t ld, size_t depth, size_t count, bool conjugate, real* to)
    {
        for (size_t k = 0; k < depth; ++k, from += ld, to += width * parts) {
            for (size_t j = 0; j < count; ++j) {
                put(to + j, width, from[j], conjugate);
            }
        }
    }
    static constexpr size_t most_lanes = hn::MaxLanes(tag());
    static constexpr size_t in_block = block_elements<real>;
    static void
    pack_b(const product<T>& p, size_t first, size_t depth, size_t column, real* to)
    {
        const size_t columns = std::min(tile_columns, p.n - column);
        if (columns < tile_columns) {
            std::fill_n(to, depth * tile_columns * parts, real(0));
        }
        if (p.b_adjoint) {
            pack_across<tile_columns>(
                p.b + column * p.ldb + first, p.ldb, depth, columns, true, to);
        } else {
            pack_along<tile_columns>(
                p.b + first * p.ldb + column, p.ldb, depth, columns, false, to);
        }
    }

    static void pack_a(const product<T>& p,
                       size_t first,
                       size_t depth,
                       size_t row,
                       size_t rows,
                       real* to)
    {
        for (size_t r = 0; r < rows; r += tile_rows, to += depth * tile_rows * parts) {
            const size_t high = std::min(tile_rows, rows - r);
            if (high < tile_rows) {
                std::fill_n(to, depth * tile_rows * parts, real(0));
            }
            if (p.a_adjoint) {
                pack_along<tile_rows>(
                    p.a + first * p.lda + row + r, p.lda, depth, high, true, to);
            } else {
                pack_across<tile_rows>(
                    p.a + (row + r) * p.lda + first, p.lda, depth, high, false, to);
            }
            if (p.between) {
                scale(*p.between, p.between_first + first, depth, to);
            }
        }
    }

    //! Columns of a packed panel times D.
    static void scale(const block_diagonal<T>& d, size_t first, size_t depth, real* panel)
    {
        for (size_t k = 0; k < depth; ++k, panel += tile_rows * parts) {
            const real one = d.diagonal[first + k];
            const T below = d.below[first + k];
            if (below == T(0)) {
                for (size_t i = 0; i < tile_rows * parts; ++i) {
                    panel[i] *= one;
                }
                continue;
            }
            const real other = d.diagonal[first + k + 1];
            real* next = panel + tile_rows * parts;
            for (size_t i = 0; i < tile_rows; ++i) {
                const T x = get(panel + i), y = get(next + i);
                put(panel + i, tile_rows, x * one + times(y, below), false);
                put(next + i, tile_rows, y * other + times_adjoint(x, below), false);
            }
            ++k;
            panel = next;
        }
    }
    static T get(const real* from)
    {
        if constexpr (parts == 1) {
            return from[0];
        } else {
            return T(from[0], from[tile_rows]);
        }
    }
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
