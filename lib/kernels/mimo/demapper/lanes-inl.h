/* SPDX-License-Identifier: GPL-3.0-or-later */

// The demapper's arithmetic, written once for a vector of symbols and for a GPU thread,
// which is a vector of one lane. Included inside a namespace, once for each instruction
// set, where these exist: LANE_FUNCTION (how a function begins), LANE_UNROLL (a loop up
// to 16 times), LANE_ROLLED; LANE_LAMBDA (what stands before a lambda's body);
// LANE_RARE_FUNCTION, of what is seldom come to; least_shared_bits, of a point or level,
// from which on sums that serve all bits pay; lone_levels_pay, whether it does to ask if
// exact LLRs of a vector are the max-log ones; the operations named as Highway names
// them; and
//
//   Power(d, x)               2^x of x up to `raised`, or 2^-125 and less below that
//   Reciprocal(d, x)          infinite, too, where it is more than 1e38
//   Logarithm(d, x)           to base 2, of x from 2^-126 up
//   LogarithmOfOneAnd(d, x)   of 1 + x, x in 0 to 1
//   NotTiny(d, x)             x, but where subnormal numbers take time 2^-30 or more
//   WhereNot(yes, a, other)   a, but where `yes` is false what other() gives
//
// No multiply and add of max-log LLRs is fused, so that they are the same bits
// everywhere.

constexpr float log2_e = 1.44269504f;
constexpr float ln_2 = 0.693147181f;

// For exact LLRs: likelihoods are scaled by 2^raised, so that sums reach down to 2^-160,
// or LLRs up to 111, without further care.
constexpr float raised = 62.0f;
constexpr float least_sum = 0x1p-98f;
// For exact LLRs of a Gray axis or of 8PSK: beyond this exponent a second point counts
// for nothing, or for less than the last places of the exponents.
constexpr float largest_exponent = 0x1p27f;
// A likelihood this power of 2 below another one changes no LLR as large as that.
constexpr float lost = 22.0f;

// Symbols beyond this count as if they were there, so that no metric overflows.
constexpr float largest_symbol = 1e18f;

template <typename D, typename V>
struct axis_metric {
    D d;
    V x;
    const axis_table& table;

    LANE_FUNCTION V operator()(int level) const
    {
        return x * Set(d, table.twice[level]) - Set(d, table.energy[level]);
    }
};

template <typename D, typename V, typename Table>
struct plane_metric {
    D d;
    V re;
    V im;
    const Table& table;

    LANE_FUNCTION V operator()(int label) const
    {
        return (re * Set(d, table.twice_re[label]) + im * Set(d, table.twice_im[label])) -
               Set(d, table.energy[label]);
    }
};

//! A level's or point's likelihood, times 2^raised. x and the halved step of the tables
//! are scaled by sqrt(log2(e) / N), so that a likelihood takes two fused operations and
//! the power.
template <typename D, typename V>
struct axis_likelihood {
    D d;
    V x;
    V half;
    const axis_table& table;

    LANE_FUNCTION V operator()(int level) const
    {
        const V away = NegMulAdd(half, Set(d, table.twice[level]), x);
        return Power(d, NegMulAdd(away, away, Set(d, raised)));
    }
};

template <typename D, typename V, typename Table>
struct plane_likelihood {
    D d;
    V re;
    V im;
    V half;
    const Table& table;

    LANE_FUNCTION V operator()(int label) const
    {
        const V across = NegMulAdd(half, Set(d, table.twice_re[label]), re);
        const V along = NegMulAdd(half, Set(d, table.twice_im[label]), im);
        return Power(d,
                     NegMulAdd(along, along, NegMulAdd(across, across, Set(d, raised))));
    }
};

struct largest_term {
    static constexpr float none = -1e30f; //!< below every metric

    template <typename V>
    LANE_FUNCTION V operator()(V a, V b) const
    {
        return Max(a, b);
    }
};

struct sum_of_terms {
    static constexpr float none = 0.0f;

