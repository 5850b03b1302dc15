/* SPDX-License-Identifier: GPL-3.0-or-later */

// LLRs of an axis whose levels are evenly spaced and labelled by a Gray code, see
// find_gray(), as those of a standard's QAM are; included by soft_demapper_lanes-inl.h.

/*!
 * A coordinate among the boundaries of a Gray axis's bits, see find_gray(): in units,
 * away[b] = |y_b| from the nearest boundary of bit b, whose sign y[b] has. Beyond 2^Bits
 * units all of them grow alike, by `beyond`, and are taken as they are there.
 */
template <int Bits, typename V>
struct gray_place {
    V size, inside, beyond;
    V y[Bits], away[Bits];
};

template <int Bits, typename D, typename V>
LANE_FUNCTION gray_place<Bits, V> find_place(D d, const axis_table& table, V x)
{
    gray_place<Bits, V> at;
    at.size = Abs(x) * Set(d, table.per_unit);
    at.inside = Min(at.size, Set(d, float(1 << Bits)));
    at.beyond = at.size - at.inside;
    at.y[0] = x;
    at.away[0] = at.inside;
    LANE_UNROLL
    for (int bit = 1; bit < Bits; ++bit) {
        at.y[bit] = at.away[bit - 1] - Set(d, float(1 << (Bits - bit)));
        at.away[bit] = Abs(at.y[bit]);
    }
    return at;
}

