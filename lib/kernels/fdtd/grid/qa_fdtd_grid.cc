/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fdtd_grid
#include "kernels/fdtd/stepper/qa_fdtd_run.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>
#include <limits>
#include <numeric>
#include <unistd.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

constexpr double d = 1e-3;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::string message_of(const std::function<void()>& act)
{
    try {
        act();
    } catch (const std::exception& problem) {
        return problem.what();
    }
    return "nothing was thrown";
}

void names(const std::function<void()>& act, const std::vector<std::string>& parts)
{
    const auto message = message_of(act);
    for (const auto& part : parts) {
        BOOST_TEST((message.find(part) != std::string::npos), message << " | " << part);
    }
}

fdtd_grid cube(int64_t n = 6)
{
    return fdtd_grid({ { n, n, n }, { { d }, { d }, { d } } });
}

fdtd_material filled(double eps_r, double sigma = 0)
{
    fdtd_material material;
    material.eps_r = eps_r;
    material.sigma = sigma;
    return material;
}

//! A row's entries as column -> value.
template <typename T>
std::vector<std::pair<int64_t, T>>
row_of(const fdtd_system<T>& s, size_t update, int64_t row)
{
    const auto& a = s.updates[update].matrix;
    std::vector<std::pair<int64_t, T>> row_entries;
    for (auto k = a.row_start[row]; k < a.row_start[row + 1]; ++k) {
        row_entries.emplace_back(a.column[k], a.value[k]);
    }
    return row_entries;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_inner_row_is_the_curl)
{
    fdtd_grid grid({ { 5, 6, 7 }, { { 1e-3 }, { 2e-3 }, { 4e-3 } } });
    BOOST_TEST(grid.time_step() == 1 / (physics::c * std::sqrt(1e6 + 0.25e6 + 0.0625e6)),
               boost::test_tools::tolerance(1e-12));
    const auto s = grid.system<double>();
    const double electric = grid.time_step() / physics::eps0;
    const auto at = [&](const char* name, int64_t i, int64_t j, int64_t k) {
        return grid.element(name, { i, j, k });
    };
    const auto ex = row_of(s, 0, at("ex", 2, 3, 4));
    // dt / eps0 (d hz / dy - d hy / dz)
    const std::vector<std::pair<int64_t, double>> truth{
        { at("hy", 2, 3, 3), electric / 4e-3 },
        { at("hy", 2, 3, 4), -electric / 4e-3 },
        { at("hz", 2, 2, 4), -electric / 2e-3 },
        { at("hz", 2, 3, 4), electric / 2e-3 }
    };
    BOOST_TEST(ex.size() == 4u);
    for (size_t i = 0; i < 4; ++i) {
        BOOST_TEST(ex[i].first == truth[i].first);
        BOOST_TEST(ex[i].second == truth[i].second, boost::test_tools::tolerance(1e-12));
    }
    // Along the low faces E stays.
    BOOST_TEST(row_of(s, 0, at("ex", 2, 0, 4)).empty());
    BOOST_TEST(row_of(s, 0, at("ez", 0, 3, 4)).empty());
    BOOST_TEST(row_of(s, 0, at("ez", 2, 3, 0)).size() == 4u);
    BOOST_TEST(s.size == 2 * 3 * 5 * 6 * 7);
}