    template <typename V>
    LANE_FUNCTION V operator()(V a, V b) const
    {
        return a + b;
    }
};

//! log2(2^a + 2^b)
template <typename D>
struct log_of_sum {
    static constexpr float none = -1e30f;
    D d;

    template <typename V>
    LANE_FUNCTION V operator()(V a, V b) const
    {
        const V power = Power(d, Set(d, 0.0f) - Abs(a - b));
        return Max(a, b) + LogarithmOfOneAnd(d, power);
    }
};

//! A metric as a log-likelihood to base 2, relative to the best point's, which is 0.
template <typename D, typename V, typename Metric>
struct scaled_metric {
    D d;
    const Metric& metric;
    V best;
    V steep;

    LANE_FUNCTION V operator()(int label) const
    {
        return Max((metric(label) - best) * steep, Set(d, largest_term::none));
    }
};

//! The total of `Count` terms, pairwise.
template <int Count, typename V, typename Sum>
LANE_FUNCTION V total(const V* terms, const Sum& sum)
{
    if constexpr (Count == 1) {
        return terms[0];
    } else {
        return sum(total<Count / 2>(terms, sum),
                   total<Count / 2>(terms + Count / 2, sum));
    }
}

//! For each bit of 2^Bits labels, most significant first: the total of the terms whose
//! bit is 0, and of those whose bit is 1. Folds the halves of the labels together after
//! each bit.
template <int Bits, typename V, typename Sum>
LANE_FUNCTION void totals_by_bit(V* terms, const Sum& sum, V* zero, V* one)
{
    constexpr int half = 1 << (Bits - 1);
    zero[0] = total<half>(terms, sum);
    one[0] = total<half>(terms + half, sum);
    if constexpr (Bits > 1) {
        LANE_UNROLL
        for (int label = 0; label < half; ++label) {
            terms[label] = sum(terms[label], terms[label + half]);
        }
        totals_by_bit<Bits - 1>(terms, sum, zero + 1, one + 1);
    }
}

//! The same for terms that a function of the label gives. More than 16 labels are taken
//! 16 by 16, which fit into registers.
template <int Bits, typename D, typename V, typename Terms, typename Sum>
LANE_FUNCTION void totals_by_bit(D d, const Terms& term, const Sum& sum, V* zero, V* one)
{
    constexpr int low = Bits < 4 ? Bits : 4;
    constexpr int high = Bits - low;
    V terms[1 << low];
    if constexpr (high == 0) {
        LANE_UNROLL
        for (int label = 0; label < 1 << low; ++label) {
            terms[label] = term(label);
        }
        totals_by_bit<low>(terms, sum, zero, one);
    } else {
        LANE_UNROLL
        for (int bit = 0; bit < Bits; ++bit) {
            zero[bit] = one[bit] = Set(d, Sum::none);
        }
        LANE_ROLLED
        for (int above = 0; above < 1 << high; ++above) {
            LANE_UNROLL
            for (int label = 0; label < 1 << low; ++label) {
                terms[label] = term((above << low) + label);
            }
            const V all = total<1 << low>(terms, sum);
            LANE_UNROLL
            for (int bit = 0; bit < high; ++bit) {
                if ((above >> (high - 1 - bit)) & 1) {
                    one[bit] = sum(one[bit], all);
                } else {
                    zero[bit] = sum(zero[bit], all);
                }
            }
            V low_zero[low];
            V low_one[low];
            totals_by_bit<low>(terms, sum, low_zero, low_one);
            LANE_UNROLL
            for (int bit = 0; bit < low; ++bit) {
                zero[high + bit] = sum(zero[high + bit], low_zero[bit]);
                one[high + bit] = sum(one[high + bit], low_one[bit]);
            }
        }
    }
}

template <typename D, typename V>
LANE_FUNCTION V within(D d, V llr, V largest)
{
    return Max(Min(llr, largest), Set(d, 0.0f) - largest);
}

template <typename D, typename V>
LANE_FUNCTION V within_largest_llr(D d, V llr)
{
    return within(d, llr, Set(d, largest_llr));
}

