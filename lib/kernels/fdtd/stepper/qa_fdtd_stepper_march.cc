/* SPDX-License-Identifier: GPL-3.0-or-later */
// Emulates the CUDA kernel that does two time steps a pass: its lanes, one after another.
// Tests how grids are found in matrices, and that tiles' outer cells, which are not
// theirs, change no bit of what they keep.
#define BOOST_TEST_MODULE fdtd_stepper_march
#include "kernels/fdtd/stepper/march_lane.h"
#include "kernels/fdtd/stepper/qa_fdtd_stepper_systems.h"
#include <boost/mpl/list.hpp>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double>;

//! One pass over all tiles; `planes` of x a block.
template <bool Layers, int Height, int Width, typename T>
void pass_over(const fdtd_march_pass<T>& pass, int planes)
{
    using lane_type = fdtd_march_lane<T, Layers, Height, Width>;
    const auto ignore = [](unsigned) {};
    const auto& g = pass.grid;
    for (int x = 0; x < g.nx; x += planes) {
        for (int y = 0; y < g.ny; y += Height - 2 * lane_type::halo) {
            for (int z = 0; z < g.nz; z += Width - 2 * lane_type::halo) {
                std::vector<T> shared(lane_type::shared, fdtd_numbers<T>::nan);
                std::vector<lane_type> lanes;
                for (int i = 0; i < Height * Width; ++i) {
                    lanes.emplace_back(
                        pass, i, y, z, x, std::min(x + planes, g.nx), shared.data());
                }
                for (auto& lane : lanes) {
                    lane.start();
                }
                for (int k = lanes[0].begin(); k < lanes[0].end(); ++k) {
                    for (auto& lane : lanes) {
                        lane.first(k, ignore);
                    }
                    for (auto& lane : lanes) {
                        lane.second(k, ignore);
                    }
                }
            }
        }
    }
}

template <typename T>
void check(const fdtd_system<T>& system)
{
    const auto plan = fdtd_march_plan<T>::make(system);
    BOOST_REQUIRE(plan.has_value());
    const size_t steps = 4;
    const auto start = gaussian<T>(size_t(system.size));
    const auto excitation = gaussian<T>(steps * system.sources.size());
    auto expected_state = start;
    const auto expected = stepped(system, steps, excitation, expected_state);
    const auto& t = plan->tables;
    for (const int planes : { 3, 1000 }) {
        for (const bool wide : { false, true }) {
            auto state = start;
            std::vector<T> other(state.size(), fdtd_numbers<T>::nan);
            std::vector<T> probes(expected.size(), T(-1e30));
            const fdtd_step<T> first{ nullptr,
                                      excitation.data(),
                                      probes.data(),
                                      system.sources.size(),
                                      system.probes.size(),
                                      0 };
            fdtd_march_pass<T> pass{ plan->grid,
                                     { t.classes.data(),
                                       t.kinds.data(),
                                       t.rows.data(),
                                       t.forms.data(),
                                       t.places.data(),
                                       t.starts.data(),
                                       t.marks.data(),
                                       t.sources.data(),
                                       t.probes.data() },
                                     state.data(),
                                     other.data(),
                                     first };
            const auto run = [&] {
                if (plan->layers) {
                    wide ? pass_over<true, 6, 16>(pass, planes)
                         : pass_over<true, 7, 9>(pass, planes);
                } else {
                    wide ? pass_over<false, 6, 16>(pass, planes)
                         : pass_over<false, 7, 9>(pass, planes);
                }
            };
            run();
            pass.from = other.data();
            pass.to = state.data();
            pass.step = first.at(2);
            run();
            BOOST_TEST((state == expected_state));
            BOOST_TEST((probes == expected));
        }
    }
}

