/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/demapper/tables.h"
#include <array>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * A constellation of which one bit of a label turns over the sign of I, and another one
 * that of Q: a quarter of the points tells all. `twice_re`, `twice_im` and `energy` are
 * those of plane_table, turned to positive coordinates. LLRs come for the other bits, for
 * the sign of I and for the sign of Q.
 */
struct mirror_table : placed_table {
    static constexpr int most_points = 64;
    float twice_re[most_points];
    float twice_im[most_points];
    float energy[most_points];
    //! 1 or -1: the sign of the coordinate where its bit is 0.
    float zero_re, zero_im;
};

/*!
 * Such a constellation that is the product of as many rings as angles in a quadrant: some
 * bits of a label choose the ring, as many the angle. LLRs come for the bits of the
 * angle, for those of the ring, for the sign of I and for the sign of Q.
 */
struct ring_table : placed_table {
    static constexpr int most = 8;
    float cosine[most], sine[most];  //!< of each angle, turned to the first quadrant
    float twice[most], energy[most]; //!< 2 r and r^2 of each ring
    float zero_re, zero_im;
};

//! What a mirror_table and a ring_table are made from.
struct mirrored_quarter {
    int sign_i, sign_q; //!< places of the sign bits in the label, 0 first
    float zero_re, zero_im;
    std::vector<int> rest;                   //!< places of the other bits
    std::vector<std::complex<float>> points; //!< by the other bits, coordinates positive
};

//! \returns nothing if there are no such bits, or fewer than four others. Mirrored points
//! are equal to the last bit, so that LLRs are those of all points.
inline std::optional<mirrored_quarter> find_mirrored_quarter(const constellation& c)
{
    if (c.bits < 4 || c.bits > 8) {
        return std::nullopt;
    }
    const size_t labels = c.points.size();
    const auto mask_of = [&](int place) { return size_t{ 1 } << (c.bits - 1 - place); };
    mirrored_quarter found{ -1, -1, 0, 0, {}, {} };
    for (int place = 0; place < c.bits; ++place) {
        bool re = true, im = true;
        for (size_t label = 0; label < labels; ++label) {
            const auto s = c.points[label], other = c.points[label ^ mask_of(place)];
            re = re && other == std::complex<float>(-s.real(), s.imag());
            im = im && other == std::conj(s);
        }
        if (re != im && (re ? found.sign_i : found.sign_q) < 0) {
            (re ? found.sign_i : found.sign_q) = place;
        } else {
            found.rest.push_back(place);
        }
    }
    if (found.sign_i < 0 || found.sign_q < 0) {
        return std::nullopt;
    }
    const int rest_bits = c.bits - 2;
    for (size_t rest = 0; rest < labels / 4; ++rest) {
        size_t label = 0;
        for (int bit = 0; bit < rest_bits; ++bit) {
            if (rest >> (rest_bits - 1 - bit) & 1) {
                label |= mask_of(found.rest[bit]);
            }
        }
        const auto s = c.points[label];
        found.points.push_back({ std::abs(s.real()), std::abs(s.imag()) });
        const auto join = [](float coordinate, float& sign) {
            const float own = coordinate < 0 ? -1 : 1;
            const bool fits = coordinate == 0 || sign == 0 || sign == own;
            sign = coordinate == 0 ? sign : own;
            return fits;
        };
        if (!join(s.real(), found.zero_re) || !join(s.imag(), found.zero_im)) {
            return std::nullopt;
        }
    }
    return found;
}

inline void place_signs(const mirrored_quarter& from, int bits, placed_table& table)
{
    table.place[bits - 2] = from.sign_i;
    table.place[bits - 1] = from.sign_q;
}

inline std::optional<mirror_table> make_mirror_table(const constellation& c)
{
    const auto quarter = find_mirrored_quarter(c);
    if (!quarter) {
        return std::nullopt;
    }
    mirror_table table{};
    std::copy(quarter->rest.begin(), quarter->rest.end(), table.place);
    place_signs(*quarter, c.bits, table);
    table.zero_re = quarter->zero_re;
    table.zero_im = quarter->zero_im;
    for (size_t i = 0; i < quarter->points.size(); ++i) {
        const auto s = quarter->points[i];
        table.twice_re[i] = 2.0f * s.real();
        table.twice_im[i] = 2.0f * s.imag();
        table.energy[i] = std::norm(std::complex<double>(s));
    }
    return table;
}

//! \returns nothing if the points are no such product
inline std::optional<ring_table> make_ring_table(const constellation& c)
{
    const auto quarter = find_mirrored_quarter(c);
    if (!quarter || (c.bits != 6 && c.bits != 8)) {
        return std::nullopt;
    }
    const int rest_bits = c.bits - 2, half = rest_bits / 2;
    const auto point = [&](size_t rest) {
        return std::complex<double>(quarter->points[rest]);
    };
    constexpr double rounding = 3e-7;
    std::vector<int> bits_of[2]; // of the angle, of the ring: in what is left of a label
    for (int bit = 0; bit < rest_bits; ++bit) {
        const size_t mask = size_t{ 1 } << (rest_bits - 1 - bit);
        bool keeps_radius = true, keeps_angle = true;
        for (size_t rest = 0; rest < quarter->points.size(); ++rest) {
            const auto s = point(rest), other = point(rest ^ mask);
            keeps_radius = keeps_radius && std::abs(std::abs(s) - std::abs(other)) <=
                                               rounding * std::abs(s);
            keeps_angle = keeps_angle && std::abs(std::imag(s * std::conj(other))) <=
                                             rounding * std::abs(s) * std::abs(other);
        }
        if (keeps_radius == keeps_angle) {
            return std::nullopt;
        }
        bits_of[keeps_angle].push_back(bit);
    }
    if (static_cast<int>(bits_of[0].size()) != half) {
        return std::nullopt;
    }
    ring_table table{};
    for (int bit = 0; bit < half; ++bit) {
        table.place[bit] = quarter->rest[bits_of[0][bit]];
        table.place[half + bit] = quarter->rest[bits_of[1][bit]];
    }
    place_signs(*quarter, c.bits, table);
    table.zero_re = quarter->zero_re;
    table.zero_im = quarter->zero_im;
    for (int index = 0; index < 1 << half; ++index) {
        size_t rest[2] = { 0, 0 };
        for (int bit = 0; bit < half; ++bit) {
            const size_t value = index >> (half - 1 - bit) & 1;
            for (int what = 0; what < 2; ++what) {
                rest[what] |= value << (rest_bits - 1 - bits_of[what][bit]);
            }
        }
        const auto angle = point(rest[0]);
        const double radius = std::abs(point(rest[1]));
        if (std::abs(angle) == 0) {
            return std::nullopt;
        }
        table.cosine[index] = angle.real() / std::abs(angle);
        table.sine[index] = angle.imag() / std::abs(angle);
        table.twice[index] = 2 * radius;
        table.energy[index] = radius * radius;
    }
    return table;
}

} // namespace gr::cudaphy::kernels
