/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/pi.h"
#include "kernels/mimo/demapper/dvbs2x_table.h"
#include "kernels/mimo/demapper/makers.h"
#include <algorithm>
#include <functional>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using point = std::complex<double>;

//! The bit that is sent in place `index`, 0 first, of a label of `bits` bits.
int bit_of(int label, int index, int bits) { return (label >> (bits - 1 - index)) & 1; }

point bpsk(int label) { return label ? -1.0 : 1.0; }

//! 3GPP TS 38.211, 5.1.3 to 5.1.6: even bits choose I, odd bits Q. The first bit of an
//! axis is its sign; each further bit b folds the amplitude, a <- 2^j - (1 - 2b) a, from
//! the last bit to the first.
point qam_3gpp(int label, int bits)
{
    const auto level = [&](int axis) {
        double amplitude = 1.0;
        double centre = 2.0;
        for (int index = bits - 2 + axis; index >= 2; index -= 2) {
            amplitude = centre - (1 - 2 * bit_of(label, index, bits)) * amplitude;
            centre *= 2.0;
        }
        return (1 - 2 * bit_of(label, axis, bits)) * amplitude;
    };
    return { level(0), level(1) };
}

//! IEEE 802.11-2020, 17.3.5.8 and 21.3.10.9: the first half of the bits chooses I, the
//! second Q, each the Gray code of its level counted from the most negative, which is all
//! zeros.
point qam_wifi(int label, int bits)
{
    const auto level = [](int gray, int axis_bits) {
        int count = 0;
        for (int rest = gray; rest; rest >>= 1) {
            count ^= rest;
        }
        return 2.0 * count - ((1 << axis_bits) - 1);
    };
    if (bits == 1) {
        return level(label, 1);
    }
    const int half = bits / 2;
    return { level(label >> half, half), level(label & ((1 << half) - 1), half) };
}

//! ETSI EN 302 307-1, figure 9: the first bit is the sign of I, the second that of Q.
point qpsk_dvbs2(int label) { return qam_3gpp(label, 2); }

//! ETSI EN 302 307-1, figure 10.
point psk8_dvbs2(int label)
{
    constexpr int eighth_of_turn[8] = { 1, 0, 4, 5, 2, 7, 3, 6 };
    return std::polar(1.0, eighth_of_turn[label] * pi / 4.0);
}

//! ETSI EN 302 307-1, figure 11: twelve points on the outer ring, labels 1100 to 1111 on
//! the inner one; the last two bits are the signs of Q and I.
point apsk16_dvbs2(int label, double ratio)
{
    constexpr double angle_in_quadrant[4] = { pi / 4, pi / 12, 5 * pi / 12, pi / 4 };
    const auto first =
        std::polar(label >> 2 == 3 ? 1.0 : ratio, angle_in_quadrant[label >> 2]);
    return { (label & 2 ? -1 : 1) * first.real(), (label & 1 ? -1 : 1) * first.imag() };
}

//! ETSI EN 302 307-1, figure 12: rings of 4, 12 and 16 points; `middle` and `outer` are
//! the radii of the latter two by that of the first.
point apsk32_dvbs2(int label, double middle, double outer)
{
    const double radius[3] = { 1.0, middle, outer };
    static constexpr struct {
        int ring, angle; // in units of pi / 24
    } places[32] = {
        { 1, 6 },   { 1, 10 },  { 1, -6 },  { 1, -10 }, { 1, 18 },  { 1, 14 }, { 1, -18 },
        { 1, -14 }, { 2, 3 },   { 2, 9 },   { 2, -6 },  { 2, -12 }, { 2, 18 }, { 2, 12 },
        { 2, -21 }, { 2, -15 }, { 1, 2 },   { 0, 6 },   { 1, -2 },  { 0, -6 }, { 1, 22 },
        { 0, 18 },  { 1, -22 }, { 0, -18 }, { 2, 0 },   { 2, 6 },   { 2, -3 }, { 2, -9 },
        { 2, 21 },  { 2, 15 },  { 2, 24 },  { 2, -18 },
    };
    return std::polar(radius[places[label].ring], places[label].angle * pi / 24.0);
}

