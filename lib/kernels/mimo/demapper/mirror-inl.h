/* SPDX-License-Identifier: GPL-3.0-or-later */

// Max-log LLRs of constellations whose label has a bit for the sign of each coordinate
// (mirror_tables.h). Included by lanes-inl.h.
//
// Of a point's four mirror images the one in the symbol's own quadrant is the nearest. So
// all other bits are told by a quarter of the points and the sizes of the coordinates. A
// sign bit's other value is told by the nearest point beyond the axis.

//! A size as an LLR of a sign bit: positive where the coordinate has the sign of a 0.
template <typename D, typename V>
LANE_FUNCTION V signed_by(D d, V size, V coordinate, float of_zero, V scale, V largest)
{
    return within(d, CopySign(size, coordinate) * Set(d, of_zero) * scale, largest);
}

//! The same bits as nearest_llrs() of all points.
template <int Bits, typename D, typename V>
LANE_FUNCTION void
mirror_llrs(D d, const mirror_table& table, V re, V im, V scale, V largest, V* llr)
{
    constexpr int rest = Bits - 2;
    const V x = Abs(re);
    const V y = Abs(im);
    V beyond_re = Set(d, largest_term::none);
    V beyond_im = beyond_re;
    const auto metric = [&](int point) LANE_LAMBDA {
        const V across = x * Set(d, table.twice_re[point]);
        const V along = y * Set(d, table.twice_im[point]);
        const V energy = Set(d, table.energy[point]);
        beyond_re = Max(beyond_re, (along - across) - energy);
        beyond_im = Max(beyond_im, (across - along) - energy);
        return (across + along) - energy;
    };
    V zero[rest];
    V one[rest];
    totals_by_bit<rest>(d, metric, largest_term{}, zero, one);
    LANE_UNROLL
    for (int bit = 0; bit < rest; ++bit) {
        llr[bit] = within(d, (zero[bit] - one[bit]) * scale, largest);
    }
    const V best = Max(zero[0], one[0]);
    llr[rest] = signed_by(d, best - beyond_re, re, table.zero_re, scale, largest);
    llr[rest + 1] = signed_by(d, best - beyond_im, im, table.zero_im, scale, largest);
}

//! The metric of the nearest ring to a projection of the symbol on an angle.
template <int Rings, typename D, typename V>
LANE_FUNCTION V nearest_ring(D d, const ring_table& table, V projection)
{
    V best = projection * Set(d, table.twice[0]) - Set(d, table.energy[0]);
    LANE_UNROLL
    for (int ring = 1; ring < Rings; ++ring) {
        best = Max(best,
                   projection * Set(d, table.twice[ring]) - Set(d, table.energy[ring]));
    }
    return best;
}

/*!
 * A point of radius r at angle phi has the metric 2 r p - r^2, p the projection of the
 * symbol on phi, and that grows with p for every ring. So the largest projection of the
 * angles in question, with the best ring for it, is the nearest point: rings plus angles
 * are searched, not rings times angles.
 */
template <int Bits, typename D, typename V>
LANE_FUNCTION void
ring_llrs(D d, const ring_table& table, V re, V im, V scale, V largest, V* llr)
{
    constexpr int half = Bits / 2 - 1;
    constexpr int many = 1 << half;
    const V x = Abs(re);
    const V y = Abs(im);
    V terms[many];
    V most = Set(d, largest_term::none);
    V least = Set(d, 0.0f) - most;
    LANE_UNROLL
    for (int angle = 0; angle < many; ++angle) {
        const V across = x * Set(d, table.cosine[angle]);
        const V along = y * Set(d, table.sine[angle]);
        terms[angle] = across + along;
        most = Max(most, along - across);
        least = Min(least, along - across);
    }
    V zero[half];
    V one[half];
    totals_by_bit<half>(terms, largest_term{}, zero, one);
    const V projection = Max(zero[0], one[0]);
    V ring_zero[half];
    V ring_one[half];
    LANE_UNROLL
    for (int ring = 0; ring < many; ++ring) {
        terms[ring] = projection * Set(d, table.twice[ring]) - Set(d, table.energy[ring]);
    }
    totals_by_bit<half>(terms, largest_term{}, ring_zero, ring_one);
    const V best = Max(ring_zero[0], ring_one[0]);
    LANE_UNROLL
    for (int bit = 0; bit < half; ++bit) {
        const V other = nearest_ring<many>(d, table, Min(zero[bit], one[bit]));
        llr[bit] =
            within(d, CopySign(best - other, zero[bit] - one[bit]) * scale, largest);
        llr[half + bit] = within(d, (ring_zero[bit] - ring_one[bit]) * scale, largest);
    }
    const V beyond_re = nearest_ring<many>(d, table, most);
    const V beyond_im = nearest_ring<many>(d, table, Set(d, 0.0f) - least);
    llr[Bits - 2] = signed_by(d, best - beyond_re, re, table.zero_re, scale, largest);
    llr[Bits - 1] = signed_by(d, best - beyond_im, im, table.zero_im, scale, largest);
}
