/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <optional>

namespace gr::cudaphy::kernels {

/*!
 * -|x - s|^2 with what all points have in common, -|x|^2, left out: 2 Re(x s*) - |s|^2.
 * It takes half the operations of the difference, and keeps what tells points apart where
 * |x| is large. The doubling and the square are done once, here, the latter in double
 * precision, so that it is the same bits whatever compiles this.
 */
template <int Points>
struct plane_table {
    float twice_re[Points];
    float twice_im[Points];
    float energy[Points];
};

//! The same for one axis: 2 x s - s^2 for the up to 32 levels of 1024-QAM.
struct axis_table {
    static constexpr int most_levels = 32;
    static constexpr int most_bits = 5;
    float twice[most_levels];
    float energy[most_levels];
    //! Of a Gray axis (find_gray): levels are odd multiples of a unit, this is one over
    //! it and its square; and the LLR's sign above a bit's boundaries, 1 or -1.
    float per_unit, unit_energy;
    float above[most_bits];
};

/*!
 * Whether the axis is that of a standard's QAM: levels at odd multiples of a unit, the
 * first bit tells the sign, and each further bit folds what is left at its middle: with
 * y_0 the coordinate in units, bit b is told by the sign of
 * y_b = |y_(b-1)| - 2^(bits - b). Then fills in the table's last entries.
 */
inline bool find_gray(axis_table& axis, int bits)
{
    const int levels = 1 << bits;
    double largest = 0.0;
    for (int level = 0; level < levels; ++level) {
        largest = std::max<double>(largest, std::fabs(axis.twice[level]) / 2);
    }
    const double unit = largest / (levels - 1);
    if (!(unit >= 1e-6 && unit <= 1e6)) {
        return false;
    }
    for (int level = 0; level < levels; ++level) {
        const double s = axis.twice[level] / (2 * unit);
        if (std::fabs(s - std::round(s)) > 3e-7 * std::fabs(s)) {
            return false;
        }
        double y = s;
        for (int bit = 0; bit < bits; ++bit) {
            if (bit > 0) {
                y = std::fabs(y) - (levels >> bit);
            }
            const int value = (level >> (bits - 1 - bit)) & 1;
            const float above = (y > 0) == (value == 0) ? 1.0f : -1.0f;
            if (level == 0) {
                axis.above[bit] = above;
            }
            if (axis.above[bit] != above) {
                return false;
            }
        }
        if (std::fabs(std::fabs(y) - 1) > 1e-3) {
            return false;
        }
    }
    axis.per_unit = float(1 / unit);
    axis.unit_energy = float(unit * unit);
    return true;
}

/*!
 * A constellation that is the product of two axes with half of the bits each, as square
 * QAM is: each bit depends on one coordinate alone, since the sum over the other is in
 * both terms of its ratio.
 */
struct square_table {
    axis_table axis[2];
    int place[10]; //!< in the label, of each bit of I, then of each bit of Q, 0 first
    bool gray;     //!< both axes are
    bool turns;    //!< bits of I and Q stand in turns
    bool halves;   //!< first those of I
};

template <int Points = 256>
plane_table<Points> make_plane_table(const constellation& c)
{
    plane_table<Points> table{};
    for (size_t label = 0; label < c.points.size(); ++label) {
        const auto s = c.points[label];
        table.twice_re[label] = 2.0f * s.real();
        table.twice_im[label] = 2.0f * s.imag();
        table.energy[label] = std::norm(std::complex<double>(s));
    }
    return table;
}

//! Nothing where the constellation is no such product. `sign`, 1 or -1, is what the LLR
//! of a bit that is 0 has.
inline std::optional<square_table> make_square_table(const constellation& c,
                                                     float sign = 1)
{
    if (c.bits % 2) {
        return std::nullopt;
    }
    const int half = c.bits / 2;
    const size_t labels = c.points.size();
    square_table table{};
    int found[2] = { 0, 0 };
    for (int place = 0; place < c.bits; ++place) {
        const size_t mask = size_t{ 1 } << (c.bits - 1 - place);
        bool changes[2] = { false, false };
        for (size_t label = 0; label < labels; ++label) {
            const auto s = c.points[label];
            const auto other = c.points[label ^ mask];
            changes[0] |= s.real() != other.real();
            changes[1] |= s.imag() != other.imag();
        }
        if (changes[0] && changes[1]) {
            return std::nullopt;
        }
        const int axis = changes[1];
        if (found[axis] == half) {
            return std::nullopt;
        }
        table.place[axis * half + found[axis]++] = place;
    }
    for (int axis = 0; axis < 2; ++axis) {
        for (int level = 0; level < 1 << half; ++level) {
            size_t label = 0;
            for (int bit = 0; bit < half; ++bit) {
                const size_t value = (level >> (half - 1 - bit)) & 1;
                label |= value << (c.bits - 1 - table.place[axis * half + bit]);
            }
            const float s = axis ? c.points[label].imag() : c.points[label].real();
            table.axis[axis].twice[level] = 2.0f * s;
            table.axis[axis].energy[level] = s * s;
        }
    }
    table.gray = find_gray(table.axis[0], half) && find_gray(table.axis[1], half);
    table.turns = table.halves = true;
    for (int i = 0; i < c.bits; ++i) {
        table.turns = table.turns && table.place[i] == i % half * 2 + i / half;
        table.halves = table.halves && table.place[i] == i;
    }
    for (auto& axis : table.axis) {
        for (float& above : axis.above) {
            above *= sign;
        }
    }
    return table;
}

} // namespace gr::cudaphy::kernels