//! EN 302 307-2, table 9: the first bit is the sign of I; `middle` and `outer` are the
//! radii of the second and the third ring by that of the first.
point apsk8_dvbs2x(int label, double middle, double outer)
{
    constexpr double off_axis = 0.352 * pi;
    const point right[4] = {
        1.0, std::polar(middle, -off_axis), std::polar(middle, off_axis), outer
    };
    const auto first = right[label & 3];
    return { label & 4 ? first.real() : -first.real(), first.imag() };
}

//! Places in the label, 0 first, of the bits that turn over the sign of I and that of Q.
struct sign_bits {
    int i, q;
};

//! A point from that of the same label with both sign bits 0. `at` has these points by
//! what is left of the label.
template <typename At>
point mirrored(int label, int bits, sign_bits signs, const At& at)
{
    int rest = 0;
    for (int index = 0; index < bits; ++index) {
        if (index != signs.i && index != signs.q) {
            rest = 2 * rest + bit_of(label, index, bits);
        }
    }
    const point first = at(rest);
    return { bit_of(label, signs.i, bits) ? -first.real() : first.real(),
             bit_of(label, signs.q, bits) ? -first.imag() : first.imag() };
}

struct definition {
    std::string name;
    int bits;
    std::function<point(int label)> at;
};

//! Appends the constellations that EN 302 307-2 adds; radii by code rate are those of the
//! outer rings by that of the first, of its section 5.4.
void add_dvbs2x(std::vector<definition>& list)
{
    const auto add = [&](const char* name, int bits, const auto& at) {
        list.push_back({ std::string("dvbs2x_") + name, bits, at });
    };
    const auto add_8 = [&](const char* name, double middle, double outer) {
        add(name, 3, [=](int label) { return apsk8_dvbs2x(label, middle, outer); });
    };
    const auto add_4_12 = [&](const char* name, double ratio) {
        add(name, 4, [=](int label) { return apsk16_dvbs2(label, ratio); });
    };
    const auto add_rings = [&](const char* name,
                               int bits,
                               sign_bits signs,
                               const dvbs2x::place* places,
                               int parts,
                               std::vector<double> radii) {
        radii.insert(radii.begin(), 1.0);
        add(name, bits, [=](int label) {
            return mirrored(label, bits, signs, [&](int rest) {
                const auto [ring, angle] = places[rest];
                return std::polar(radii[ring], angle * pi / parts);
            });
        });
    };
    const auto add_points = [&](const char* name,
                                int bits,
                                sign_bits signs,
                                const dvbs2x::coordinates* points) {
        add(name, bits, [=](int label) {
            return mirrored(label, bits, signs, [&](int rest) {
                return point(points[rest].re, points[rest].im);
            });
        });
    };
    using namespace dvbs2x;
    add_8("8apsk_100/180", 5.32, 6.8);
    add_8("8apsk_104/180", 6.39, 8.0);
    for (const char* name : { "16apsk_90/180", "16apsk_96/180", "16apsk_100/180" }) {
        add_rings(name, 4, { 2, 1 }, apsk_8_8, parts_apsk_8_8, { 2.19 });
    }
    add_4_12("16apsk_26/45", 3.70);
    add_4_12("16apsk_3/5", 3.70);
    add_points("16apsk_18/30", 4, { 2, 1 }, apsk_16_18_30);
    add_4_12("16apsk_28/45", 3.50);
    add_4_12("16apsk_23/36", 3.10);
    add_points("16apsk_20/30", 4, { 2, 1 }, apsk_16_20_30);
    add_4_12("16apsk_25/36", 3.10);
    add_4_12("16apsk_13/18", 2.85);
    add_4_12("16apsk_140/180", 3.60);
    add_4_12("16apsk_154/180", 3.20);
    add_4_12("16apsk_7/15", 3.32);
    add_4_12("16apsk_8/15", 3.50);
    add_4_12("16apsk_32/45", 2.85);
    const auto add_4_12_16 = [&](const char* name, double middle, double outer) {
        add_rings(name, 5, { 3, 0 }, apsk_4_12_16, parts_apsk_4_12_16, { middle, outer });
    };
    add_4_12_16("32apsk_2/3", 2.85, 5.55);
    add_4_12_16("short_32apsk_2/3", 2.84, 5.54);
    add_4_12_16("32apsk_32/45", 2.84, 5.26);
    const auto add_4_8_4_16 = [&](const char* name, double second, double third) {
        add_rings(name,
                  5,
                  { 2, 3 },
                  apsk_4_8_4_16,
                  parts_apsk_4_8_4_16,
                  { second, third, 5.6 });
    };
    add_4_8_4_16("32apsk_128/180", 2.6, 2.99);
    add_4_8_4_16("32apsk_132/180", 2.6, 2.86);
    add_4_8_4_16("32apsk_140/180", 2.8, 3.08);
    add_rings("64apsk_128/180",
              6,
              { 3, 2 },
              apsk_16_16_16_16,
              parts_apsk_16_16_16_16,
              { 1.88, 2.72, 3.95 });
    add_rings("64apsk_132/180",
              6,
              { 4, 5 },
              apsk_4_12_20_28,
              parts_apsk_4_12_20_28,
              { 2.4, 4.3, 7.0 });
    const auto add_8_16_20_20 = [&](const char* name, double third, double outer) {
        add_rings(name,
                  6,
                  { 2, 0 },
                  apsk_8_16_20_20,
                  parts_apsk_8_16_20_20,
                  { 2.2, third, outer });
    };
    add_8_16_20_20("64apsk_7/9", 3.6, 5.2);
    add_8_16_20_20("64apsk_4/5", 3.6, 5.2);
    add_8_16_20_20("64apsk_5/6", 3.5, 5.0);
    const auto add_128 = [&](const char* name, double outer) {
        add_rings(name,
                  7,
                  { 1, 0 },
                  apsk_128,
                  parts_apsk_128,
                  { 1.715, 2.118, 2.681, 2.75, outer });
    };
    add_128("128apsk_135/180", 3.819);
    add_128("128apsk_140/180", 3.733);
    const auto add_256 = [&](const char* name, std::vector<double> radii) {
        add_rings(name, 8, { 4, 3 }, apsk_256, parts_apsk_256, std::move(radii));
    };
    add_256("256apsk_116/180", { 1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536 });
    add_points("256apsk_20/30", 8, { 3, 1 }, apsk_256_20_30);
    add_256("256apsk_124/180", { 1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536 });
    add_256("256apsk_128/180", { 1.794, 2.409, 2.986, 3.579, 4.045, 4.6, 5.4 });
    add_points("256apsk_22/30", 8, { 6, 4 }, apsk_256_22_30);
    add_256("256apsk_135/180", { 1.794, 2.409, 2.986, 3.579, 4.045, 4.5, 5.2 });
}

