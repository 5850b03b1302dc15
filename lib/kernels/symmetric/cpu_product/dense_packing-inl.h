/* SPDX-License-Identifier: GPL-3.0-or-later */
// Packs the factors of a product into panels. Highway includes this file once for each
// instruction set, so it has no #pragma once.
#if defined(CUDAPHY_DENSE_PACKING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_DENSE_PACKING_INL_H
#undef CUDAPHY_DENSE_PACKING_INL_H
#else
#define CUDAPHY_DENSE_PACKING_INL_H
#endif

#include "kernels/symmetric/cpu_product/dense_product.h"
#include "kernels/symmetric/cpu_product/transpose-inl.h"
#include <algorithm>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! Packs `width` rows of op(A), or `width` columns of op(B), into a panel. Element k of
//! all of them stands together: first the real parts, then the imaginary parts.
template <typename T>
class dense_packing
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);

    //! Packs rows row to row + count and columns first to first + depth of op(A) D.
    template <size_t width>
    static void pack_a(const product<T>& p,
                       size_t first,
                       size_t depth,
                       size_t row,
                       size_t count,
                       real* to)
    {
        if (count < width) {
            std::fill_n(to, depth * width * parts, real(0));
        }
        if (p.a_adjoint) {
            pack_along<width>(p.a + first * p.lda + row, p.lda, depth, count, true, to);
        } else {
            pack_across<width>(p.a + row * p.lda + first, p.lda, depth, count, false, to);
        }
        if (p.between) {
            scale<width>(*p.between, p.between_first + first, depth, to);
        }
    }

    //! Packs columns `column` to column + count and rows first to first + depth of op(B).
    template <size_t width>
    static void pack_b(const product<T>& p,
                       size_t first,
                       size_t depth,
                       size_t column,
                       size_t count,
                       real* to)
    {
        if (count < width) {
            std::fill_n(to, depth * width * parts, real(0));
        }
        if (p.b_adjoint) {
            pack_across<width>(
                p.b + column * p.ldb + first, p.ldb, depth, count, true, to);
        } else {
            pack_along<width>(
                p.b + first * p.ldb + column, p.ldb, depth, count, false, to);
        }
    }

private:
    static constexpr size_t most_lanes = hn::MaxLanes(hn::ScalableTag<real>());
    static constexpr size_t in_block = block_elements<real>;

    static HWY_INLINE void put(real* to, size_t stride, T value, bool conjugate)
    {
        if constexpr (parts == 1) {
            to[0] = value;
        } else {
            to[0] = value.real();
            to[stride] = conjugate ? -value.imag() : value.imag();
        }
    }

    //! Elements that pack_across() reads from a row at a time: a cache line of floats.
    static constexpr size_t run_length = 16;

    //! Packs `count` rows of memory, which become columns of the panel.
    template <size_t width>
    static void pack_across(
        const T* from, size_t ld, size_t depth, size_t count, bool conjugate, real* to)
    {
        size_t k = 0;
        if constexpr (parts == 1) {
            if (count == width) {
                // The rows of a tile may be no multiple of a vector's lanes.
                using some =
                    hn::CappedTag<real, width % most_lanes == 0 ? most_lanes : 4>;
                constexpr size_t lanes = hn::MaxLanes(some());
                for (; k + in_block <= depth; k += in_block) {
                    for (size_t j = 0; j < width; j += lanes) {
                        const size_t line =
                            std::min(j, width - lanes); // the last may overlap
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

    //! Packs `depth` rows of memory of `count` elements, which stay rows of the panel.
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

    //! Multiplies a packed panel by D.
    template <size_t width>
    static void scale(const block_diagonal<T>& d, size_t first, size_t depth, real* panel)
    {
        for (size_t k = 0; k < depth; ++k, panel += width * parts) {
            const real one = d.diagonal[first + k];
            const T below = d.below[first + k];
            if (below == T(0)) {
                for (size_t i = 0; i < width * parts; ++i) {
                    panel[i] *= one;
                }
                continue;
            }
            const real other = d.diagonal[first + k + 1];
            real* next = panel + width * parts;
            for (size_t i = 0; i < width; ++i) {
                const T x = get<width>(panel + i), y = get<width>(next + i);
                put(panel + i, width, x * one + times(y, below), false);
                put(next + i, width, y * other + times_adjoint(x, below), false);
            }
            ++k;
            panel = next;
        }
    }
    template <size_t width>
    static T get(const real* from)
    {
        if constexpr (parts == 1) {
            return from[0];
        } else {
            return T(from[0], from[width]);
        }
    }
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
