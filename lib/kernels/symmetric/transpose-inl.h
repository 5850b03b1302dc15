/* SPDX-License-Identifier: GPL-3.0-or-later */
// Transposes small blocks of real numbers. Included once an instruction set, hence no
// #pragma once.
#if defined(CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#undef CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#else
#define CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#endif

#include <cstddef>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <typename R>
constexpr size_t block_elements = 1;

template <class D, typename R = hn::TFromD<D>>
HWY_INLINE void transpose(D, const R* from, ptrdiff_t, R* to, ptrdiff_t)
{
    *to = *from;
}

#else

//! Elements in 128 bits: the largest step that every instruction set shuffles within.
template <typename R>
constexpr size_t block_elements = 16 / sizeof(R);

//! 128 bits of each of lines 0, block_elements, 2 block_elements ..., `ld` apart.
template <class D, typename R = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const R* from, ptrdiff_t ld)
{
    constexpr size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes <= block_elements<R>) {
        return hn::LoadU(d, from);
    } else {
        const hn::Half<D> half;
        return hn::Combine(d,
                           load_blocks(half, from + ptrdiff_t(lanes / 2) * ld, ld),
                           load_blocks(half, from, ld));
    }
}

//! The first block_elements of each of Lanes(d) lines, `ld` apart, go side by side to as
//! many rows, `width` apart.
template <class D, typename R = hn::TFromD<D>>
HWY_INLINE void transpose(D d, const R* from, ptrdiff_t ld, R* to, ptrdiff_t width)
{
    if constexpr (block_elements<R> == 4) {
        const auto v0 = load_blocks(d, from, ld), v1 = load_blocks(d, from + ld, ld);
        const auto v2 = load_blocks(d, from + 2 * ld, ld);
        const auto v3 = load_blocks(d, from + 3 * ld, ld);
        const auto even = hn::InterleaveLower(d, v0, v2);
        const auto odd = hn::InterleaveLower(d, v1, v3);
        hn::StoreU(hn::InterleaveLower(d, even, odd), d, to);
        hn::StoreU(hn::InterleaveUpper(d, even, odd), d, to + width);
        const auto later_even = hn::InterleaveUpper(d, v0, v2);
        const auto later_odd = hn::InterleaveUpper(d, v1, v3);
        hn::StoreU(hn::InterleaveLower(d, later_even, later_odd), d, to + 2 * width);
        hn::StoreU(hn::InterleaveUpper(d, later_even, later_odd), d, to + 3 * width);
    } else {
        const auto v0 = load_blocks(d, from, ld), v1 = load_blocks(d, from + ld, ld);
        hn::StoreU(hn::InterleaveLower(d, v0, v1), d, to);
        hn::StoreU(hn::InterleaveUpper(d, v0, v1), d, to + width);
    }
}

#endif

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
