/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fdtd_system
#include "kernels/fdtd/stepper/qa_fdtd_run.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>
#include <gnuradio/cudaphy/kernels/fdtd_stability.h>
#include <limits>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

template <typename T>
struct matrices {
    sparse_matrix<T> rh, re;
};

//! RH and RE of a grid times a factor, each with the other field's columns alone.
template <typename T>
matrices<T> pair_of(const fdtd_grid::parameters& p, double factor = 1)
{
    const auto system = fdtd_grid(p).system<T>();
    matrices<T> pair{ system.updates[0].matrix, system.updates[1].matrix };
    for (auto& column : pair.rh.column) {
        column -= int32_t(pair.rh.rows);
    }
    pair.rh.columns = pair.re.rows;
    pair.re.columns = pair.rh.rows;
    for (auto* matrix : { &pair.rh, &pair.re }) {
        for (auto& value : matrix->value) {
            value = T(value * factor);
        }
    }
    return pair;
}

std::string message_of(const std::function<void()>& act)
{
    try {
        act();
    } catch (const std::invalid_argument& problem) {
        return problem.what();
    }
    return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

//! e[0] += h[0]; h[0] -= e[0] / 4, and a third element that stays.
fdtd_system<double> oscillator()
{
    fdtd_system<double> system;
    system.size = 3;
    system.updates = { { 0, { 1, 3, { 0, 1 }, { 1 }, { 1.0 } } },
                       { 1, { 1, 3, { 0, 1 }, { 0 }, { -0.25 } } } };
    system.sources = { { 0, 0, 1, false } };
    system.probes = { { 0, 2 } };
    return system;
}

const fdtd_grid::parameters box{ { 7, 8, 9 }, { { 1e-3 }, { 1.1e-3 }, { 0.9e-3 } } };

} // namespace

BOOST_AUTO_TEST_CASE(a_time_step_is_the_updates_in_their_order)
{
    auto system = oscillator();
    simulation<double> sim(system);
    const auto seen = sim.run(4, { 1, 0, 0, 2 });
    // e: 1; h: -1/4; e: 3/4; h: -7/16; e: 5/16; h: -33/64; e: -13/64 + 2
    const std::vector<double> truth{ 2, 1.5, 0.625, 2 * (2 - 13.0 / 64) };
    BOOST_TEST(seen == truth, boost::test_tools::per_element());

    system.sources[0].hard = true;
    simulation<double> hard(system);
    const std::vector<double> given{ 1, -2, 3, 0.5 };
    const auto same = hard.run(4, given);
    for (size_t i = 0; i < 4; ++i) {
        BOOST_TEST(same[i] == 2 * given[i]);
    }
}

BOOST_AUTO_TEST_CASE(a_field_that_grows_is_named_and_then_silent)
{
    auto system = oscillator();
    system.updates[1].matrix.value = { 1e30 };
    simulation<double> sim(system, sparse_format::crs, 16);
    std::vector<double> pulse(40, 0.0);
    pulse[0] = 1;
    const auto seen = sim.run(40, pulse);
    const auto sound = sim.status();
    BOOST_TEST(sound > 5);
    BOOST_TEST(sound < 13);
    for (size_t i = 0; i < seen.size(); ++i) {
        BOOST_TEST(std::isfinite(seen[i]));
        BOOST_TEST((seen[i] != 0) == (int64_t(i) < sound));
    }
    sim.stepper().reset(sim.q());
    sim.run(3, pulse);
    BOOST_TEST(sim.status() == -1);
}

BOOST_AUTO_TEST_CASE(what_is_no_system_is_named)
{
    const auto why = [](auto change) {
        auto system = oscillator();
        change(system);
        return message_of([&] { system.validate(); });
    };
    BOOST_TEST(why([](auto&) {}) == "nothing was thrown");
    BOOST_TEST(
        contains(why([](auto& s) { s.updates[1].first = 3; }), "elements 3 ... 3"));
    BOOST_TEST(contains(why([](auto& s) { s.updates[1].first = -1; }), "elements -1"));
    BOOST_TEST(
        contains(why([](auto& s) { s.updates[0].matrix.columns = 4; }), "4 columns"));
    BOOST_TEST(
        contains(why([](auto& s) { s.updates[0].matrix.column[0] = 3; }), "column 3"));
    BOOST_TEST(
        contains(why([](auto& s) { s.updates[0].matrix.column[0] = -1; }), "column"));
    BOOST_TEST(
        contains(why([](auto& s) { s.updates[0].matrix.row_start = { 0 }; }), "fit"));
    BOOST_TEST(contains(why([](auto& s) { s.updates[0].matrix.value = {}; }), "fit"));
    BOOST_TEST(contains(why([](auto& s) {
                            s.updates[0].matrix.value[0] =
                                std::numeric_limits<double>::quiet_NaN();
                        }),
                        "not finite"));
    BOOST_TEST(
        contains(why([](auto& s) {
                     s.updates[0].matrix = { 2, 3, { 0, 1, 2 }, { 1, 1 }, { 1, 1 } };
                 }),
                 "takes element 1, which row 1"));
    BOOST_TEST(contains(why([](auto& s) { s.sources[0].element = 3; }), "source 0"));
    BOOST_TEST(contains(why([](auto& s) { s.sources[0].after = 2; }), "after update 2"));
    BOOST_TEST(contains(why([](auto& s) { s.probes[0].element = -1; }), "probe 0"));
    BOOST_TEST(contains(why([](auto& s) { s.size = int64_t(1) << 31; }), "2^31"));
}

