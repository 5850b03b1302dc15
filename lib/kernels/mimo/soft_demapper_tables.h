/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

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
    float twice[most_levels];
    float energy[most_levels];
    //! Where the first bit is the level's sign, and turning it turns nothing else: the
    //! smallest magnitude; and 1 where a first bit of 0 is positive, else -1.
    float least_twice, least_energy, first_sign;
};

//! Finds what stands last in the table; false where it is not so.
inline bool find_fold(axis_table& axis, int levels)
{
    const int half = levels / 2;
    const float first = axis.twice[0];
    axis.least_twice = std::fabs(first);
    axis.least_energy = axis.energy[0];
    axis.first_sign = first > 0 ? 1.0f : -1.0f;
    for (int level = 0; level < half; ++level) {
        const float twice = axis.twice[level];
        if (twice * axis.first_sign <= 0 || axis.twice[level + half] != -twice ||
            axis.energy[level + half] != axis.energy[level]) {
            return false;
        }
        if (std::fabs(twice) < axis.least_twice) {
            axis.least_twice = std::fabs(twice);
            axis.least_energy = axis.energy[level];
        }
    }
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
    bool folds;    //!< both axes do
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

//! Nothing where the constellation is no such product.
inline std::optional<square_table> make_square_table(const constellation& c)
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
    const int levels = 1 << half;
    table.folds = find_fold(table.axis[0], levels) && find_fold(table.axis[1], levels);
    return table;
}

} // namespace gr::cudaphy::kernels