BOOST_AUTO_TEST_CASE(state_and_components_by_dimension)
{
    const auto components = [](std::vector<int64_t> cells, const std::string& mode) {
        fdtd_grid::parameters p;
        p.cells = cells;
        p.spacing.assign(cells.size(), { d });
        p.mode = mode;
        const auto all = fdtd_grid(p).components();
        return std::accumulate(all.begin(), all.end(), std::string());
    };
    BOOST_TEST(components({ 4 }, "tm") == "ezhy");
    BOOST_TEST(components({ 4, 5 }, "tm") == "ezhxhy");
    BOOST_TEST(components({ 4, 5 }, "te") == "exeyhz");
    BOOST_TEST(components({ 4, 5, 1 }, "tm") == "exeyezhxhyhz");
    names([&] { components({ 4, 5 }, "tem"); }, { "tem", "tm", "te" });
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_named)
{
    const auto make = [](auto change) {
        fdtd_grid::parameters p{ { 6, 6, 6 }, { { d }, { d }, { d } } };
        change(p);
        return [p] { fdtd_grid grid(p); };
    };
    names(make([](auto& p) { p.cells = {}; }), { "0 axes" });
    names(make([](auto& p) { p.cells = { 1, 2, 3, 4 }; }), { "4 axes" });
    names(make([](auto& p) { p.cells[1] = 0; }), { "0 cells along y" });
    names(make([](auto& p) { p.cells[1] = -3; }), { "-3 cells along y" });
    names(make([](auto& p) { p.spacing.pop_back(); }), { "2 of spacing" });
    names(make([](auto& p) { p.spacing[2] = { d, d }; }), { "2 spacings along z", "6" });
    names(make([](auto& p) { p.spacing[0] = { 0 }; }), { "spacing", "along x" });
    names(make([](auto& p) { p.spacing[0] = { not_a_number }; }),
          { "spacing", "along x" });
    names(make([](auto& p) { p.boundary = { conducting }; }), { "1 of boundary" });
    names(make([](auto& p) {
              p.boundary = { conducting,
                             { { fdtd_boundary::periodic, fdtd_boundary::pec } },
                             conducting };
          }),
          { "along y", "periodic" });
    names(make([](auto& p) { p.courant = 0; }), { "courant is 0", "at most 1" });
    names(make([](auto& p) { p.courant = 1.01; }),
          { "courant is 1.01", "1.92583e-12 s" });
    names(make([](auto& p) { p.courant = not_a_number; }), { "courant is nan" });
    names(make([](auto& p) { p.time_step = 2e-12; }), { "2e-12 s", "1.92583e-12 s" });
    names(make([](auto& p) { p.time_step = -1; }), { "-1 s" });
    names(make([](auto& p) {
              p.boundary = { absorbing, conducting, conducting };
              p.absorber.thickness = 3;
          }),
          { "3 cells leave nothing", "along x" });
    names(make([](auto& p) { p.absorber.kappa = 0.5; }), { "kappa 0.5" });
    // A cube of 10 m at 2.4 GHz: more than 2^31 numbers.
    names(make([](auto& p) {
              p.cells = { 800, 800, 800 };
          }),
          { "5.12e+08 cells", "at most 357913941 cells fit" });
    names(make([](auto& p) { p.cells.assign(3, int64_t(1) << 40); }), { "cells fit" });
}

BOOST_AUTO_TEST_CASE(more_cells_than_memory_says_how_many_fit)
{
    // 343 million cells have numbers enough, but their matrices in double take 156 GB.
    if (double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) < 140e9) {
        names(
            [] {
                fdtd_grid({ { 700, 700, 700 }, { { d }, { d }, { d } } })
                    .system<double>();
            },
            { "343000000 cells take", "this machine has", "cells fit" });
    }
}

BOOST_AUTO_TEST_CASE(places_outside_are_named_with_the_ranges)
{
    auto grid = cube();
    names(
        [&] {
            grid.add_source("ez", { 6, 0, 0 });
        },
        { "a source of ez at (6, 0, 0)", "(5, 5, 5)" });
    names([&] { grid.add_probe("hx", { 0, -1, 0 }); }, { "a probe of hx at (0, -1, 0)" });
    names(
        [&] {
            grid.add_probe("e", { 0, 0, 0 });
        },
        { "\"e\"", "ex, ey, ez, hx, hy, hz" });
    names([&] { grid.add_port("hx", { 1, 1, 1 }); }, { "not hx" });
    names(
        [&] {
            grid.add_source("hx", { 1, 1, 1 }, fdtd_source_kind::current);
        },
        { "not hx" });
    names([&] { grid.add_port("ez", { 1, 1, 1 }, 0); }, { "resistance" });
    names([&] { grid.add_dipole("ez", { 1, 1, 1 }, 4); }, { "odd" });
    names([&] { grid.add_dipole("ez", { 1, 1, 1 }, 5); }, { "(1, 1, -1)" });
    names([&] { grid.plane("ez", 3, 0); }, { "axis 3" });
    names([&] { grid.plane("ez", 0, 6); }, { "(6, 0, 0)" });
    names(
        [&] {
            grid.add_conductor({ 0, 0, 0 }, { 0, 0, 7 });
        },
        { "along z", "to <= 6" });
    grid.add_port("ez", { 1, 1, 1 });
    names([&] { grid.add_port("ez", { 1, 1, 1 }); }, { "a port in this edge already" });
    grid.add_source("ez", { 0, 3, 3 });
    names([&] { grid.system<float>(); }, { "source 1", "conductor" });
}