BOOST_AUTO_TEST_CASE(steppers_refuse_what_does_not_fit)
{
    const auto system = oscillator();
    const auto where = tested_backend();
    const auto make = [&](sparse_format format, size_t steps) {
        return message_of([&] {
            fdtd_stepper<double>::make(system, { format, steps }, where);
        });
    };
    BOOST_TEST(contains(make(sparse_format::ccs, 8), "ccs"));
    BOOST_TEST(contains(make(sparse_format::bcrs, 8), "bcrs"));
    BOOST_TEST(contains(make(sparse_format::crs, 0), "max_steps"));
    auto q = queue::make(where);
    auto stepper = fdtd_stepper<double>::make(system, { sparse_format::crs, 4 }, where);
    array<double> in(*q, 5), out(*q, 5);
    array<int64_t> status(*q, 1);
    const auto run = [&](size_t excitation, size_t probes) {
        return message_of([&] {
            stepper->run(view<const double>(in.data(), excitation),
                         view<double>(out.data(), probes),
                         status,
                         *q);
        });
    };
    BOOST_TEST(contains(run(3, 2), "not the same number"));
    BOOST_TEST(contains(run(5, 5), "max_steps is 4"));
    BOOST_TEST(run(0, 0) == "nothing was thrown");
    BOOST_TEST(contains(message_of([&] { stepper->get(2, out.all().part(0, 2), *q); }),
                        "elements 2 ... 3"));
}

