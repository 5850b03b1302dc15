/* SPDX-License-Identifier: GPL-3.0-or-later */

// LLRs of an axis with evenly spaced levels and a Gray code (find_gray()), as in standard
// QAM. Included by lanes-inl.h.

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

//! In units, from the nearest boundary of any bit.
template <int Bits, typename D, typename V>
LANE_FUNCTION V clearance(D d, const axis_table& table, V x)
{
    const auto at = find_place<Bits>(d, table, x);
    V clear = at.away[0];
    LANE_UNROLL
    for (int bit = 1; bit < Bits; ++bit) {
        clear = Min(clear, at.away[bit]);
    }
    return clear;
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

template <int Bits, typename D, typename V>
LANE_FUNCTION void
gray_nearest(D d, const axis_table& table, V x, V scale, V largest, V* llr)
{
    const auto at = find_place<Bits>(d, table, x);
    V sizes[Bits];
    max_log_sizes<Bits>(d, at, sizes);
    LANE_UNROLL
    for (int bit = 0; bit < Bits; ++bit) {
        const V size = Min(sizes[bit] * scale, largest);
        llr[bit] = CopySign(size, at.y[bit]) * Set(d, table.above[bit]);
    }
}

//! Whether y_b of level 2 i + 1 is positive, see find_gray().
template <int Bits>
LANE_FUNCTION constexpr bool is_above(int bit, int i)
{
    int y = 2 * i + 1;
    for (int b = 1; b <= bit; ++b) {
        y = (y < 0 ? -y : y) - (1 << (Bits - b));
    }
    return y > 0;
}

//! The first of an axis's levels i, i + 1, ... whose bit is so, or 2^(Bits - 1).
template <int Bits>
LANE_FUNCTION constexpr int next_level(int bit, bool above, int i)
{
    while (i < 1 << (Bits - 1) && is_above<Bits>(bit, i) != above) {
        ++i;
    }
    return i;
}

//! How often the step over boundary j counts in a sum, see gray_sums().
template <int Bits>
LANE_FUNCTION constexpr int steps_over(int bit, bool above, int j)
{
    int i = next_level<Bits>(bit, above, 0);
    for (;;) {
        const int next = next_level<Bits>(bit, above, i + 1);
        if (next == 1 << (Bits - 1)) {
            return 0;
        }
        if (i + next + 1 == 2 * j) {
            return next - i;
        }
        i = next;
    }
}

//! x^Count of x from 0 up, Count 1, 3, 5 or 9.
template <int Count, typename D, typename V>
LANE_FUNCTION V odd_power(D d, V x)
{
    if constexpr (Count == 1) {
        return x;
    } else {
        const V square = NotTiny(d, x * x);
        if constexpr (Count == 3) {
            return NotTiny(d, square * x);
        } else if constexpr (Count == 5) {
            return NotTiny(d, NotTiny(d, square * square) * x);
        } else {
            static_assert(Count == 9);
            return odd_power<3>(d, odd_power<3>(d, x));
        }
    }
}

//! The steps over the boundaries between an axis's levels, see gray_sums().
template <int Bits, typename V>
struct gray_steps {
    static constexpr int levels = 1 << (Bits - 1); //!< of the upper half
    V both[levels];                                //!< of level and mirror image
    V step[levels], held[levels];                  //!< from [1] on; held: its exponent
    V lower_half, upper_half;                      //!< exponents within them, summed up
};

//! Largest exponent of a step: those over all boundaries together stay within a float,
//! and 2^-most_step is nothing beside an exponent's own rounding.
template <int Bits>
constexpr float most_step = Bits == 2   ? 60
                            : Bits == 3 ? 40
                            : Bits == 4 ? 17
                                        : 14;
//! What stands for 1 in sums.
template <int Bits>
constexpr float least_term = Bits == 5 ? 0x1p-87f : 1.0f;

//! The levels 2 I + 1 and up whose bit is so, relative to the lowest.
template <int Bits, int Bit, bool Above, int I, typename D, typename V>
LANE_FUNCTION V sum_from(D d, const gray_steps<Bits, V>& at)
{
    constexpr int next = next_level<Bits>(Bit, Above, I + 1);
    if constexpr (next == gray_steps<Bits, V>::levels) {
        return at.both[I];
    } else {
        return MulAdd(sum_from<Bits, Bit, Above, next>(d, at),
                      odd_power<next - I>(d, at.step[(I + next + 1) / 2]),
                      at.both[I]);
    }
}

//! How often the step over boundary j counts in the sum of levels above a bit's
//! boundaries less the other one.
template <int Bits>
LANE_FUNCTION constexpr int times_of(int bit, int j)
{
    return steps_over<Bits>(bit, true, j) - steps_over<Bits>(bit, false, j);
}

//! The same summed up over all, times j if `by_place`; and from level 1 to the lowest.
template <int Bits>
LANE_FUNCTION constexpr int times_of_all(int bit, bool by_place)
{
    const int upper = next_level<Bits>(bit, true, 0);
    const int lower = next_level<Bits>(bit, false, 0);
    int sum = by_place ? (upper * (upper + 1) - lower * (lower + 1)) / 2 : upper - lower;
    for (int j = 1; j < 1 << (Bits - 1); ++j) {
        sum += (by_place ? j : 1) * times_of<Bits>(bit, j);
    }
    return sum;
}

//! Less the held exponents of steps J and up in one bit's two sums. The second bit's sums
//! are those of the two halves.
template <int Bits, int Bit, int J, typename D, typename V>
LANE_FUNCTION V less_held(D d, const gray_steps<Bits, V>& at, V sum)
{
    if constexpr (J == gray_steps<Bits, V>::levels) {
        return sum;
    } else if constexpr (Bit == 1 && Bits > 2) {
        return sum - (at.upper_half - at.lower_half);
    } else {
        constexpr int times = times_of<Bits>(Bit, J);
        if constexpr (times != 0) {
            sum = NegMulAdd(at.held[J], Set(d, float(times)), sum);
        }
        return less_held<Bits, Bit, J + 1>(d, at, sum);
    }
}

//! LLRs to base 2 of bits Bit and up, positive where y_b is.
template <int Bits, int Bit, typename D, typename V>
LANE_FUNCTION void gray_bits(D d, const gray_steps<Bits, V>& at, V over, V steep, V* llr)
{
    if constexpr (Bit < Bits) {
        constexpr int upper = next_level<Bits>(Bit, true, 0);
        constexpr int lower = next_level<Bits>(Bit, false, 0);
        V sum = Logarithm(d, sum_from<Bits, Bit, true, upper>(d, at)) -
                Logarithm(d, sum_from<Bits, Bit, false, lower>(d, at));
        // What all exponents would be, less what they are.
        constexpr int overs = times_of_all<Bits>(Bit, false);
        if constexpr (overs != 0) {
            sum = MulAdd(over, Set(d, float(overs)), sum);
        }
        constexpr int steeps = -2 * times_of_all<Bits>(Bit, true);
        sum = MulAdd(steep, Set(d, float(steeps)), sum);
        llr[Bit] = less_held<Bits, Bit, 1>(d, at, sum);
        gray_bits<Bits, Bit + 1>(d, at, over, steep, llr);
    }
}

/*!
 * Exact LLRs to base 2, with the sign of y_b. With u the coordinate's size in units and
 * `steep` 4 log2(e) unit^2 / N, the likelihood of level 2 j + 1 is 2^(steep (u - 2 j))
 * times that of 2 j - 1: a step over boundary j. That of level -s is h^s times that of s,
 * h = 2^(-steep u). So the sums are polynomials, from the lowest level that counts up, in
 * which all terms are positive and the first one is 1 or more: no sum is ever too small,
 * however much or little noise there is. Steps over several boundaries at once are an odd
 * power of that over the middle one. And steps end at 2^most_step: what they are short of
 * is added to the logarithm, as all that lies before such a step is nothing beside it; so
 * all that they should be is added, and what they are is taken away.
 * Half as many powers as there are levels, and two logarithms a bit.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void gray_sums(D d, V x, V size, V steep, V nearer, V* llr)
{
    constexpr int levels = gray_steps<Bits, V>::levels;
    gray_steps<Bits, V> at;
    const V base = Set(d, least_term<Bits>);
    const V over = size * steep;
    const V h = NotTiny(d, Power(d, Set(d, 0.0f) - over));
    const V square = NotTiny(d, h * h);
    V image = h;
    LANE_UNROLL
    for (int i = 0; i < levels; ++i) {
        at.both[i] = MulAdd(image, base, base);
        image = NotTiny(d, image * square);
    }
    V image_step[levels];
    image_step[0] = h;
    LANE_UNROLL
    for (int j = 1; j < levels; ++j) {
        const V exponent = MulAdd(steep, Set(d, -2.0f * j), over);
        at.held[j] = Min(exponent, Set(d, most_step<Bits>));
        at.step[j] = NotTiny(d, Power(d, at.held[j]));
        image_step[j] = NotTiny(d, image_step[j - 1] * nearer);
    }
    V below = base;
    LANE_UNROLL
    for (int j = levels - 1; j > 0; --j) {
        below = MulAdd(below, image_step[j], base);
    }
    V above;
    V exponents = at.held[levels / 2];
    if constexpr (Bits < 4) {
        above = base;
        LANE_UNROLL
        for (int j = levels - 1; j > 0; --j) {
            above = MulAdd(above, at.step[j], base);
        }
    } else {
        // All levels less those below 0, which are less than half.
        V between = at.step[1];
        LANE_UNROLL
        for (int j = 2; j <= levels / 2; ++j) {
            between = NotTiny(d, between * at.step[j]);
        }
        above = MulAdd(sum_from<Bits, 1, true, levels / 2>(d, at),
                       between,
                       sum_from<Bits, 1, false, 0>(d, at));
        above = NegMulAdd(below, h, above);
    }
    if constexpr (Bits > 2) {
        at.lower_half = at.held[1];
        at.upper_half = at.held[levels / 2 + 1];
        LANE_UNROLL
        for (int j = 2; j < levels / 2; ++j) {
            at.lower_half = at.lower_half + at.held[j];
            at.upper_half = at.upper_half + at.held[levels / 2 + j];
        }
        exponents = exponents + (at.lower_half + at.upper_half);
    }
    V sum = Logarithm(d, above) - Logarithm(d, below);
    sum = MulAdd(over, Set(d, float(levels)), sum);
    sum = MulAdd(steep, Set(d, -float(levels * (levels - 1))), sum);
    llr[0] = CopySign(sum - exponents, x);
    gray_bits<Bits, 1>(d, at, over, steep, llr);
}

/*!
 * LLRs of two Gray axes. Exact ones are the max-log ones where exponents are so large
 * that no second level counts, or is told by a float. Where not `usable`, re and im are
 * anything.
 */
template <bool MaxLog, int Bits, typename D, typename V, typename M>
LANE_FUNCTION void
gray_llrs(D d, const gray_table& table, V re, V im, V noise, M usable, V largest, V* llr)
{
    const auto& axes = table.axis;
    const auto nearest = [&](V* to) LANE_LAMBDA {
        const V inverse = inverse_of(d, noise, usable);
        const V scale = Min(inverse * Set(d, axes[0].unit_energy), Set(d, 1e38f));
        const V x = held_symbol(d, re, usable);
        gray_nearest<Bits>(d, axes[0], x, scale, largest, to);
        const V y = held_symbol(d, im, usable);
        gray_nearest<Bits>(d, axes[1], y, scale, largest, to + Bits);
    };
    if constexpr (MaxLog || Bits == 1) {
        nearest(llr);
    } else {
        const V steep = Reciprocal(d, noise) * Set(d, axes[0].steep);
        if constexpr (lone_levels_pay) {
            // Where no second level counts. None is more than 2 from a boundary.
            if (AllTrue(d, Gt(steep, Set(d, lost / 2)))) {
                const V clear =
                    Min(clearance<Bits>(d, axes[0], re), clearance<Bits>(d, axes[1], im));
                if (AllTrue(d, And(usable, Gt(clear * steep, Set(d, lost))))) {
                    nearest(llr);
                    return;
                }
            }
        }
        const V size_x = Abs(re) * Set(d, axes[0].per_unit);
        const V size_y = Abs(im) * Set(d, axes[0].per_unit);
        const V reach = Max(Max(size_x, size_y), Set(d, 1.0f)) * steep;
        const auto known = And(usable, Lt(reach, Set(d, largest_exponent)));
        const V nearer = NotTiny(d, Power(d, steep * Set(d, -2.0f)));
        gray_sums<Bits>(d, re, size_x, steep, nearer, llr);
        gray_sums<Bits>(d, im, size_y, steep, nearer, llr + Bits);
        LANE_UNROLL
        for (int i = 0; i < 2 * Bits; ++i) {
            llr[i] = llr[i] * Set(d, axes[i / Bits].natural[i % Bits]);
        }
        if (!AllTrue(d, known)) {
            V other[2 * Bits];
            nearest(other);
            LANE_UNROLL
            for (int i = 0; i < 2 * Bits; ++i) {
                llr[i] = IfThenElse(known, llr[i], other[i]);
            }
        }
    }
}