BOOST_AUTO_TEST_CASE(materials_overlap_only_if_replace_is_set)
{
    auto grid = cube();
    grid.add_box({ 1, 1, 1 }, { 4, 4, 4 }, filled(2));
    names(
        [&] {
            grid.add_box({ 3, 3, 3 }, { 5, 5, 5 }, filled(3));
        },
        { "cell (3, 3, 3)", "replace" });
    grid.add_box({ 3, 3, 3 }, { 5, 5, 5 }, filled(2)); // the same material
    grid.add_box({ 2, 2, 2 }, { 4, 4, 4 }, filled(5), true);
    names([&] { grid.add_box({ 2, 2, 2 }, { 2, 3, 3 }, filled(5)); }, { "along x", "<" });
    names([&] { grid.add_box({ 2, 2, 2 }, { 3, 3, 7 }, filled(5)); }, { "along z" });
    names([&] { grid.add_box({ 0, 0, 0 }, { 1, 1, 1 }, filled(0.5)); }, { "eps_r 0.5" });
    names(
        [&] {
            grid.add_box({ 0, 0, 0 }, { 1, 1, 1 }, filled(1, not_a_number));
        },
        { "sigma nan" });
    auto pole = filled(2);
    pole.poles = { { 1, 0 } };
    names([&] { grid.add_box({ 0, 0, 0 }, { 1, 1, 1 }, pole); }, { "relaxation time 0" });
    names([&] { grid.add_cells(std::vector<int32_t>(5), { filled(2) }); },
          { "216 cells" });
    std::vector<int32_t> which(216, -1);
    which[215] = 1;
    names([&] { grid.add_cells(which, { filled(2) }); },
          { "(5, 5, 5)", "material 1 of 1" });
    which[215] = 0;
    which[43] = 0; // (1, 1, 1)
    names([&] { grid.add_cells(which, { filled(9) }); }, { "cell (1, 1, 1)" });

    // Boxes and cells give the same matrices; a refused call leaves no trace.
    auto same = cube();
    std::vector<int32_t> cells(216, -1);
    for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 6; ++j) {
            for (int64_t k = 0; k < 6; ++k) {
                const auto in = [&](int64_t from, int64_t to) {
                    return std::min({ i, j, k }) >= from && std::max({ i, j, k }) < to;
                };
                cells[(i * 6 + j) * 6 + k] = in(2, 4) ? 1 : in(1, 4) || in(3, 5) ? 0 : -1;
            }
        }
    }
    same.add_cells(cells, { filled(2), filled(5) });
    const auto a = grid.system<double>(), b = same.system<double>();
    BOOST_TEST((a.updates[0].matrix.value == b.updates[0].matrix.value));
}

