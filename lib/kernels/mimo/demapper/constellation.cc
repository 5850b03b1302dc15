/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <cmath>
#include <functional>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using point = std::complex<double>;
constexpr double pi = 3.14159265358979323846;

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

struct definition {
    const char* name;
    int bits;
    std::function<point(int label)> at;
};

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

std::vector<std::string> constellation_names()
{
    std::vector<std::string> names;
    for (const auto& each : definitions()) {
        names.push_back(each.name);
    }
    return names;
}

} // namespace gr::cudaphy::kernels