//! Max-log LLRs of Bits bits, most significant first.
template <int Bits, typename D, typename V, typename Metric>
LANE_FUNCTION void nearest_llrs(D d, const Metric& metric, V scale, V largest, V* llr)
{
    V zero[Bits];
    V one[Bits];
    totals_by_bit<Bits>(d, metric, largest_term{}, zero, one);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        llr[bit] = within(d, (zero[bit] - one[bit]) * scale, largest);
    }
}

//! The best metric of the labels whose bit `bit` is `value`, and to base 2 the logarithm
//! of their likelihoods' sum beside its own.
template <int Bits, typename D, typename V, typename Metric>
LANE_FUNCTION void
beside_best(D d, const Metric& metric, V steep, int bit, int value, V& best, V& rest)
{
    const int below = Bits - 1 - bit;
    const auto label_of = [&](int index) {
        return (((index >> below) * 2 + value) << below) + (index & ((1 << below) - 1));
    };
    best = metric(label_of(0));
    LANE_UNROLL
    for (int index = 1; index < 1 << (Bits - 1); ++index) {
        best = Max(best, metric(label_of(index)));
    }
    V sum = Set(d, 0.0f);
    LANE_UNROLL
    for (int index = 0; index < 1 << (Bits - 1); ++index) {
        sum = sum + Power(d, (metric(label_of(index)) - best) * steep);
    }
    rest = Logarithm(d, sum);
}

//! One bit's exact LLR, to base 2, whatever its size: each sum beside its own best label.
template <int Bits, typename D, typename V, typename Metric>
LANE_RARE_FUNCTION void
far_llr(D d, const Metric& metric, const V& steep, int bit, V& llr)
{
    V best[2];
    V rest[2];
    beside_best<Bits>(d, metric, steep, bit, 0, best[0], rest[0]);
    beside_best<Bits>(d, metric, steep, bit, 1, best[1], rest[1]);
    llr = (best[0] - best[1]) * steep + (rest[0] - rest[1]);
}

//! Exact LLRs by sums of two logarithms, whatever their size.
template <int Bits, typename D, typename V, typename Metric>
LANE_FUNCTION void
logarithmic_llrs(D d, const Metric& metric, V inverse, float sign, V* llr)
{
    V best = metric(0);
    LANE_UNROLL
    for (int label = 1; label < 1 << Bits; ++label) {
        best = Max(best, metric(label));
    }
    const V steep = inverse * Set(d, log2_e);
    const scaled_metric<D, V, Metric> scaled{ d, metric, best, steep };
    V zero[Bits];
    V one[Bits];
    totals_by_bit<Bits>(d, scaled, log_of_sum<D>{ d }, zero, one);
    const V scale = Set(d, sign * ln_2);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        llr[bit] = within_largest_llr(d, (zero[bit] - one[bit]) * scale);
    }
}

/*!
 * Exact LLRs, by sums of likelihoods that serve all bits: one power of 2 a label and two
 * logarithms a bit. If a sum is too small, or x too far from all points, far_llr()
 * computes that bit again.
 */
template <int Bits, typename D, typename V, typename Metric, typename Likelihood>
LANE_FUNCTION void exact_llrs(D d,
                              const Metric& metric,
                              const Likelihood& likelihood,
                              V inverse,
                              float sign,
                              V* llr)
{
    if constexpr (Bits < least_shared_bits) {
        return logarithmic_llrs<Bits>(d, metric, inverse, sign, llr);
    }
    V zero[Bits];
    V one[Bits];
    totals_by_bit<Bits>(d, likelihood, sum_of_terms{}, zero, one);
    const V scale = Set(d, sign * ln_2);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        const V near = Logarithm(d, zero[bit]) - Logarithm(d, one[bit]);
        const auto known = Gt(Min(zero[bit], one[bit]), Set(d, least_sum));
        llr[bit] = WhereNot(known, near * scale, [&]() LANE_LAMBDA {
            V far;
            const V steep = inverse * Set(d, log2_e);
            far_llr<Bits>(d, metric, steep, bit, far);
            return within_largest_llr(d, far * scale);
        });
    }
}

