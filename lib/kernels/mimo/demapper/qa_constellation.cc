/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE constellation
#include "kernels/common/pi.h"
#include "kernels/common/testing.h"
#include <algorithm>
#include <bitset>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <tuple>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

bool is_qam(const std::string& name)
{
    return name.find("psk") == std::string::npos ||
           name.find("qpsk") != std::string::npos;
}

void check_near(complex64 got, std::complex<double> wanted)
{
    BOOST_TEST_CONTEXT("got " << got << ", wanted " << wanted)
    BOOST_TEST(std::abs(std::complex<double>(got) - wanted) < 2e-7);
}

//! The I levels, in steps of half the spacing, for the labels 0, 1, 2 ... of one axis.
void check_axes(const char* name,
                double scale,
                const std::vector<int>& levels,
                const std::vector<int>& i_bits,
                const std::vector<int>& q_bits)
{
    const auto c = constellation::make(name);
    BOOST_REQUIRE_EQUAL(c.points.size(), levels.size() * levels.size());
    const auto pick = [&](int label, const std::vector<int>& places) {
        int value = 0;
        for (const int place : places) {
            value = 2 * value + ((label >> (c.bits - 1 - place)) & 1);
        }
        return value;
    };
    for (int label = 0; label < 1 << c.bits; ++label) {
        BOOST_TEST_CONTEXT(name << " label " << label)
        check_near(c.points[label],
                   std::complex<double>(levels[pick(label, i_bits)],
                                        levels[pick(label, q_bits)]) /
                       std::sqrt(scale));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_name_makes_distinct_points_of_unit_mean_energy)
{
    BOOST_TEST(constellation_names().size() == 62u);
    for (const auto& name : constellation_names()) {
        BOOST_TEST_CONTEXT(name)
        {
            const auto c = constellation::make(name);
            BOOST_TEST(c.name == name);
            BOOST_REQUIRE_EQUAL(c.points.size(), size_t{ 1 } << c.bits);
            double energy = 0.0;
            std::complex<double> mean = 0.0;
            for (const auto p : c.points) {
                energy += std::norm(std::complex<double>(p));
                mean += std::complex<double>(p);
            }
            BOOST_TEST(std::abs(energy / c.points.size() - 1.0) < 1e-6);
            BOOST_TEST(std::abs(mean) < 1e-5);
            // Two of S2X have pairs of points that hardly differ.
            const bool has_pairs =
                name == "dvbs2x_256apsk_20/30" || name == "dvbs2x_256apsk_22/30";
            const bool is_dense = name.rfind("dvbs2x_256apsk", 0) == 0;
            float nearest = 1.0f;
            for (size_t a = 0; a < c.points.size(); ++a) {
                for (size_t b = 0; b < a; ++b) {
                    nearest = std::min(nearest, std::abs(c.points[a] - c.points[b]));
                }
            }
            BOOST_TEST(nearest > (has_pairs ? 1.4e-4f : is_dense ? 0.05f : 0.07f));
        }
    }
}

BOOST_AUTO_TEST_CASE(labels_of_nearest_qam_neighbours_differ_in_one_bit)
{
    for (const auto& name : constellation_names()) {
        if (!is_qam(name)) {
            continue;
        }
        const auto c = constellation::make(name);
        float nearest = 1e9f;
        for (size_t a = 1; a < c.points.size(); ++a) {
            nearest = std::min(nearest, std::abs(c.points[a] - c.points[0]));
        }
        int pairs = 0;
        for (size_t a = 0; a < c.points.size(); ++a) {
            for (size_t b = 0; b < a; ++b) {
                if (std::abs(c.points[a] - c.points[b]) < 1.01f * nearest) {
                    ++pairs;
                    BOOST_TEST(std::bitset<10>(a ^ b).count() == 1u,
                               name << " labels " << a << " and " << b);
                }
            }
        }
        const int side = 1 << (c.bits / 2);
        BOOST_TEST(pairs == 2 * side * (side - 1), name);
    }
}

BOOST_AUTO_TEST_CASE(bpsk_maps_0_to_plus_1_and_wifi_bpsk_to_minus_1)
{
    const auto c = constellation::make("bpsk");
    check_near(c.points[0], 1.0);
    check_near(c.points[1], -1.0);
    const auto wifi = constellation::make("wifi_bpsk");
    check_near(wifi.points[0], -1.0);
    check_near(wifi.points[1], 1.0);
}

// TS 38.211, 5.1.3 to 5.1.6, the axis' formula written out for each of its labels.
BOOST_AUTO_TEST_CASE(qam_has_the_levels_of_ts_38_211)
{
    check_axes("qpsk", 2, { 1, -1 }, { 0 }, { 1 });
    check_axes("qam16", 10, { 1, 3, -1, -3 }, { 0, 2 }, { 1, 3 });
    check_axes("qam64", 42, { 3, 1, 5, 7, -3, -1, -5, -7 }, { 0, 2, 4 }, { 1, 3, 5 });
    check_axes("qam256",
               170,
               { 5, 7, 3, 1, 11, 9, 13, 15, -5, -7, -3, -1, -11, -9, -13, -15 },
               { 0, 2, 4, 6 },
               { 1, 3, 5, 7 });
}

// IEEE 802.11-2020, tables 17-8 to 17-11 and 21.3.10.9.
BOOST_AUTO_TEST_CASE(wifi_qam_has_the_levels_of_ieee_802_11)
{
    check_axes("wifi_qpsk", 2, { -1, 1 }, { 0 }, { 1 });
    check_axes("wifi_qam16", 10, { -3, -1, 3, 1 }, { 0, 1 }, { 2, 3 });
    check_axes(
        "wifi_qam64", 42, { -7, -5, -1, -3, 7, 5, 1, 3 }, { 0, 1, 2 }, { 3, 4, 5 });
    check_axes("wifi_qam256",
               170,
               { -15, -13, -9, -11, -1, -3, -7, -5, 15, 13, 9, 11, 1, 3, 7, 5 },
               { 0, 1, 2, 3 },
               { 4, 5, 6, 7 });
}

// EN 302 307-1, figures 9 to 11: angles in degrees for the labels 0, 1, 2 ...
BOOST_AUTO_TEST_CASE(dvbs2_points_stand_where_en_302_307_draws_them)
{
    const auto check = [](const std::string& name, const std::vector<int>& degrees) {
        const auto c = constellation::make(name);
        BOOST_REQUIRE_EQUAL(c.points.size(), degrees.size());
        for (size_t label = 0; label < degrees.size(); ++label) {
            BOOST_TEST_CONTEXT(name << " label " << label)
            check_near(c.points[label] / std::abs(c.points[label]),
                       std::polar(1.0, degrees[label] * pi / 180.0));
        }
    };
    check("dvbs2_qpsk", { 45, -45, 135, -135 });
    check("dvbs2_8psk", { 45, 0, 180, -135, 90, -45, 135, -90 });
    const std::vector<std::pair<std::string, double>> ratios{
        { "2/3", 3.15 }, { "3/4", 2.85 }, { "4/5", 2.75 },
        { "5/6", 2.70 }, { "8/9", 2.60 }, { "9/10", 2.57 }
    };
    for (const auto& [rate, ratio] : ratios) {
        const auto name = "dvbs2_16apsk_" + rate;
        check(name,
              { 45,
                -45,
                135,
                -135,
                15,
                -15,
                165,
                -165,
                75,
                -75,
                105,
                -105,
                45,
                -45,
                135,
                -135 });
        const auto c = constellation::make(name);
        for (int label = 0; label < 16; ++label) {
            const double inner = 2.0 / std::sqrt(1.0 + 3.0 * ratio * ratio);
            const double wanted = label < 12 ? ratio * inner : inner;
            BOOST_TEST(std::abs(std::abs(c.points[label]) - wanted) < 3e-7);
        }
    }
}

BOOST_AUTO_TEST_CASE(dvbs2_32apsk_is_that_of_figure_12_and_table_10)
{
    const std::tuple<std::string, double, double> ratios[] = {
        { "3/4", 2.84, 5.27 }, { "4/5", 2.72, 4.87 },  { "5/6", 2.64, 4.64 },
        { "8/9", 2.54, 4.33 }, { "9/10", 2.53, 4.30 },
    };
    for (const auto& [rate, middle, outer] : ratios) {
        const auto c = constellation::make("dvbs2_32apsk_" + rate);
        const double inner = std::abs(c.points[17]); // 10001
        int rings[3] = { 0, 0, 0 };
        for (int label = 0; label < 32; ++label) {
            const double radius = std::abs(c.points[label]) / inner;
            const int ring = radius < 1.5 ? 0 : radius < 3.5 ? 1 : 2;
            ++rings[ring];
            BOOST_TEST(std::abs(radius - (ring == 0   ? 1
                                          : ring == 1 ? middle
                                                      : outer)) < 1e-5);
            // The figure's labels with the second bit 1 are the outer ring.
            BOOST_TEST((ring == 2) == ((label & 8) != 0));
        }
        BOOST_TEST(rings[0] == 4);
        BOOST_TEST(rings[1] == 12);
        BOOST_TEST(rings[2] == 16);
        const auto angle_is = [&](int label, double turn) {
            BOOST_TEST(std::abs(c.points[label] / std::abs(c.points[label]) -
                                std::complex<float>(std::polar(1.0, turn * pi))) < 1e-5f);
        };
        angle_is(0b00000, 1.0 / 4);
        angle_is(0b00111, -7.0 / 12);
        angle_is(0b01011, -1.0 / 2);
        angle_is(0b01101, 1.0 / 2);
        angle_is(0b10110, -11.0 / 12);
        angle_is(0b11000, 0.0);
        angle_is(0b11110, 1.0);
        angle_is(0b11101, 5.0 / 8);
    }
}

// EN 302 307-2, section 5.4: points on each ring from the inside, and its radius by that
// of the first one.
BOOST_AUTO_TEST_CASE(rings_of_dvbs2x_have_the_points_and_radii_of_en_302_307_2)
{
    struct rings {
        std::vector<std::string> names;
        std::vector<int> points;
        std::vector<double> radii;
    };
    const std::vector<rings> all{
        { { "8apsk_100/180" }, { 2, 4, 2 }, { 5.32, 6.8 } },
        { { "8apsk_104/180" }, { 2, 4, 2 }, { 6.39, 8.0 } },
        { { "16apsk_90/180", "16apsk_96/180", "16apsk_100/180" }, { 8, 8 }, { 2.19 } },
        { { "16apsk_26/45", "16apsk_3/5" }, { 4, 12 }, { 3.7 } },
        { { "16apsk_28/45", "16apsk_8/15" }, { 4, 12 }, { 3.5 } },
        { { "16apsk_23/36", "16apsk_25/36" }, { 4, 12 }, { 3.1 } },
        { { "16apsk_13/18", "16apsk_32/45" }, { 4, 12 }, { 2.85 } },
        { { "16apsk_140/180" }, { 4, 12 }, { 3.6 } },
        { { "16apsk_154/180" }, { 4, 12 }, { 3.2 } },
        { { "16apsk_7/15" }, { 4, 12 }, { 3.32 } },
        { { "32apsk_2/3" }, { 4, 12, 16 }, { 2.85, 5.55 } },
        { { "short_32apsk_2/3" }, { 4, 12, 16 }, { 2.84, 5.54 } },
        { { "32apsk_32/45" }, { 4, 12, 16 }, { 2.84, 5.26 } },
        { { "32apsk_128/180" }, { 4, 8, 4, 16 }, { 2.6, 2.99, 5.6 } },
        { { "32apsk_132/180" }, { 4, 8, 4, 16 }, { 2.6, 2.86, 5.6 } },
        { { "32apsk_140/180" }, { 4, 8, 4, 16 }, { 2.8, 3.08, 5.6 } },
        { { "64apsk_128/180" }, { 16, 16, 16, 16 }, { 1.88, 2.72, 3.95 } },
        { { "64apsk_132/180" }, { 4, 12, 20, 28 }, { 2.4, 4.3, 7.0 } },
        { { "64apsk_7/9", "64apsk_4/5" }, { 8, 16, 20, 20 }, { 2.2, 3.6, 5.2 } },
        { { "64apsk_5/6" }, { 8, 16, 20, 20 }, { 2.2, 3.5, 5.0 } },
        { { "128apsk_135/180" },
          { 16, 16, 16, 16, 16, 48 },
          { 1.715, 2.118, 2.681, 2.75, 3.819 } },
        { { "128apsk_140/180" },
          { 16, 16, 16, 16, 16, 48 },
          { 1.715, 2.118, 2.681, 2.75, 3.733 } },
        { { "256apsk_116/180", "256apsk_124/180" },
          { 32, 32, 32, 32, 32, 32, 32, 32 },
          { 1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536 } },
        { { "256apsk_128/180" },
          { 32, 32, 32, 32, 32, 32, 32, 32 },
          { 1.794, 2.409, 2.986, 3.579, 4.045, 4.6, 5.4 } },
        { { "256apsk_135/180" },
          { 32, 32, 32, 32, 32, 32, 32, 32 },
          { 1.794, 2.409, 2.986, 3.579, 4.045, 4.5, 5.2 } },
    };
    for (const auto& one : all) {
        for (const auto& name : one.names) {
            const auto c = constellation::make("dvbs2x_" + name);
            std::vector<double> sizes;
            for (const auto p : c.points) {
                sizes.push_back(std::abs(std::complex<double>(p)));
            }
            std::sort(sizes.begin(), sizes.end());
            size_t at = 0;
            for (size_t ring = 0; ring < one.points.size(); ++ring) {
                const double radius = ring ? one.radii[ring - 1] : 1.0;
                for (int i = 0; i < one.points[ring]; ++i, ++at) {
                    BOOST_TEST_CONTEXT(name << ", ring " << ring)
                    BOOST_TEST(std::abs(sizes[at] / sizes[0] - radius) < 1e-5);
                }
            }
            BOOST_TEST(at == sizes.size());
        }
    }
}

BOOST_AUTO_TEST_CASE(own_points_stand_at_their_labels_unscaled)
{
    const std::vector<complex64> points{ 3.0f, { 0, 4 }, -2.0f, { 1, 1 } };
    const auto plain = constellation::make(points);
    BOOST_TEST(plain.bits == 2);
    BOOST_TEST((plain.points == points));
    const auto labelled = constellation::make(points, { 2, 0, 3, 1 });
    const std::vector<complex64> wanted{ { 0, 4 }, { 1, 1 }, 3.0f, -2.0f };
    BOOST_TEST((labelled.points == wanted));
    std::vector<complex64> many;
    for (int i = 0; i < 256; ++i) {
        many.emplace_back(i, 0);
    }
    BOOST_TEST(constellation::make(many).bits == 8);
}

BOOST_AUTO_TEST_CASE(own_points_that_make_no_constellation_are_refused_and_say_why)
{
    const auto refused = [](const std::vector<complex64>& points,
                            const std::vector<int>& labels,
                            const std::string& saying) {
        BOOST_CHECK_EXCEPTION(constellation::make(points, labels),
                              std::invalid_argument,
                              [&](const std::invalid_argument& problem) {
                                  const std::string text = problem.what();
                                  return text.find(saying) != std::string::npos;
                              });
    };
    const float nan = std::nanf(""), infinite = HUGE_VALF;
    refused({}, {}, "0 points; there are 2, 4, 8");
    refused({ 1.0f }, {}, "1 points");
    refused({ 1.0f, -1.0f, 0.0f }, {}, "3 points");
    refused(std::vector<complex64>(512), {}, "512 points");
    refused({ 1.0f, -1.0f }, { 0 }, "1 labels for 2 points");
    refused(
        { 1.0f, -1.0f }, { 0, 2 }, "labels[1] is 2; the labels of 2 points are 0 to 1");
    refused({ 1.0f, -1.0f }, { -1, 0 }, "labels[0] is -1");
    refused({ 1.0f, -1.0f }, { 1, 1 }, "points[0] and points[1] both have the label 1");
    refused({ 1.0f, 2.0f, 3.0f, 2.0f }, {}, "points[1] and points[3] are the same point");
    refused({ 1.0f, { 0, nan } }, {}, "points[1]");
    refused({ infinite, 1.0f }, {}, "points[0]");
    refused({ 1.0f, -1e7f }, {}, "points[1]");
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_the_names_that_exist)
{
    const auto names_them = [](const std::invalid_argument& problem) {
        const std::string text = problem.what();
        return text.find("qam1025") != std::string::npos &&
               text.find("dvbs2_16apsk_9/10") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(
        constellation::make("qam1025"), std::invalid_argument, names_them);
    BOOST_CHECK_THROW(constellation::make(""), std::invalid_argument);
    BOOST_CHECK_THROW(constellation::make("QPSK"), std::invalid_argument);
}