BOOST_AUTO_TEST_CASE(edges_take_the_mean_of_the_cells_around_them)
{
    fdtd_grid grid({ { 4, 4, 4 }, { { d, d, 3 * d, d }, { d }, { d } } });
    grid.add_box({ 2, 0, 0 }, { 3, 4, 4 }, filled(5, 0.2));
    auto magnet = filled(1);
    magnet.mu_r = 4;
    const double dt = grid.time_step();
    auto s = grid.system<double>();
    // The area around ez at x = 2 has four quarters. One quarter lies in the material, in
    // a cell of width 1 d.
    const double eps = (1 * 1 + 3 * 5) / 4.0, sigma = 0.2 * 3 / 4;
    const double below = physics::eps0 * eps + dt * sigma / 2;
    const auto element = grid.element("ez", { 2, 2, 2 });
    const auto row = row_of(s, 0, element);
    BOOST_TEST(row.size() == 5u);
    BOOST_TEST(row[0].first == element);
    BOOST_TEST(row[0].second == -dt * sigma / below, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(-row[2].second == dt / below / d, boost::test_tools::tolerance(1e-12));
    // From the middle of one cell to that of the next: half of d and half of 3 d.
    BOOST_TEST(row[4].second == dt / below / (2 * d),
               boost::test_tools::tolerance(1e-12));

    grid.add_box({ 1, 0, 0 }, { 2, 4, 4 }, magnet);
    s = grid.system<double>();
    const auto hx = row_of(s, 1, grid.element("hx", { 2, 2, 2 }) - s.updates[1].first);
    BOOST_TEST(std::abs(hx[0].second) == dt / physics::mu0 * (0.25 + 3) / 4 / d,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(conductors_hold_their_edges)
{
    const auto held = [](const fdtd_grid& grid, const char* name) {
        const auto s = grid.system<double>();
        std::vector<fdtd_grid::index> places;
        for (int64_t i = 1; i < 6; ++i) {
            for (int64_t j = 1; j < 6; ++j) {
                for (int64_t k = 1; k < 6; ++k) {
                    if (row_of(s, 0, grid.element(name, { i, j, k })).empty()) {
                        places.push_back({ i, j, k });
                    }
                }
            }
        }
        return places;
    };
    auto wire = cube();
    wire.add_conductor({ 2, 3, 1 }, { 2, 3, 4 });
    BOOST_TEST(held(wire, "ex").empty());
    BOOST_TEST((held(wire, "ez") ==
                std::vector<fdtd_grid::index>{ { 2, 3, 1 }, { 2, 3, 2 }, { 2, 3, 3 } }));
    auto sheet = cube();
    sheet.add_conductor({ 2, 2, 2 }, { 4, 3, 2 });
    BOOST_TEST(held(sheet, "ez").empty());
    BOOST_TEST(held(sheet, "ex").size() == 4u);
    BOOST_TEST(held(sheet, "ey").size() == 3u);
    auto block = cube();
    fdtd_material metal;
    metal.conductor = true;
    block.add_box({ 2, 2, 2 }, { 3, 3, 3 }, metal);
    for (const char* name : { "ex", "ey", "ez" }) {
        BOOST_TEST(held(block, name).size() == 4u);
    }
    block.add_source("ez", { 3, 3, 2 });
    names([&] { block.system<double>(); }, { "source 0 drives ez", "conductor" });
}

BOOST_AUTO_TEST_CASE(a_plane_is_read_in_its_order)
{
    fdtd_grid grid({ { 3, 4, 5 }, { { d }, { d }, { d } } });
    const auto plane = grid.plane("hy", 1, 2);
    BOOST_TEST(plane.size() == 15u);
    BOOST_TEST(plane[0] == grid.element("hy", { 0, 2, 0 }));
    BOOST_TEST(plane[7] == grid.element("hy", { 1, 2, 2 }));
    const auto s = grid.system<double>();
    simulation<double> sim(s);
    std::vector<double> state(s.size);
    std::iota(state.begin(), state.end(), 0.0);
    sim.set(state);
    array<int32_t> elements(sim.q(), view<const int32_t>(plane));
    auto values = poisoned<double>(sim.q(), plane.size());
    sim.stepper().gather(elements, values, sim.q());
    const auto seen = values.to_host();
    for (size_t i = 0; i < plane.size(); ++i) {
        BOOST_TEST(seen[i] == plane[i]);
    }
}

BOOST_AUTO_TEST_CASE(a_port_between_two_lines_divides_the_voltage)
{
    // A line of one dimension is 377 ohms, two of them in parallel half of that.
    for (const double resistance : { 50.0, physics::impedance / 2, 1000.0 }) {
        fdtd_grid grid({ { 200 }, { { d } }, { absorbing } });
        const auto port = grid.add_port("ez", { 100 }, resistance);
        const auto current = grid.add_current_probe("ez", { 100 });
        grid.add_probe("ez", { 130 });
        const double dt = grid.time_step();
        const auto volts = pulse(8e9);
        simulation<double> sim(grid.system<double>());
        const auto seen = sim.run(600, dt, volts);
        std::vector<double> given;
        for (size_t n = 0; n < 600; ++n) {
            given.push_back(volts((double(n) + 0.5) * dt));
        }
        const double f = 8e9, impedance = physics::impedance / 2;
        const auto v = std::abs(spectrum(column(seen, 3, port.probe), f, dt)),
                   i = std::abs(spectrum(column(seen, 3, current), f, dt)),
                   far = std::abs(spectrum(column(seen, 3, 2), f, dt)),
                   vs = std::abs(spectrum(given, f, dt));
        BOOST_TEST(v / vs == impedance / (impedance + resistance),
                   boost::test_tools::tolerance(0.02));
        BOOST_TEST(i / vs == 1 / (impedance + resistance),
                   boost::test_tools::tolerance(0.03));
        BOOST_TEST(far == v, boost::test_tools::tolerance(0.005));
    }
}

BOOST_AUTO_TEST_CASE(hard_sources_set_their_fields)
{
    fdtd_grid grid({ { 50 }, { { d } } });
    grid.add_source("ez", { 25 }, fdtd_source_kind::hard);
    grid.add_source("hy", { 10 }, fdtd_source_kind::hard);
    grid.add_probe("ez", { 25 });
    grid.add_probe("hy", { 10 });
    simulation<double> sim(grid.system<double>());
    const auto given = gaussian<float>(80);
    const auto seen = sim.run(40, { given.begin(), given.end() });
    for (size_t i = 0; i < 80; ++i) {
        BOOST_TEST(seen[i] == double(given[i]));
    }
}

BOOST_AUTO_TEST_CASE(soft_sources_add_to_their_fields)
{
    // One step from the same fields, with an excitation and without.
    fdtd_grid grid({ { 50 }, { { d } } });
    grid.add_source("ez", { 25 }, fdtd_source_kind::soft);
    grid.add_source("hy", { 10 }, fdtd_source_kind::soft);
    const auto system = grid.system<double>();
    const auto start = gaussian<double>(size_t(system.size));
    const auto after = [&](const std::vector<double>& excitation) {
        simulation<double> sim(system);
        sim.set(start);
        sim.run(1, excitation);
        return sim.state();
    };
    const auto alone = after({ 0, 0 }), driven = after({ 0.75, -3 });
    const auto ez = grid.element("ez", { 25, 0, 0 }),
               hy = grid.element("hy", { 10, 0, 0 });
    for (int64_t i = 0; i < system.size; ++i) {
        const double change = driven[i] - alone[i];
        const bool beside = i == grid.element("hy", { 24, 0, 0 }) ||
                            i == grid.element("hy", { 25, 0, 0 });
        if (i == ez || i == hy) {
            BOOST_TEST(change == (i == ez ? 0.75 : -3.0),
                       boost::test_tools::tolerance(1e-12));
        } else {
            BOOST_TEST((change != 0) == beside); // h takes the curl of the new ez
        }
    }
}

BOOST_AUTO_TEST_CASE(memories_of_layers_and_materials_follow_the_fields)
{
    fdtd_absorber thin;
    thin.thickness = 3;
    fdtd_grid grid(
        { { 10, 9, 8 },
          { { d }, { d }, { d } },
          { absorbing, conducting, { { fdtd_boundary::pec, fdtd_boundary::cpml } } },
          "tm",
          1,
          0,
          thin });
    auto water = filled(2);
    water.poles = { { 3, 1e-11 } };
    grid.add_box({ 4, 4, 2 }, { 5, 5, 3 }, water);
    const auto s = grid.system<float>();
    s.validate();
    BOOST_TEST(s.updates.size() == 4u);
    // psi of ey and ez along x: 2 nodes a layer, so 4 planes. psi of ex and ey along z: 2
    // nodes. A line of 8 holds the nodes of 4 planes across x, so that 10 planes take 3.
    // Water has 12 edges.
    BOOST_TEST(s.updates[1].matrix.rows == 2 * 4 * 72 + 2 * 3 * 72 + 12);
    // h has 3 half nodes a layer. A line holds those of 2 planes, so that 10 planes take
    // 5.
    BOOST_TEST(s.updates[3].matrix.rows == 2 * 6 * 72 + 2 * 5 * 72);
    BOOST_TEST(s.size == 6 * 720 + s.updates[1].matrix.rows + s.updates[3].matrix.rows);
}
