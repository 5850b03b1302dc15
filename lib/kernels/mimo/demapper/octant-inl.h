/* SPDX-License-Identifier: GPL-3.0-or-later */

// LLRs of 8PSK with a Gray code (make_octant_table()). Included by lanes-inl.h.

/*!
 * Turned so that points stand at (+-c, +-s) and (+-s, +-c), c = r cos(pi / 8) and
 * s = r sin(pi / 8), one bit tells the sign of each coordinate, and the third one which
 * coordinate is larger. With a and b the larger and the smaller size, the point in
 * question is (c, s), and the nearest ones with another bit are (-s, c), (c, -s), (s, c).
 *
 * Exact: points that differ in the sign of one coordinate have likelihoods in the ratio
 * E(v) = 2^(-2 v), v = 2 a c / N and so on to base 2, so that each sum is the likelihood
 * of one point times two factors 1 + E, or two of those of which the second one is
 * 2^(-2 (a - b)(c - s) / N) or 2^(-2 (a + b)(c - s) / N) times the first. Nothing is ever
 * too small.
 */
template <bool MaxLog, typename D, typename V, typename M>
LANE_FUNCTION void octant_llrs(
    D d, const octant_table& table, V re, V im, V noise, M usable, V largest, V* llr)
{
    const V inverse = inverse_of(d, noise, usable);
    re = held_symbol(d, re, usable);
    im = held_symbol(d, im, usable);
    const V x = re * Set(d, table.x_of_re) + im * Set(d, table.x_of_im);
    const V y = re * Set(d, table.y_of_re) + im * Set(d, table.y_of_im);
    const V size_x = Abs(x);
    const V size_y = Abs(y);
    const V a = Max(size_x, size_y);
    const V b = Min(size_x, size_y);
    const auto x_is_larger = Gt(size_x, size_y);
    const V c = Set(d, table.twice_c);
    const V s = Set(d, table.twice_s);
    const V between = Set(d, table.twice_c - table.twice_s);
    V larger = (a * Set(d, table.twice_c + table.twice_s) - b * between) * inverse;
    V smaller = b * (s + s) * inverse;
    V which = (a - b) * between * inverse;
    if constexpr (!MaxLog) {
        const V steep = inverse * Set(d, 2 * log2_e);
        const V of_a = a * steep;
        const V of_b = b * steep;
        const auto one_and = [&](V exponent) LANE_LAMBDA {
            return Power(d, Set(d, 0.0f) - exponent) + Set(d, 1.0f);
        };
        const V ac = one_and(of_a * c);
        const V as = one_and(of_a * s);
        const V bc = one_and(of_b * c);
        const V bs = one_and(of_b * s);
        const V half = Set(d, -0.5f) * between;
        const V near = Power(d, (of_a - of_b) * half);
        const V far = Power(d, (of_a + of_b) * half);
        const V nats = Set(d, ln_2);
        const auto log_ratio = [&](V above, V below) LANE_LAMBDA {
            return (Logarithm(d, above) - Logarithm(d, below)) * nats;
        };
        const V more_larger = log_ratio(MulAdd(near, bc, bs), MulAdd(far, bs, bc));
        const V more_smaller = log_ratio(MulAdd(near, as, ac), MulAdd(far, as, ac));
        const V more_which = log_ratio(ac * bs, as * bc);
        const auto known = Lt(of_a, Set(d, largest_exponent));
        larger = larger + IfThenElseZero(known, more_larger);
        smaller = smaller + IfThenElseZero(known, more_smaller);
        which = which + IfThenElseZero(known, more_which);
    }
    larger = Min(larger, largest);
    smaller = Min(smaller, largest);
    which = CopySign(Min(which, largest), size_x - size_y) * Set(d, table.x_larger);
    const V of_x = CopySign(IfThenElse(x_is_larger, larger, smaller), x);
    const V of_y = CopySign(IfThenElse(x_is_larger, smaller, larger), y);
    llr[0] = table.which == 0 ? which : of_x;
    llr[1] = table.which == 0 ? of_x : table.which == 1 ? which : of_y;
    llr[2] = table.which == 2 ? which : of_y;
}
