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
    float natural[most_bits]; //!< `above` in nats a bit
    float steep;              //!< 4 log2(e) of unit_energy
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
    axis.steep = float(4 / std::log(2.0) * unit * unit);
    return true;
}

//! A table whose LLRs come in an order of its own.
struct placed_table {
    int place[10]; //!< in the label, 0 first, of each LLR's bit
};

/*!
 * A constellation that is the product of two axes with half of the bits each, as square
 * QAM is: each bit depends on one coordinate alone, since the sum over the other is in
 * both terms of its ratio. LLRs come for the bits of I, then for those of Q.
 */
struct square_table : placed_table {
    axis_table axis[2];
    bool gray;   //!< both axes are, of the same unit
    bool turns;  //!< bits of I and Q stand in turns
    bool halves; //!< first those of I
};

/*!
 * 8PSK whose labels are a Gray code: coordinates x and y, turned so that points stand at
 * (+-c, +-s) and (+-s, +-c), c = r cos(pi / 8), s = r sin(pi / 8). The bit `which` tells
 * whether |x| is larger than |y|; of the others the first one tells the sign of x and the
 * second one that of y, turned so that they are those of the LLRs.
 */
struct octant_table {
    float x_of_re, x_of_im, y_of_re, y_of_im;
    float twice_c, twice_s;
    float x_larger; //!< the sign of the LLR of `which` where |x| > |y|, 1 or -1
    int which;
};

//! \returns nothing if the points are no such 8PSK. `sign` as for make_square_table().
inline std::optional<octant_table> make_octant_table(const constellation& c,
                                                     float sign = 1)
{
    if (c.bits != 3) {
        return std::nullopt;
    }
    constexpr double eighth = 0.785398163397448310;
    const std::complex<double> first = c.points[0];
    const double radius = std::abs(first);
    const double cosine = radius * std::cos(eighth / 2);
    const double sine = radius * std::sin(eighth / 2);
    for (int turn = 0; turn < 8; ++turn) {
        const double angle = std::arg(first) - (turn + 0.5) * eighth;
        // By bit and by what it may tell: how often it is 0 where that is so.
        int agree[3][3] = {};
        bool stands = radius > 0;
        for (int label = 0; label < 8; ++label) {
            const auto s =
                std::complex<double>(c.points[label]) * std::polar(1.0, -angle);
            const double size_x = std::abs(s.real());
            const double size_y = std::abs(s.imag());
            stands = stands &&
                     std::abs(std::max(size_x, size_y) - cosine) < 3e-7 * radius &&
                     std::abs(std::min(size_x, size_y) - sine) < 3e-7 * radius;
            const bool tells[3] = { s.real() > 0, s.imag() > 0, size_x > size_y };
            for (int bit = 0; bit < 3; ++bit) {
                for (int what = 0; what < 3; ++what) {
                    agree[bit][what] += tells[what] == !(label >> (2 - bit) & 1);
                }
            }
        }
        int bit_of[3] = { -1, -1, -1 };
        float sign_of[3] = {};
        for (int what = 0; what < 3; ++what) {
            for (int bit = 0; bit < 3; ++bit) {
                if (agree[bit][what] % 8 == 0) {
                    bit_of[what] = bit;
                    sign_of[what] = agree[bit][what] ? sign : -sign;
                }
            }
        }
        if (stands && bit_of[0] >= 0 && bit_of[0] < bit_of[1] && bit_of[2] >= 0) {
            return octant_table{ float(sign_of[0] * std::cos(angle)),
                                 float(sign_of[0] * std::sin(angle)),
                                 float(-sign_of[1] * std::sin(angle)),
                                 float(sign_of[1] * std::cos(angle)),
                                 float(2 * cosine),
                                 float(2 * sine),
                                 sign_of[2],
                                 bit_of[2] };
        }
    }
    return std::nullopt;
}

//! A square_table whose axes both are Gray: a type of its own chooses its own kernels.
struct gray_table : square_table {
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

//! \returns nothing if the constellation is no such product
//! \param sign  1 or -1: the sign of the LLR of a bit that is 0
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
    table.gray = find_gray(table.axis[0], half) && find_gray(table.axis[1], half) &&
                 table.axis[0].per_unit == table.axis[1].per_unit;
    table.turns = table.halves = true;
    for (int i = 0; i < c.bits; ++i) {
        table.turns = table.turns && table.place[i] == i % half * 2 + i / half;
        table.halves = table.halves && table.place[i] == i;
    }
    for (auto& axis : table.axis) {
        for (int bit = 0; bit < axis_table::most_bits; ++bit) {
            axis.above[bit] *= sign;
            axis.natural[bit] = axis.above[bit] * 0.693147181f;
        }
    }
    return table;
}

} // namespace gr::cudaphy::kernels