/*!
 * How much nearer than the nearest level with the other value of bit b the nearest level
 * is, as difference of squares: levels stand one unit from boundaries, so these are
 * (away[b] + 1)^2 - (away[last] - 1)^2. No difference of like numbers is taken.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void max_log_sizes(D d, const gray_place<Bits, V>& at, V* sizes)
{
    const V with = at.away[Bits - 1] + (at.beyond + at.beyond);
    const V less = Set(d, 2.0f) - at.away[Bits - 1];
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        sizes[bit] = (at.away[bit] + with) * (at.away[bit] + less);
    }
}

//! The level, of the upper half of a Gray axis's 2^Bits, whose y_1, y_2, ... have the
//! signs of the label's bits, the most significant first, 1 for plus.
template <int Bits>
LANE_FUNCTION constexpr int level_by_signs(int label)
{
    int away = 1;
    for (int bit = Bits - 1; bit > 0; --bit) {
        const bool plus = (label >> (Bits - 1 - bit)) & 1;
        away = (1 << (Bits - bit)) + (plus ? away : -away);
    }
    return away;
}

/*!
 * Where sums are too small to be told: a sum's logarithm by its nearest level, and the
 * one as near at the other end of the same run of values, if there is one. Further terms
 * are below a float's last place wherever that is needed, but for the next level of 256-
 * and 1024-QAM in much noise.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void far_logarithms(D d, const gray_place<Bits, V>& at, V steep, V* logs)
{
    V sizes[Bits];
    max_log_sizes<Bits>(d, at, sizes);
    const V nearest = Set(d, gray_raised);
    const V most = Set(d, largest_llr * log2_e * 0.9999f);
    const V quadruple = steep * Set(d, 4.0f);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        logs[bit] = nearest - Min(sizes[bit] * steep, most);
    }
    constexpr float widest = (1 << (Bits - 1)) + 1;
    const V nothing = Set(d, lost);
    V centre = at.away[0];
    LANE_UNROLL
    for (int bit = 1; bit < Bits - 1; ++bit) {
        centre = Min(centre, at.away[bit]);
    }
    const auto two_sided = And(Gt(steep * Set(d, widest * widest), Set(d, least_reach)),
                               Lt(centre * quadruple * Set(d, 3.0f), nothing));
    if (AnyTrue(d, two_sided)) {
        centre = at.away[0];
        LANE_UNROLL
        for (int bit = 1; bit < Bits; ++bit) {
            const V gap = centre * quadruple * Set(d, float((1 << (Bits - bit)) + 1));
            const V rest = LogarithmOfOneAnd(d, Power(d, Set(d, 0.0f) - gap));
            logs[bit] = logs[bit] + IfThenElseZero(two_sided, rest);
            centre = Min(centre, at.away[bit]);
        }
    }
    if constexpr (Bits > 3) {
        const auto flat = Lt(steep, Set(d, 0.3f));
        if (AnyTrue(d, flat)) {
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                const V gap = (at.away[bit] + at.beyond + Set(d, 2.0f)) * quadruple;
                const V rest = LogarithmOfOneAnd(d, Power(d, Set(d, 0.0f) - gap));
                logs[bit] = logs[bit] + IfThenElseZero(flat, rest);
            }
        }
    }
}

//! A sum's logarithm, but `far` where it is too small to be told.
template <typename D, typename V>
LANE_FUNCTION V logarithm_or(D d, V sum, V far)
{
    return IfThenElse(Gt(sum, Set(d, least_sum)), Logarithm(d, sum), far);
}

/*!
 * Exact LLRs to base 2, with the sign of y_b, by sums of likelihoods that serve all bits,
 * relative to that of the nearest level. Levels s and -s have all bits but the first in
 * common, and the likelihood of -s is h^s times that of s: half of the powers of 2.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void gray_sums(D d, const gray_place<Bits, V>& at, V steep, V* llr)
{
    constexpr int half = 1 << (Bits - 1);
    const V exponent = at.size * steep * Set(d, -4.0f);
    steep = Min(steep, Set(d, 1e20f)); // or infinity times 0
    const V from_nearest = at.away[Bits - 1] - Set(d, 1.0f);
    const V near = at.inside - from_nearest;
    const V far = (at.inside + from_nearest + at.beyond + at.beyond) * steep;
    const V h = NotSubnormal(d, Power(d, exponent));
    const V square = IfThenElseZero(Gt(h, Set(d, 0x1p-30f)), h * h);
    V ratio = h;
    V likelihood[half];
    V both[half];
    LANE_UNROLL
    for (int k = 0; k < half; ++k) {
        const V s = Set(d, float(2 * k + 1));
        likelihood[k] =
            Power(d, NegMulAdd(near - s, NegMulAdd(steep, s, far), Set(d, gray_raised)));
        both[k] = MulAdd(likelihood[k], ratio, likelihood[k]);
        ratio = NotSubnormal(d, ratio * square);
    }
    V below = likelihood[half - 1];
    LANE_UNROLL
    for (int k = half - 2; k >= 0; --k) {
        below = MulAdd(below, square, likelihood[k]);
    }
    V terms[half];
    LANE_UNROLL
    for (int label = 0; label < half; ++label) {
        terms[label] = both[level_by_signs<Bits>(label) / 2];
    }
    V minus[Bits];
    V plus[Bits];
    totals_by_bit<Bits - 1>(terms, sum_of_terms{}, minus + 1, plus + 1);
    const V above = NegMulAdd(below, h, minus[1] + plus[1]);

    // Here h can be of any size.
    V other = Logarithm(d, below) + exponent;
    const V reach = Max(at.size, Set(d, float(half))) + Set(d, 1.0f);
    if (AnyTrue(d, Gt(reach * reach * steep, Set(d, least_reach)))) {
        V far[Bits];
        far_logarithms<Bits>(d, at, steep, far);
        other = IfThenElse(Gt(below, Set(d, least_sum)), other, far[0]);
        LANE_UNROLL
        for (int bit = 1; bit < Bits; ++bit) {
            llr[bit] = logarithm_or(d, plus[bit], far[bit]) -
                       logarithm_or(d, minus[bit], far[bit]);
        }
    } else {
        LANE_UNROLL
        for (int bit = 1; bit < Bits; ++bit) {
            llr[bit] = Logarithm(d, plus[bit]) - Logarithm(d, minus[bit]);
        }
    }
    llr[0] = CopySign(Logarithm(d, above) - other, at.y[0]);
}

template <int Bits, typename D, typename V>
LANE_FUNCTION void
gray_nearest(D d, const axis_table& table, const gray_place<Bits, V>& at, V scale, V* llr)
{
    V sizes[Bits];
    max_log_sizes<Bits>(d, at, sizes);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        const V size = Min(sizes[bit] * scale, Set(d, largest_llr));
        llr[bit] = CopySign(size, at.y[bit]) * Set(d, table.above[bit]);
    }
}

//! LLRs of a Gray axis. Exact ones are the max-log ones where no second level counts.
template <bool MaxLog, int Bits, typename D, typename V>
LANE_FUNCTION void gray_llrs(D d, const axis_table& table, V x, V inverse, V* llr)
{
    const auto at = find_place<Bits>(d, table, x);
    const V scale = Min(inverse * Set(d, table.unit_energy), Set(d, 1e38f));
    if constexpr (MaxLog || Bits == 1) {
        gray_nearest<Bits>(d, table, at, scale, llr);
    } else {
        const V steep = scale * Set(d, log2_e);
        // No level is more than 2 from a boundary.
        auto alone = Gt(steep, Set(d, lost / 8));
        if (AnyTrue(d, alone)) {
            V clear = at.away[0];
            LANE_UNROLL
            for (int bit = 1; bit < Bits; ++bit) {
                clear = Min(clear, at.away[bit]);
            }
            alone = Gt(clear * steep * Set(d, 4.0f), Set(d, lost));
            if (AllTrue(d, alone)) {
                gray_nearest<Bits>(d, table, at, scale, llr);
                return;
            }
        }
        V exact[Bits];
        gray_sums<Bits>(d, at, steep, exact);
        LANE_UNROLL
        for (int bit = 0; bit < Bits; ++bit) {
            llr[bit] = exact[bit] * Set(d, ln_2 * table.above[bit]);
        }
        if (AnyTrue(d, alone)) {
            gray_nearest<Bits>(d, table, at, scale, exact);
            LANE_UNROLL
            for (int bit = 0; bit < Bits; ++bit) {
                llr[bit] = IfThenElse(alone, exact[bit], llr[bit]);
            }
        }
    }
}