//! x if it is usable, else 0; bounded so that metrics stay finite.
template <typename D, typename V, typename M>
LANE_FUNCTION V held_symbol(D d, V x, M usable)
{
    return Max(Min(IfThenElseZero(usable, x), Set(d, largest_symbol)),
               Set(d, -largest_symbol));
}

//! 1 over the noise variance, or 0 if it is not usable. Finite even for the smallest
//! subnormal, because 0 times infinity would be NaN.
template <typename D, typename V, typename M>
LANE_FUNCTION V inverse_of(D d, V noise, M usable)
{
    return IfThenElseZero(usable, Min(Set(d, 1.0f) / noise, Set(d, 1e38f)));
}

#include "kernels/mimo/demapper/gray-inl.h"
#include "kernels/mimo/demapper/mirror-inl.h"
#include "kernels/mimo/demapper/octant-inl.h"

//! One symbol a lane; the LLRs of a placed_table come in its own order of bits. Max-log
//! ones are held within `largest`.
template <bool MaxLog, int Bits, typename D, typename V, typename Table>
LANE_FUNCTION void
demap(D d, const Table& table, V re, V im, V noise, float sign, V largest, V* llr)
{
    const V zero = Set(d, 0.0f);
    // 0 times what is not finite is NaN, with which every comparison is false.
    const auto usable =
        And(Gt(noise, zero),
            Lt(MulAdd(re, zero, MulAdd(im, zero, noise)), Set(d, __builtin_huge_valf())));
    constexpr int half = Bits / 2;
    if constexpr (std::is_same_v<Table, gray_table>) {
        gray_llrs<MaxLog, half>(d, table, re, im, noise, usable, largest, llr);
    } else if constexpr (std::is_same_v<Table, octant_table>) {
        octant_llrs<MaxLog>(d, table, re, im, noise, usable, largest, llr);
    } else {
        re = held_symbol(d, re, usable);
        im = held_symbol(d, im, usable);
        const V inverse = inverse_of(d, noise, usable);
        const V scale = inverse * Set(d, sign);
        [[maybe_unused]] const V fine = Sqrt(inverse * Set(d, log2_e));
        [[maybe_unused]] const V half_fine = fine * Set(d, 0.5f);
        if constexpr (std::is_same_v<Table, mirror_table>) {
            static_assert(MaxLog);
            mirror_llrs<Bits>(d, table, re, im, scale, largest, llr);
        } else if constexpr (std::is_same_v<Table, ring_table>) {
            static_assert(MaxLog);
            ring_llrs<Bits>(d, table, re, im, scale, largest, llr);
        } else if constexpr (std::is_same_v<Table, square_table>) {
            const axis_metric<D, V> metric_i{ d, re, table.axis[0] };
            const axis_metric<D, V> metric_q{ d, im, table.axis[1] };
            if constexpr (MaxLog || half == 1) {
                nearest_llrs<half>(d, metric_i, scale, largest, llr);
                nearest_llrs<half>(d, metric_q, scale, largest, llr + half);
            } else {
                const axis_likelihood<D, V> of_i{
                    d, re * fine, half_fine, table.axis[0]
                };
                exact_llrs<half>(d, metric_i, of_i, inverse, sign, llr);
                const axis_likelihood<D, V> of_q{
                    d, im * fine, half_fine, table.axis[1]
                };
                exact_llrs<half>(d, metric_q, of_q, inverse, sign, llr + half);
            }
        } else {
            const plane_metric<D, V, Table> metric{ d, re, im, table };
            if constexpr (MaxLog || Bits == 1) {
                nearest_llrs<Bits>(d, metric, scale, largest, llr);
            } else {
                const plane_likelihood<D, V, Table> likelihood{
                    d, re * fine, im * fine, half_fine, table
                };
                exact_llrs<Bits>(d, metric, likelihood, inverse, sign, llr);
            }
        }
    }
}
