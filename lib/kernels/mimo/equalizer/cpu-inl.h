/* SPDX-License-Identifier: GPL-3.0-or-later */
// A lane of the CPU's vectors, as lane-inl.h wants it, and rows of lanes. Included inside
// the namespace of an instruction set, without include guard, by cpu_many.cc and
// cpu_each.cc.

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;
using bits_tag = hn::RebindToUnsigned<tag>;
using mask = hn::Mask<tag>;
constexpr size_t lanes = hn::MaxLanes(tag());

#include "kernels/mimo/cpu_lane-inl.h"

HWY_INLINE real larger(real a, real b) { return hn::Max(a, b); }
HWY_INLINE real magnitude(real a) { return hn::Abs(a); }
HWY_INLINE real square_root(real a) { return hn::Sqrt(a); }
HWY_INLINE mask both(mask a, mask b) { return hn::And(a, b); }
HWY_INLINE real choose(mask m, real a, real b) { return hn::IfThenElse(m, a, b); }
HWY_INLINE real unscale(real a)
{
    // With exponent field E, 2^(127 - E) has the field 254 - E.
    const bits_tag bits;
    const auto field = hn::And(hn::BitCast(bits, a), hn::Set(bits, 0x7F800000u));
    const auto bounded =
        hn::Min(hn::Max(field, hn::Set(bits, 7u << 23)), hn::Set(bits, 247u << 23));
    return hn::BitCast(tag(), hn::Sub(hn::Set(bits, 254u << 23), bounded));
}

#define CUDAPHY_LANE HWY_INLINE
#define CUDAPHY_UNROLL
#include "kernels/mimo/equalizer/lane-inl.h"
#undef CUDAPHY_LANE
#undef CUDAPHY_UNROLL

//! Rows of lanes: element e of lane l at [e][l].
template <typename T>
using row = T[lanes];

template <typename T>
HWY_INLINE void scatter_to_lane(const T* from, int n, size_t lane, row<T>* to)
{
    for (int e = 0; e < n; ++e) {
        to[e][lane] = from[e];
    }
}

template <typename T>
HWY_INLINE void gather_from_lane(const row<T>* from, int n, size_t lane, T* to)
{
    for (int e = 0; e < n; ++e) {
        to[e] = from[e][lane];
    }
}

constexpr bool is_mmse(detector method)
{
    return method == detector::mmse || method == detector::mmse_irc;
}

method method_of(const equalizer::parameters& p)
{
    return { is_mmse(p.method),
             p.unbiased,
             p.method == detector::max_ratio,
             rank_tolerance_per_antenna * float(p.receive_antennas) };
}

//! A lane's noise variance; with a covariance, finds its whitener, and the variance is 1
//! after it, or infinite if there is none.
template <typename Antennas>
HWY_INLINE real variance_of(const equalizer_job& job,
                            Antennas size,
                            const size_t* matrices,
                            lane_whitener<Antennas>& whitener)
{
    HWY_ALIGN float n0[lanes];
    if (job.given.covariance.empty()) {
        for (size_t l = 0; l < lanes; ++l) {
            n0[l] = job.given.n0[job.shape.variance_of(matrices[l])];
        }
        return hn::LoadU(tag(), n0);
    }
    constexpr int most = Antennas::most_receive;
    HWY_ALIGN row<complex64> covariance[most * most];
    const int nr = size.receive();
    for (size_t l = 0; l < lanes; ++l) {
        const auto at = job.shape.variance_of(matrices[l]) * nr * nr;
        scatter_to_lane(job.given.covariance.data() + at, nr * nr, l, covariance);
    }
    find_whitener(
        size, [&](int r, int c) { return load(covariance[r * nr + c]); }, whitener);
    const real one = constant(1.0f);
    return choose(whitener.usable, one, constant(float_infinity));
}
