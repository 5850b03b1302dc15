/* SPDX-License-Identifier: GPL-3.0-or-later */
// Transposes as many vectors as a vector has lanes, in registers. Whole lines of memory
// go in and come out: matrices of 4 KB begin in the same set of a first-level cache,
// which holds fewer of them than a vector has lanes, so that a line must be done with at
// one touch. For hwy/foreach_target.h: included once for every instruction set.

#if defined(CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#undef CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#else
#define CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! Lanes of a vector of R, known when compiled.
template <typename R>
constexpr size_t lanes_of = hn::MaxLanes(hn::ScalableTag<R>());

#if HWY_TARGET != HWY_SCALAR
//! The elements of each 128-bit block of as many vectors as it has elements.
template <typename R, typename V>
HWY_INLINE void transpose_in_blocks(V* v)
{
    const hn::ScalableTag<R> d;
    if constexpr (sizeof(R) == 8) {
        const auto low = hn::InterleaveLower(d, v[0], v[1]);
        v[1] = hn::InterleaveUpper(d, v[0], v[1]);
        v[0] = low;
    } else {
        const hn::Repartition<double, decltype(d)> wide;
        const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
        const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
        const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
        const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
        v[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
        v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
        v[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
        v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
    }
}

//! The blocks of as many vectors as a vector has blocks, `Step` apart.
template <typename R, int Step, typename V>
HWY_INLINE void transpose_blocks_of(V* v)
{
    const hn::ScalableTag<R> d;
    constexpr int blocks = lanes_of<R> / Step;
    static_assert(blocks == 1 || blocks == 2 || blocks == 4);
    if constexpr (blocks == 2) {
        const auto low = hn::ConcatLowerLower(d, v[Step], v[0]);
        v[Step] = hn::ConcatUpperUpper(d, v[Step], v[0]);
        v[0] = low;
    } else if constexpr (blocks == 4) {
        const auto low02 = hn::ConcatLowerLower(d, v[2 * Step], v[0]);
        const auto high02 = hn::ConcatUpperUpper(d, v[2 * Step], v[0]);
        const auto low13 = hn::ConcatLowerLower(d, v[3 * Step], v[Step]);
        const auto high13 = hn::ConcatUpperUpper(d, v[3 * Step], v[Step]);
        v[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
        v[Step] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
        v[2 * Step] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
        v[3 * Step] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
    }
}
#endif

//! v[r][c] becomes v[c][r].
template <typename R, typename V>
HWY_INLINE void transpose_lanes(V (&v)[lanes_of<R>])
{
#if HWY_TARGET != HWY_SCALAR
    constexpr int block = 16 / sizeof(R);
    HWY_UNROLL(4)
    for (size_t q = 0; q < lanes_of<R>; q += block) {
        transpose_in_blocks<R>(v + q);
    }
    HWY_UNROLL(4)
    for (int c = 0; c < block; ++c) {
        transpose_blocks_of<R, block>(v + c);
    }
#else
    (void)v;
#endif
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
