/* SPDX-License-Identifier: GPL-3.0-or-later */
// The demapper for vectors of the CPU: the whole of cpu_max_log.cc, cpu_exact_axes.cc and
// cpu_exact_plane.cc, included once an instruction set and without include guard. Each
// file defines before:
//
//   DEMAP_PART      the function that it gives to the linker
//   DEMAP_SYMBOLS   the function of this file that does the work
//
// Compiled together, all LLRs would take more than 500 MB.
#include "kernels/common/highway_targets.h"
#include "kernels/mimo/demapper/cpu.h"
#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/demapper/cpu-inl.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef LANE_FUNCTION
#ifdef __clang__
#define LANE_UNROLL _Pragma("unroll 16")
#define LANE_ROLLED _Pragma("nounroll")
#else
#define LANE_UNROLL _Pragma("GCC unroll 16")
#define LANE_ROLLED _Pragma("GCC unroll 1")
#endif
#define LANE_FUNCTION HWY_INLINE
#define LANE_LAMBDA HWY_ATTR
#define LANE_RARE_FUNCTION HWY_NOINLINE
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace {
namespace HWY_NAMESPACE {

using namespace hwy::HWY_NAMESPACE;

//! A polynomial with the last coefficient first.
template <typename D, typename V>
HWY_INLINE V polynomial(D, V, V sum)
{
    return sum;
}

template <typename D, typename V, typename... Rest>
HWY_INLINE V polynomial(D d, V x, V sum, float next, Rest... rest)
{
    return polynomial(d, x, MulAdd(sum, x, Set(d, next)), rest...);
}

constexpr int least_shared_bits = 4;
constexpr bool lone_levels_pay = true;
constexpr int most_exponent = 62;

// Least-maximum fits of 2^-f with f in 0 to 1 and of log2(1 + e) / e with e in 0 to 1,
// each off by less than 1.7e-7 with its roundings.
template <typename D, typename V>
HWY_INLINE V Power(D d, V x)
{
    const Rebind<int32_t, D> d_int;
    // 2^-125 is not yet subnormal, whatever the rounding; that would cost much time.
    x = Max(x, Set(d, -125.0f));
    const auto whole = ConvertTo(d_int, Set(d, most_exponent) - x);
    const V fraction = (Set(d, most_exponent) - ConvertTo(d, whole)) - x;
    const V power = BitCast(d, ShiftLeft<23>(Set(d_int, 127 + most_exponent) - whole));
    return power * polynomial(d,
                              fraction,
                              Set(d, -0.000948230620f),
                              0.00921256747f,
                              -0.0553010851f,
                              0.240180016f,
                              -0.693143249f,
                              0.999999940f);
}

template <typename D, typename V>
HWY_INLINE V LogarithmOfOneAnd(D d, V e)
{
    return e * polynomial(d,
                          e,
                          Set(d, -0.00930917170f),
                          0.0520589612f,
                          -0.137521163f,
                          0.241864488f,
                          -0.347300887f,
                          0.478683621f,
                          -0.721165776f,
                          1.44268990f);
}

template <typename D, typename V>
HWY_INLINE V Logarithm(D d, V x)
{
    const Rebind<int32_t, D> d_int;
    const auto bits = BitCast(d_int, x);
    const auto one = Set(d_int, 127 << 23);
    const V whole = ConvertTo(d, ShiftRight<23>(bits) - Set(d_int, 127));
    const V e = BitCast(d, Or(And(bits, Set(d_int, (1 << 23) - 1)), one)) - Set(d, 1.0f);
    return whole + LogarithmOfOneAnd(d, e);
}

template <typename M, typename V, typename Other>
HWY_INLINE V WhereNot(M yes, V a, const Other& other)
{
    const DFromV<V> d;
    return HWY_LIKELY(AllTrue(d, yes)) ? a : IfThenElse(yes, a, other());
}

template <typename D, typename V>
HWY_INLINE V Reciprocal(D d, V x)
{
    return Set(d, 1.0f) / x;
}

template <typename D, typename V>
HWY_INLINE V NotTiny(D d, V x)
{
    return Max(x, Set(d, 0x1p-30f));
}

#include "kernels/mimo/demapper/lanes-inl.h"
static_assert(raised == most_exponent);

//! Writes one vector of each bit so that a symbol's bits stand side by side.
template <int Bits, typename D>
HWY_INLINE void store_by_symbol(D d, const float* by_bit, float* llr)
{
    const size_t lanes = Lanes(d);
    const auto bit = [&](int b) HWY_ATTR { return Load(d, by_bit + b * lanes); };
    if constexpr (Bits == 1) {
        StoreU(bit(0), d, llr);
    } else if constexpr (Bits == 2) {
        StoreInterleaved2(bit(0), bit(1), d, llr);
    } else if constexpr (Bits == 3) {
        StoreInterleaved3(bit(0), bit(1), bit(2), d, llr);
    } else if constexpr (Bits == 4) {
        StoreInterleaved4(bit(0), bit(1), bit(2), bit(3), d, llr);
#if HWY_TARGET != HWY_SCALAR
    } else if constexpr (Bits == 6 || Bits == 8) {
        // In pairs, each of which then moves as one double.
        const Repartition<double, D> d_pair;
        const size_t pairs = Lanes(d_pair);
        HWY_ALIGN float paired[Bits * MaxLanes(D())];
        for (int b = 0; b < Bits; b += 2) {
            StoreInterleaved2(bit(b), bit(b + 1), d, paired + b * lanes);
        }
        for (size_t half = 0; half < 2; ++half) {
            const auto pair = [&](int b) HWY_ATTR {
                const float* from = paired + b * lanes + half * lanes;
                return BitCast(d_pair, Load(d, from));
            };
            double* const to = reinterpret_cast<double*>(llr + half * pairs * Bits);
            if constexpr (Bits == 6) {
                StoreInterleaved3(pair(0), pair(2), pair(4), d_pair, to);
            } else {
                StoreInterleaved4(pair(0), pair(2), pair(4), pair(6), d_pair, to);
            }
        }
#endif
    } else {
        for (size_t lane = 0; lane < lanes; ++lane) {
            for (int b = 0; b < Bits; ++b) {
                llr[lane * Bits + b] = by_bit[b * lanes + lane];
            }
        }
    }
}

template <bool MaxLog, int Bits, typename Table>
void demap_range(const demapping& job, const Table& table, size_t first, size_t last)
{
    const ScalableTag<float> d;
    using V = Vec<decltype(d)>;
    constexpr size_t most_lanes = MaxLanes(d);
    const size_t lanes = Lanes(d);
    HWY_ALIGN float by_bit[Bits * most_lanes] = {};

    //! Symbol i and the ones behind it; `llr` is not used if LLRs stand by bit.
    const auto one_vector = [&](size_t i,
                                const float* x,
                                const float* noise,
                                float* llr) HWY_ATTR {
        V re;
        V im;
        LoadInterleaved2(d, x, re, im);
        const V n = job.noise_for_each ? LoadU(d, noise) : Set(d, *noise);
        V of_bit[Bits];
        demap<MaxLog, Bits>(d, table, re, im, n, job.sign, Set(d, largest_llr), of_bit);
        for (int bit = 0; bit < Bits; ++bit) {
            int place = bit;
            if constexpr (std::is_base_of_v<placed_table, Table>) {
                place = table.place[bit];
            }
            if (job.by_bit) {
                StoreU(of_bit[bit], d, job.llr + place * most_by_bit + i);
            } else {
                Store(of_bit[bit], d, by_bit + place * lanes);
            }
        }
        if (!job.by_bit) {
            store_by_symbol<Bits>(d, by_bit, llr);
        }
    };

    const auto noise_of = [&](size_t i) {
        return job.noise + (job.noise_for_each ? i : 0);
    };
    size_t i = first;
    for (; i + lanes <= last; i += lanes) {
        one_vector(i, job.x + 2 * i, noise_of(i), job.llr + i * Bits);
    }
    if (i < last) {
        // The rest through copies, of which the lanes behind the end stay unused.
        float x[2 * most_lanes] = {};
        float noise[most_lanes] = {};
        float llr[Bits * most_lanes];
        std::copy_n(job.x + 2 * i, 2 * (last - i), x);
        std::copy_n(noise_of(i), job.noise_for_each ? last - i : 1, noise);
        one_vector(i, x, noise, llr);
        if (!job.by_bit) {
            std::copy_n(llr, (last - i) * Bits, job.llr + i * Bits);
        }
    }
}

template <bool MaxLog, typename Table>
void demap_square(const demapping& job, const Table& table, size_t first, size_t last)
{
    switch (job.bits) {
    case 2:
        return demap_range<MaxLog, 2>(job, table, first, last);
    case 4:
        return demap_range<MaxLog, 4>(job, table, first, last);
    case 6:
        return demap_range<MaxLog, 6>(job, table, first, last);
    case 8:
        return demap_range<MaxLog, 8>(job, table, first, last);
    default:
        return demap_range<MaxLog, 10>(job, table, first, last);
    }
}

template <bool MaxLog>
void demap_axes(const demapping& job, size_t first, size_t last)
{
    if (job.square->gray) {
        return demap_square<MaxLog>(job, gray_table{ *job.square }, first, last);
    }
    return demap_square<MaxLog>(job, *job.square, first, last);
}

//! Whether the points had such a structure.
template <bool MaxLog>
bool demap_mirrored(const demapping& job, size_t first, size_t last)
{
    if (job.rings) {
        if (job.bits == 6) {
            demap_range<MaxLog, 6>(job, *job.rings, first, last);
        } else {
            demap_range<MaxLog, 8>(job, *job.rings, first, last);
        }
        return true;
    }
    if (!job.mirror) {
        return false;
    }
    switch (job.bits) {
    case 4:
        demap_range<MaxLog, 4>(job, *job.mirror, first, last);
        break;
    case 5:
        demap_range<MaxLog, 5>(job, *job.mirror, first, last);
        break;
    case 6:
        demap_range<MaxLog, 6>(job, *job.mirror, first, last);
        break;
    case 7:
        demap_range<MaxLog, 7>(job, *job.mirror, first, last);
        break;
    default:
        demap_range<MaxLog, 8>(job, *job.mirror, first, last);
        break;
    }
    return true;
}

template <bool MaxLog>
void demap_plane(const demapping& job, size_t first, size_t last)
{
    if constexpr (MaxLog) {
        if (demap_mirrored<true>(job, first, last)) {
            return;
        }
    }
    switch (job.bits) {
    case 1:
        return demap_range<MaxLog, 1>(job, *job.plane, first, last);
    case 2:
        return demap_range<MaxLog, 2>(job, *job.plane, first, last);
    case 3:
        if (job.octant) {
            return demap_range<MaxLog, 3>(job, *job.octant, first, last);
        }
        return demap_range<MaxLog, 3>(job, *job.plane, first, last);
    case 4:
        return demap_range<MaxLog, 4>(job, *job.plane, first, last);
    case 5:
        return demap_range<MaxLog, 5>(job, *job.plane, first, last);
    case 6:
        return demap_range<MaxLog, 6>(job, *job.plane, first, last);
    case 7:
        return demap_range<MaxLog, 7>(job, *job.plane, first, last);
    default:
        return demap_range<MaxLog, 8>(job, *job.plane, first, last);
    }
}

template <bool MaxLog>
void demap_all(const demapping& job, size_t first, size_t last)
{
    (job.square ? demap_axes<MaxLog> : demap_plane<MaxLog>)(job, first, last);
}

void demap_symbols(const demapping& job, size_t first, size_t last)
{
    DEMAP_SYMBOLS(job, first, last);
}

} // namespace HWY_NAMESPACE
} // namespace
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(demap_symbols);

} // namespace

void DEMAP_PART(const demapping& job, size_t first, size_t last)
{
    HWY_DYNAMIC_DISPATCH(demap_symbols)(job, first, last);
}

} // namespace gr::cudaphy::kernels
#endif
