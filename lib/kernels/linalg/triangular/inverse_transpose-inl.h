/* SPDX-License-Identifier: GPL-3.0-or-later */
// Transposes as many vectors as a vector has lanes, in registers. Whole cache lines go in
// and come out, because a line must be used up at one touch: matrices of 4 KB begin in
// the same set of a first-level cache, which holds fewer lines than a vector has lanes.
// Highway includes this file once an instruction set.

#if defined(CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#undef CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#else
#define CUDAPHY_TRIANGULAR_INVERSE_TRANSPOSE_INL_H
#endif

#include "kernels/common/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! Lanes of a vector of R, as a constant.
template <typename R>
constexpr size_t lanes_of = hn::MaxLanes(hn::ScalableTag<R>());

#if HWY_TARGET != HWY_SCALAR
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
    constexpr int block = block_elements<R>;
    HWY_UNROLL(4)
    for (size_t q = 0; q < lanes_of<R>; q += block) {
        transpose_in_blocks(hn::ScalableTag<R>(), v + q);
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
