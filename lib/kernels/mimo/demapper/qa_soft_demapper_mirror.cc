/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper_mirror
#include "kernels/common/testing.h"
#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/demapper/mirror_tables.h"
#include "kernels/mimo/demapper/qa_soft_demapper_oracle.h"
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <numeric>
#include <set>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! Max-log LLRs by a search of all points, in the order of operations of plane_metric.
std::vector<float> searched(const constellation& c, const symbols& in)
{
    const auto table = make_plane_table(c);
    std::vector<float> llr;
    for (size_t i = 0; i < in.x.size(); ++i) {
        const float scale = 1.0f / in.noise[i];
        for (int bit = 0; bit < c.bits; ++bit) {
            float best[2] = { -1e30f, -1e30f };
            for (size_t label = 0; label < c.points.size(); ++label) {
                const float across = in.x[i].real() * table.twice_re[label];
                const float along = in.x[i].imag() * table.twice_im[label];
                auto& of_bit = best[label >> (c.bits - 1 - bit) & 1];
                of_bit = std::max(of_bit, (across + along) - table.energy[label]);
            }
            llr.push_back(
                std::clamp((best[0] - best[1]) * scale, -largest_llr, largest_llr));
        }
    }
    return llr;
}

//! Points in noise, and points on and near the axes, where signs change.
symbols anywhere(const constellation& c)
{
    auto in = noisy_symbols(c, 2000);
    const float places[] = { 0.0f, -0.0f, 1e-30f, -1e-30f, 0.3f, -1.1f, 1e6f, -1e6f };
    for (const float re : places) {
        for (const float im : places) {
            in.x.emplace_back(re, im);
            in.noise.push_back(0.1f);
        }
    }
    return in;
}

//! Places of a label's bits exchanged, and signs of coordinates turned over.
constellation changed(const constellation& c, bool turn_re, bool turn_im)
{
    std::vector<int> order(c.bits);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator());
    auto made = c;
    for (size_t label = 0; label < c.points.size(); ++label) {
        size_t to = 0;
        for (int bit = 0; bit < c.bits; ++bit) {
            to |= (label >> bit & 1) << order[bit];
        }
        const auto s = c.points[label];
        made.points[to] = { turn_re ? -s.real() : s.real(),
                            turn_im ? -s.imag() : s.imag() };
    }
    return made;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_structure_of_standards_constellations_is_found)
{
    const std::set<std::string> rings{
        "dvbs2x_64apsk_128/180",  "dvbs2x_256apsk_116/180", "dvbs2x_256apsk_124/180",
        "dvbs2x_256apsk_128/180", "dvbs2x_256apsk_135/180",
    };
    for (const auto& name : constellation_names()) {
        const auto c = constellation::make(name);
        const bool is_apsk = name.rfind("dvbs2", 0) == 0 && c.bits >= 4;
        const bool has_signs = is_apsk && name.rfind("dvbs2_32apsk", 0) != 0;
        if (is_apsk) {
            BOOST_TEST(make_mirror_table(c).has_value() == has_signs, name);
        }
        BOOST_TEST((is_apsk && make_ring_table(c).has_value()) == (rings.count(name) > 0),
                   name);
    }
}

BOOST_AUTO_TEST_CASE(a_quarter_of_the_points_gives_the_bits_of_a_search_of_all)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    for (const auto& name : constellation_names()) {
        const auto c = constellation::make(name);
        if (make_square_table(c) || !make_mirror_table(c) || make_ring_table(c)) {
            continue;
        }
        for (const bool turn_re : { false, true }) {
            for (const bool turn_im : { false, true }) {
                const auto one = changed(c, turn_re, turn_im);
                BOOST_TEST(make_mirror_table(one).has_value());
                const auto in = anywhere(one);
                BOOST_TEST_CONTEXT(name)
                BOOST_TEST(demap({ one, true, 0 }, in) == searched(one, in),
                           boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rings_and_angles_give_the_llrs_of_all_points)
{
    for (const char* name : { "dvbs2x_64apsk_128/180",
                              "dvbs2x_256apsk_124/180",
                              "dvbs2x_256apsk_135/180" }) {
        for (const bool turn : { false, true }) {
            const auto c = changed(constellation::make(name), turn, !turn);
            BOOST_TEST(make_ring_table(c).has_value());
            const auto in = anywhere(c);
            for (const int positive : { 0, 1 }) {
                const soft_demapper::parameters p{ c, true, positive };
                BOOST_TEST_CONTEXT(name)
                check_against_definition(p, in, demap(p, in));
            }
        }
    }
}

// A point moved a little breaks the structure: all points are searched then.
BOOST_AUTO_TEST_CASE(what_is_nearly_mirrored_is_not_taken_for_it_and_holds_too)
{
    for (const char* name : { "dvbs2_16apsk_3/4", "dvbs2x_64apsk_128/180" }) {
        auto c = constellation::make(name);
        c.points[5] *= 1.001f;
        BOOST_TEST(!make_mirror_table(c).has_value());
        BOOST_TEST(!make_ring_table(c).has_value());
        const auto in = anywhere(c);
        const soft_demapper::parameters p{ c };
        check_against_definition(p, in, demap(p, in));
    }
    // Its quadrants are mirrored, but its rings have other angles.
    const auto other = constellation::make("dvbs2x_64apsk_4/5");
    BOOST_TEST(!make_ring_table(other).has_value());
    // The points of both signs share a value of the sign bit.
    constellation mixed{ "mixed", 4, {} };
    for (int label = 0; label < 16; ++label) {
        const float re = label & 4 ? -1.0f : 2.0f, im = label & 1 ? 1.0f : 3.0f;
        mixed.points.emplace_back(label & 8 ? -re : re, label & 2 ? -im : im);
    }
    BOOST_TEST(!make_mirror_table(mixed).has_value());
    const auto in = anywhere(mixed);
    check_against_definition({ mixed, true, 0 }, in, demap({ mixed, true, 0 }, in));
}
