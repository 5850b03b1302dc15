/* SPDX-License-Identifier: GPL-3.0-or-later */
// Transposes numbers of many lines of memory to lanes and back, 128 bits of each line at
// a time. A load puts a vector together from as many lines as it has blocks of 128 bits,
// which costs no shuffle. Shuffles within blocks do the rest. Highway includes this file
// once an instruction set, hence no #pragma once.
#if defined(CUDAPHY_COMMON_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_COMMON_TRANSPOSE_INL_H
#undef CUDAPHY_COMMON_TRANSPOSE_INL_H
#else
#define CUDAPHY_COMMON_TRANSPOSE_INL_H
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

#else

//! Numbers in 128 bits, the largest block within which every instruction set shuffles.
template <typename R>
constexpr size_t block_elements = 16 / sizeof(R);

//! Loads 128 bits from each of line(first), line(first + block_elements) ...
template <class D, class Line>
HWY_INLINE hn::Vec<D> load_blocks(D d, const Line& line, size_t first = 0)
{
    constexpr size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes <= block_elements<hn::TFromD<D>>) {
        return hn::LoadU(d, line(first));
    } else {
        const hn::Half<D> half;
        return hn::Combine(d,
                           load_blocks(half, line, first + lanes / 2),
                           load_blocks(half, line, first));
    }
}

//! The inverse of load_blocks().
template <class D, class Line>
HWY_INLINE void store_blocks(hn::Vec<D> v, D d, const Line& line, size_t first = 0)
{
    constexpr size_t lanes = hn::MaxLanes(D());
    if constexpr (lanes <= block_elements<hn::TFromD<D>>) {
        hn::StoreU(v, d, line(first));
    } else {
        const hn::Half<D> half;
        store_blocks(hn::LowerHalf(half, v), half, line, first);
        store_blocks(hn::UpperHalf(half, v), half, line, first + lanes / 2);
    }
}

//! In each block of block_elements vectors, transposes the square of numbers.
template <class D, typename V>
HWY_INLINE void transpose_in_blocks(D d, V* v)
{
    if constexpr (block_elements<hn::TFromD<D>> == 2) {
        const auto low = hn::InterleaveLower(d, v[0], v[1]);
        v[1] = hn::InterleaveUpper(d, v[0], v[1]);
        v[0] = low;
    } else {
        const auto even = hn::InterleaveLower(d, v[0], v[2]);
        const auto odd = hn::InterleaveLower(d, v[1], v[3]);
        const auto later_even = hn::InterleaveUpper(d, v[0], v[2]);
        const auto later_odd = hn::InterleaveUpper(d, v[1], v[3]);
        v[0] = hn::InterleaveLower(d, even, odd);
        v[1] = hn::InterleaveUpper(d, even, odd);
        v[2] = hn::InterleaveLower(d, later_even, later_odd);
        v[3] = hn::InterleaveUpper(d, later_even, later_odd);
    }
}

#endif

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
