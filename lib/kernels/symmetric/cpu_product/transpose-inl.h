/* SPDX-License-Identifier: GPL-3.0-or-later */
// Transposes small blocks of real numbers. Highway includes this file once for each
// instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#undef CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#else
#define CUDAPHY_SYMMETRIC_TRANSPOSE_INL_H
#endif

#include "kernels/common/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <class D, typename R = hn::TFromD<D>>
HWY_INLINE void transpose(D, const R* from, ptrdiff_t, R* to, ptrdiff_t)
{
    *to = *from;
}

#else

//! Transposes a block. Lanes(d) rows of block_elements<R> each, `ld` apart at `from`,
//! become block_elements<R> rows, `width` apart at `to`.
template <class D, typename R = hn::TFromD<D>>
HWY_INLINE void transpose(D d, const R* from, ptrdiff_t ld, R* to, ptrdiff_t width)
{
    constexpr size_t block = block_elements<R>;
    const auto line = [&](size_t i) HWY_ATTR { return from + ptrdiff_t(i) * ld; };
    hn::Vec<D> v[block];
    for (size_t i = 0; i < block; ++i) {
        v[i] = load_blocks(d, line, i);
    }
    transpose_in_blocks(d, v);
    for (size_t i = 0; i < block; ++i) {
        hn::StoreU(v[i], d, to + ptrdiff_t(i) * width);
    }
}

#endif

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
