/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE soft_demapper_psk
#include "kernels/common/testing.h"
#include "kernels/mimo/demapper/qa_soft_demapper_oracle.h"
#include "kernels/mimo/demapper/tables.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <numeric>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! 8PSK whose labels are the Gray code of the place on the circle, with bits exchanged by
//! `order` and turned over by `flips`.
constellation
gray_8psk(float radius, double angle, const std::vector<int>& order, int flips)
{
    constellation c{ "gray", 3, std::vector<complex64>(8) };
    for (int place = 0; place < 8; ++place) {
        const int gray = (place ^ (place >> 1)) ^ flips;
        int label = 0;
        for (int bit = 0; bit < 3; ++bit) {
            label |= (gray >> bit & 1) << order[bit];
        }
        c.points[label] =
            complex64(std::polar(double(radius), angle + place * std::acos(-1.0) / 4));
    }
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(llrs_of_8psk_hold_for_every_gray_code_turned_by_any_angle)
{
    std::uniform_real_distribution<double> turn(0.0, 7.0);
    std::uniform_real_distribution<float> decade(-6.0f, 1.0f);
    std::uniform_real_distribution<float> place(-2.0f, 2.0f);
    std::vector<int> order{ 0, 1, 2 };
    do {
        for (const int flips : { 0, 3, 5 }) {
            for (const float radius : { 1.0f, 0.01f, 300.0f }) {
                const double angle = turn(generator());
                const auto c = gray_8psk(radius, angle, order, flips);
                BOOST_TEST(make_octant_table(c).has_value());
                symbols in;
                for (int i = 0; i < 300; ++i) {
                    in.x.push_back(radius *
                                   complex64(place(generator()), place(generator())));
                    in.noise.push_back(radius * radius *
                                       std::pow(10.0f, decade(generator())));
                }
                // Between two points, and where all are as far.
                for (int k = 0; k < 16; ++k) {
                    in.x.push_back(complex64(
                        std::polar(1.1 * radius, angle + k * std::acos(-1) / 8)));
                    in.noise.push_back(radius * radius * 0.02f);
                }
                in.x.push_back(0.0f);
                in.noise.push_back(radius * radius);
                BOOST_TEST_CONTEXT("order " << order[0] << order[1] << order[2]
                                            << " flips " << flips << " radius " << radius
                                            << " angle " << angle)
                {
                    for (const bool max_log : { true, false }) {
                        for (const int positive : { 0, 1 }) {
                            const soft_demapper::parameters p{ c, max_log, positive };
                            check_against_definition(p, in, demap(p, in));
                        }
                    }
                }
            }
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(other_8psk_is_not_taken_for_it_and_holds_too)
{
    const auto gray = gray_8psk(1.0f, 0.3, { 0, 1, 2 }, 0);
    auto natural = gray;
    for (int label = 0; label < 8; ++label) {
        natural.points[label] =
            complex64(std::polar(1.0, 0.3 + label * std::acos(-1.0) / 4));
    }
    auto bent = gray;
    bent.points[5] *= 1.001f;
    for (const auto& c : { natural, bent }) {
        BOOST_TEST(!make_octant_table(c).has_value());
        const auto in = noisy_symbols(c, 500);
        for (const bool max_log : { true, false }) {
            const soft_demapper::parameters p{ c, max_log, 0 };
            check_against_definition(p, in, demap(p, in));
        }
    }
}