const std::vector<definition>& definitions()
{
    static const std::vector<definition> all = [] {
        std::vector<definition> list{ { "bpsk", 1, bpsk } };
        const auto add = [&](const char* name, int bits, auto mapping) {
            list.push_back(
                { name, bits, [=](int label) { return mapping(label, bits); } });
        };
        add("qpsk", 2, qam_3gpp);
        add("qam16", 4, qam_3gpp);
        add("qam64", 6, qam_3gpp);
        add("qam256", 8, qam_3gpp);
        add("qam1024", 10, qam_3gpp);
        add("wifi_bpsk", 1, qam_wifi);
        add("wifi_qpsk", 2, qam_wifi);
        add("wifi_qam16", 4, qam_wifi);
        add("wifi_qam64", 6, qam_wifi);
        add("wifi_qam256", 8, qam_wifi);
        add("wifi_qam1024", 10, qam_wifi);
        list.push_back({ "dvbs2_qpsk", 2, qpsk_dvbs2 });
        list.push_back({ "dvbs2_8psk", 3, psk8_dvbs2 });
        // EN 302 307-1, table 9: outer over inner radius by code rate.
        const auto add_apsk = [&](const char* name, double ratio) {
            list.push_back(
                { name, 4, [=](int label) { return apsk16_dvbs2(label, ratio); } });
        };
        add_apsk("dvbs2_16apsk_2/3", 3.15);
        add_apsk("dvbs2_16apsk_3/4", 2.85);
        add_apsk("dvbs2_16apsk_4/5", 2.75);
        add_apsk("dvbs2_16apsk_5/6", 2.70);
        add_apsk("dvbs2_16apsk_8/9", 2.60);
        add_apsk("dvbs2_16apsk_9/10", 2.57);
        // Table 10: middle and outer over inner radius.
        const auto add_apsk32 = [&](const char* name, double middle, double outer) {
            list.push_back({ name, 5, [=](int label) {
                                return apsk32_dvbs2(label, middle, outer);
                            } });
        };
        add_apsk32("dvbs2_32apsk_3/4", 2.84, 5.27);
        add_apsk32("dvbs2_32apsk_4/5", 2.72, 4.87);
        add_apsk32("dvbs2_32apsk_5/6", 2.64, 4.64);
        add_apsk32("dvbs2_32apsk_8/9", 2.54, 4.33);
        add_apsk32("dvbs2_32apsk_9/10", 2.53, 4.30);
        add_dvbs2x(list);
        return list;
    }();
    return all;
}

} // namespace