fdtd_grid::parameters cube(const fdtd_grid::index& cells, fdtd_boundary boundary)
{
    fdtd_grid::parameters p{ { cells[0], cells[1], cells[2] },
                             { { 1e-3 }, { 2e-3 }, { 1.5e-3 } } };
    p.boundary.assign(3, { boundary, boundary });
    p.absorber.thickness = 3;
    p.absorber.kappa = 2;
    return p;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(two_steps_a_pass_are_two_steps_to_the_bit, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return; // independent of the backend
    }
    const auto pec = fdtd_boundary::pec, pmc = fdtd_boundary::pmc,
               cpml = fdtd_boundary::cpml;
    for (const auto& [cells, boundary] :
         { std::pair<fdtd_grid::index, fdtd_boundary>{ { 11, 12, 13 }, pec },
           { { 5, 7, 31 }, pmc },
           { { 23, 21, 19 }, cpml } }) {
        BOOST_TEST_CONTEXT(name_of(boundary))
        {
            auto grid = fdtd_grid(cube(cells, boundary));
            grid.add_box({ 1, 1, 2 }, { 2, 3, 4 }, { 2.5, 1.5, 0.1, {}, false });
            grid.add_box({ 3, 2, 8 }, { 4, 5, 10 }, { 1, 1, 0, {}, true });
            // Some stand where tiles and parts of x meet, one twice.
            for (const int64_t z : { 3, 4, 5, 6 }) {
                grid.add_source("ez", { 2, 3, z });
                grid.add_source("hx", { 3, 4, z }, fdtd_source_kind::hard);
                grid.add_probe("ey", { 2, 3, z });
                grid.add_probe("hx", { 3, 4, z });
                grid.add_probe("hx", { 3, 5, z });
            }
            grid.add_source("ez", { 2, 3, 4 });
            grid.add_port("ex", { 2, 4, 7 });
            check(grid.template system<T>());
        }
    }
    // Layers along one axis only, and at one face.
    for (int axis = 0; axis < 3; ++axis) {
        auto p = cube({ 13, 14, 15 }, pec);
        p.boundary[size_t(axis)] = { pec, cpml };
        fdtd_grid grid(p);
        grid.add_source("ey", { 6, 7, 12 });
        grid.add_probe("hz", { 6, 7, 12 });
        check(grid.template system<T>());
    }
}

BOOST_AUTO_TEST_CASE(other_systems_are_no_grids)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto found = [](const fdtd_system<float>& system) {
        return fdtd_march_plan<float>::make(system).has_value();
    };
    const fdtd_grid::index cells{ 9, 10, 11 };
    const auto plain = cube(cells, fdtd_boundary::pec);
    BOOST_TEST(found(fdtd_grid(plain).system<float>()));
    BOOST_TEST(!found(fdtd_grid(cube(cells, fdtd_boundary::periodic)).system<float>()));
    {
        fdtd_grid grid(plain); // currents that are read are rows of their own
        grid.add_current_probe("ez", { 4, 5, 5 });
        BOOST_TEST(!found(grid.system<float>()));
    }
    {
        fdtd_grid grid(plain);
        grid.add_box({ 2, 2, 2 }, { 4, 4, 4 }, { 2, 1, 0, { { 1, 1e-11 } }, false });
        BOOST_TEST(!found(grid.system<float>()));
    }
    {
        auto system = fdtd_grid(plain).system<float>();
        system.sources = { { 5, 1, 1, false } }; // on E, but after H
        BOOST_TEST(!found(system));
        system.sources.clear();
        auto& a = system.updates[1].matrix;
        a.column[size_t(a.entries() / 2)] += 1;
        BOOST_TEST(!found(system));
    }
    { // more kinds of cells than a table names
        auto system = fdtd_grid(cube({ 41, 42, 43 }, fdtd_boundary::pec)).system<float>();
        auto& values = system.updates[0].matrix.value;
        for (size_t e = 0; e < values.size(); ++e) {
            values[e] *= 1 + 1e-6f * float(e);
        }
        BOOST_TEST(!found(system));
    }
    for (const size_t updates : { 1, 2, 4 }) {
        BOOST_TEST(!found(random_system<float>(3000, updates)));
    }
}