BOOST_AUTO_TEST_CASE(the_largest_eigenvalue_is_that_of_the_shortest_wave)
{
    // In a box of conductors the highest mode has n - 1 half waves along an axis with a
    // component across it.
    double truth = 0, limit = 0;
    for (size_t a = 0; a < 3; ++a) {
        const double n = double(box.cells[a]), d = box.spacing[a][0];
        truth += std::pow(std::cos(pi / (2 * n)) / d, 2);
        limit += 1 / (d * d);
    }
    const auto [rh, re] = pair_of<double>(box);
    const auto found = fdtd_stability_of(rh, re);
    BOOST_TEST(found.adjoint);
    BOOST_TEST(found.stable());
    BOOST_TEST(found.eigenvalue.real() == 4 * truth / limit,
               boost::test_tools::tolerance(1e-8));
    BOOST_TEST(found.eigenvalue.imag() == 0);
    const auto single = pair_of<float>(box);
    BOOST_TEST(fdtd_stability_of(single.rh, single.re).eigenvalue.real() ==
                   4 * truth / limit,
               boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(graded_and_filled_grids_are_adjoint_and_just_stable_at_courant_1)
{
    auto graded = box;
    graded.cells = { 12, 5, 6 };
    graded.spacing[0] = { 2, 2, 1.5, 1, 0.5, 0.4, 0.4, 0.5, 1, 1.5, 2, 2 };
    for (auto& d : graded.spacing[0]) {
        d *= 1e-3;
    }
    graded.boundary = { { { fdtd_boundary::pmc, fdtd_boundary::pmc } },
                        { { fdtd_boundary::pmc, fdtd_boundary::pmc } },
                        { { fdtd_boundary::pmc, fdtd_boundary::pmc } } };
    const auto [rh, re] = pair_of<double>(graded);
    const auto found = fdtd_stability_of(rh, re);
    BOOST_TEST(found.adjoint);
    BOOST_TEST(found.eigenvalue.real() < 4 * (1 + 1e-9));
    BOOST_TEST(found.eigenvalue.real() > 3.99);
}

BOOST_AUTO_TEST_CASE(a_pair_beyond_the_limit_is_refused_with_the_largest_factor)
{
    const auto sound = pair_of<double>(box);
    const double largest = fdtd_stability_of(sound.rh, sound.re).largest_factor();
    BOOST_TEST(largest > 1);
    const auto [rh, re] = pair_of<double>(box, 1.25);
    BOOST_TEST(fdtd_stability_of(rh, re).largest_factor() == largest / 1.25,
               boost::test_tools::tolerance(1e-9));
    const auto why = message_of([&] { fdtd_from_matrices(rh, re); });
    BOOST_TEST(contains(why, "above 4"));
    std::ostringstream factor;
    factor << largest / 1.25;
    BOOST_TEST(contains(why, factor.str() + " times this one"));
    // That factor is right: with a little less fields stay bounded, with a little more
    // they grow.
    const auto last = [&](double f) {
        auto pair = pair_of<double>(box, f);
        fdtd_system<double> system;
        system.size = pair.rh.rows + pair.re.rows;
        system = fdtd_from_matrices(sound.rh, sound.re);
        for (auto& update : system.updates) {
            for (auto& value : update.matrix.value) {
                value *= f;
            }
        }
        system.probes = { { 300, 1 } };
        system.sources = { { 301, 0, 1, false } };
        simulation<double> sim(system);
        return std::abs(sim.run(2000, { 1 }).back()) + (sim.status() >= 0 ? 1e300 : 0);
    };
    BOOST_TEST(last(0.999 * largest) < 10);
    BOOST_TEST(last(1.02 * largest) > 1e10);
}

BOOST_AUTO_TEST_CASE(pairs_that_no_step_saves_are_named)
{
    auto [rh, re] = pair_of<double>(box, 0.9);
    auto flipped = re;
    for (auto& value : flipped.value) {
        value = -value;
    }
    const auto negative = message_of([&, &rh = rh] { fdtd_from_matrices(rh, flipped); });
    BOOST_TEST(contains(negative, "negative eigenvalue"));

    // One entry of thousands with the wrong sign: the largest eigenvalue is sound.
    auto broken = re;
    const auto middle = (3 * 8 + 4) * 9 + 4; // hx of cell (3, 4, 4)
    broken.value[broken.row_start[middle + 1] - 1] *= -1;
    const auto why = message_of([&, &rh = rh] { fdtd_from_matrices(rh, broken); });
    BOOST_TEST(contains(why, "no time step is stable"));

    // A rotation's eigenvalues are i and -i.
    const sparse_matrix<double> one{ 2, 2, { 0, 1, 2 }, { 0, 1 }, { 1, 1 } };
    const sparse_matrix<double> rotation{ 2, 2, { 0, 1, 2 }, { 1, 0 }, { 1, -1 } };
    const auto found = fdtd_stability_of(one, rotation);
    BOOST_TEST(!found.adjoint);
    BOOST_TEST(std::abs(found.eigenvalue.imag()) == 1,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(
        contains(message_of([&] { fdtd_from_matrices(one, rotation); }), "complex"));
}

BOOST_AUTO_TEST_CASE(pairs_that_are_not_adjoint_but_stable_pass)
{
    // -RH RE is triangular with eigenvalues 1 and 2.
    const sparse_matrix<double> one{ 2, 2, { 0, 1, 2 }, { 0, 1 }, { 1, 1 } };
    const sparse_matrix<double> triangle{ 2, 2, { 0, 2, 3 }, { 0, 1, 1 }, { -1, 5, -2 } };
    const auto found = fdtd_stability_of(one, triangle);
    BOOST_TEST(!found.adjoint);
    BOOST_TEST(found.stable());
    BOOST_TEST(found.eigenvalue.real() == 2, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(empty_pairs_step_and_unfit_pairs_are_refused)
{
    const sparse_matrix<float> none, zero{ 2, 3, { 0, 0, 0 }, {}, {} },
        other{ 3, 2, { 0, 0, 0, 0 }, {}, {} };
    BOOST_TEST(fdtd_stability_of(none, none).stable());
    BOOST_TEST(fdtd_from_matrices(zero, other).size == 5);
    BOOST_TEST(contains(message_of([&] { fdtd_from_matrices(zero, zero); }),
                        "RE must be 3 x 2"));
    const sparse_matrix<float> bad{
        3, 2, { 0, 1, 1, 1 }, { 0 }, { std::numeric_limits<float>::infinity() }
    };
    BOOST_TEST(contains(message_of([&] { fdtd_from_matrices(zero, bad); }), "RE has"));
}