constellation constellation::make(const std::string& name)
{
    for (const auto& wanted : definitions()) {
        if (name != wanted.name) {
            continue;
        }
        std::vector<point> points;
        double energy = 0.0;
        for (int label = 0; label < 1 << wanted.bits; ++label) {
            points.push_back(wanted.at(label));
            energy += std::norm(points.back());
        }
        const double scale = std::sqrt(points.size() / energy);
        constellation result{ name, wanted.bits, {} };
        for (const auto& p : points) {
            result.points.emplace_back(scale * p);
        }
        return result;
    }
    std::string known;
    for (const auto& each : constellation_names()) {
        known += (known.empty() ? "" : ", ") + each;
    }
    throw std::invalid_argument("constellation: \"" + name + "\" is none of " + known);
}

constellation constellation::make(const std::vector<complex64>& points,
                                  const std::vector<int>& labels)
{
    const auto refuse = [](const std::string& problem) {
        throw std::invalid_argument("constellation: " + problem);
    };
    const auto place = [](size_t i) { return "points[" + std::to_string(i) + "]"; };
    const size_t count = points.size();
    int bits = 0;
    while (size_t{ 1 } << bits < count) {
        ++bits;
    }
    if (bits < 1 || bits > 8 || count != size_t{ 1 } << bits) {
        refuse(std::to_string(count) + " points; there are 2, 4, 8, 16, 32, 64, 128 or "
                                       "256, one for each label");
    }
    if (!labels.empty() && labels.size() != count) {
        refuse(std::to_string(labels.size()) + " labels for " + std::to_string(count) +
               " points; there is one for each, or none: the first point's is then 0, "
               "the next one's 1");
    }
    constexpr size_t nothing = -1;
    std::vector<size_t> point_of(count, nothing);
    for (size_t i = 0; i < count; ++i) {
        // Written so that NaN is refused.
        if (!(std::abs(points[i].real()) <= largest_coordinate &&
              std::abs(points[i].imag()) <= largest_coordinate)) {
            refuse(place(i) + " is (" + std::to_string(points[i].real()) + ", " +
                   std::to_string(points[i].imag()) +
                   "); coordinates lie in -1e6 to 1e6");
        }
        const auto same = std::find(points.begin(), points.begin() + i, points[i]);
        if (same != points.begin() + i) {
            refuse(place(same - points.begin()) + " and " + place(i) +
                   " are the same point, which no receiver tells apart");
        }
        const int label = labels.empty() ? static_cast<int>(i) : labels[i];
        if (label < 0 || label >= static_cast<int>(count)) {
            refuse("labels[" + std::to_string(i) + "] is " + std::to_string(label) +
                   "; the labels of " + std::to_string(count) + " points are 0 to " +
                   std::to_string(count - 1));
        }
        if (point_of[label] != nothing) {
            refuse(place(point_of[label]) + " and " + place(i) + " both have the label " +
                   std::to_string(label));
        }
        point_of[label] = i;
    }
    constellation result{ "own", bits, {} };
    for (const size_t i : point_of) {
        result.points.push_back(points[i]);
    }
    return result;
}

std::vector<std::string> constellation_names()
{
    std::vector<std::string> names;
    for (const auto& each : definitions()) {
        names.push_back(each.name);
    }
    return names;
}

} // namespace gr::cudaphy::kernels
