/* SPDX-License-Identifier: GPL-3.0-or-later */

// The demapper's arithmetic, written once for a vector of symbols and for a GPU thread,
// which is a vector of one lane. Included inside a namespace, once for each instruction
// set, where these exist: LANE_FUNCTION (how a function begins), LANE_UNROLL (a
// loop up to 16 times), LANE_ROLLED, the operations named as Highway names them, and
// LogSum(d, a, b) = log(e^a + e^b) with exponentials and logarithm to a base of its own,
// ln(base) = 1 / log_unit. No multiply and add is fused, so that max-log LLRs are the
// same bits everywhere.

// Below every metric, above -infinity.
constexpr float lowest_metric = -1e30f;

// Symbols beyond this are taken as if they stood there: no metric overflows.
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

//! A metric as a log-likelihood relative to the best point's, which is 0.
template <typename D, typename V, typename Metric>
struct scaled_metric {
    D d;
    const Metric& metric;
    V best;
    V scale;

    LANE_FUNCTION V operator()(int label) const
    {
        return Max((metric(label) - best) * scale, Set(d, lowest_metric));
    }
};

template <typename D>
struct largest_term {
    D d;

    template <typename V>
    LANE_FUNCTION V operator()(V a, V b) const
    {
        return Max(a, b);
    }
};

template <typename D>
struct log_of_sum {
    D d;

    template <typename V>
    LANE_FUNCTION V operator()(V a, V b) const
    {
        return LogSum(d, a, b);
    }
};

//! All of `Count` terms in one, pairwise.
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

//! For each bit of 2^Bits labels, most significant first, the total of those where it is
//! 0 and of those where it is 1. Folds the labels' halves together after each bit.
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

//! The same where the terms come from a function of the label. More than 16 labels are
//! taken 16 by 16, which is what fits into registers.
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
            zero[bit] = one[bit] = Set(d, lowest_metric);
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
LANE_FUNCTION V within_largest_llr(D d, V llr)
{
    return Max(Min(llr, Set(d, largest_llr)), Set(d, -largest_llr));
}

/*!
 * Max-log LLRs of an axis that folds: of two levels that differ in sign the better one
 * has that of x, with |x| for x and |s| for s in its metric, so that all bits but the
 * first see half as many levels; and of the sign that x has not, the best level is the
 * smallest. Rounding keeps the order of what it rounds: these are the bits that all
 * levels give.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void folded_llrs(D d, const axis_table& table, V x, V scale, V* llr)
{
    const V size = Abs(x);
    const V turned = size * Set(d, table.first_sign);
    const axis_metric<D, V> metric{ d, turned, table };
    V best;
    if constexpr (Bits == 1) {
        best = metric(0);
    } else {
        V zero[Bits - 1];
        V one[Bits - 1];
        totals_by_bit<Bits - 1>(d, metric, largest_term<D>{ d }, zero, one);
        best = Max(zero[0], one[0]);
        LANE_UNROLL
        for (int bit = 1; bit < Bits; ++bit) {
            llr[bit] = within_largest_llr(d, (zero[bit - 1] - one[bit - 1]) * scale);
        }
    }
    const V other = Set(d, -table.least_energy) - size * Set(d, table.least_twice);
    const V first = CopySign(best - other, x) * Set(d, table.first_sign);
    llr[0] = within_largest_llr(d, first * scale);
}

//! LLRs of Bits bits, most significant first; `inverse` is 1 / N.
template <bool MaxLog, int Bits, typename D, typename V, typename Metric>
LANE_FUNCTION void bit_llrs(D d, const Metric& metric, V inverse, float sign, V* llr)
{
    V zero[Bits];
    V one[Bits];
    V scale;
    if constexpr (MaxLog) {
        totals_by_bit<Bits>(d, metric, largest_term<D>{ d }, zero, one);
        scale = inverse * Set(d, sign);
    } else {
        // Relative to the best point, so that 1 / N meets small numbers only.
        V best = metric(0);
        LANE_UNROLL
        for (int label = 1; label < 1 << Bits; ++label) {
            best = Max(best, metric(label));
        }
        const scaled_metric<D, V, Metric> scaled{
            d, metric, best, inverse * Set(d, log_unit)
        };
        totals_by_bit<Bits>(d, scaled, log_of_sum<D>{ d }, zero, one);
        scale = Set(d, sign / log_unit);
    }
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        llr[bit] = within_largest_llr(d, (zero[bit] - one[bit]) * scale);
    }
}

//! One symbol a lane; the LLRs of a square_table come in its own order of bits.
template <bool MaxLog, int Bits, typename D, typename V, typename Table>
LANE_FUNCTION void demap(D d, const Table& table, V re, V im, V noise, float sign, V* llr)
{
    const V infinite = Set(d, __builtin_huge_valf());
    // False for NaN, too.
    const auto usable = And(And(Lt(Abs(re), infinite), Lt(Abs(im), infinite)),
                            And(Gt(noise, Set(d, 0.0f)), Lt(noise, infinite)));
    const V bound = Set(d, largest_symbol);
    re = Max(Min(IfThenElseZero(usable, re), bound), Set(d, -largest_symbol));
    im = Max(Min(IfThenElseZero(usable, im), bound), Set(d, -largest_symbol));
    // Finite even for the smallest subnormal N, or 0 times it would be NaN. At 0 all
    // LLRs are.
    const V inverse = IfThenElseZero(usable, Min(Set(d, 1.0f) / noise, Set(d, 1e38f)));
    if constexpr (std::is_same_v<Table, square_table>) {
        constexpr int half = Bits / 2;
        if (MaxLog && table.folds) {
            const V scale = inverse * Set(d, sign);
            folded_llrs<half>(d, table.axis[0], re, scale, llr);
            folded_llrs<half>(d, table.axis[1], im, scale, llr + half);
        } else {
            const axis_metric<D, V> metric_i{ d, re, table.axis[0] };
            bit_llrs<MaxLog, half>(d, metric_i, inverse, sign, llr);
            const axis_metric<D, V> metric_q{ d, im, table.axis[1] };
            bit_llrs<MaxLog, half>(d, metric_q, inverse, sign, llr + half);
        }
    } else {
        const plane_metric<D, V, Table> metric{ d, re, im, table };
        bit_llrs<MaxLog, Bits>(d, metric, inverse, sign, llr);
    }
}
