/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fdtd_physics
#include "kernels/fdtd/stepper/qa_fdtd_run.h"
#include <boost/mpl/list.hpp>
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>

// Fields without an absorbing layer or a source: the discrete equations have exact
// solutions.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double>;

template <typename T>
constexpr double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-9;

using vector3 = std::array<double, 3>;

//! The frequency f of a wave of wave numbers k on a uniform Yee grid: sin(pi f dt) = c dt
//! sqrt(sum [sin(k_i d_i / 2) / d_i]^2).
double discrete_frequency(const vector3& k, const vector3& d, double dt)
{
    double sum = 0;
    for (int a = 0; a < 3; ++a) {
        sum += std::pow(std::sin(k[a] * d[a] / 2) / d[a], 2);
    }
    return std::asin(physics::c * dt * std::sqrt(sum)) / (pi * dt);
}

//! The frequency of a sinusoid by its phase: x[n + m] + x[n - m] = 2 cos(2 pi f m dt)
//! x[n]. m = 1 gives a first estimate, and each greater m a finer one.
template <typename T>
double measured_frequency(const std::vector<T>& x, double dt)
{
    double angle = 0; // of one step
    for (size_t m = 1; 4 * m <= x.size(); m *= 2) {
        double with = 0, square = 0;
        for (size_t n = m; n + m < x.size(); ++n) {
            with += double(x[n]) * (double(x[n + m]) + double(x[n - m]));
            square += double(x[n]) * double(x[n]);
        }
        const double turned = std::acos(std::clamp(with / (2 * square), -1.0, 1.0));
        if (m == 1) {
            angle = turned;
            continue;
        }
        // turned is +-(m angle) up to whole turns; take the angle nearest to the
        // estimate.
        // Near 0 and pi the arc cosine is blunt.
        if (turned < 0.3 || turned > pi - 0.3) {
            continue;
        }
        const double guess = m * angle, turns = std::round((guess - turned) / (2 * pi));
        const double other = std::round((guess + turned) / (2 * pi));
        const double up = turned + 2 * pi * turns, down = 2 * pi * other - turned;
        angle = (std::abs(up - guess) < std::abs(down - guess) ? up : down) / double(m);
    }
    return angle / (2 * pi * dt);
}

//! A direction across K, so that the field has no divergence on the grid either.
vector3 across(const vector3& k, const vector3& d)
{
    vector3 difference;
    for (int a = 0; a < 3; ++a) {
        difference[a] = std::sin(k[a] * d[a] / 2) / d[a];
    }
    const vector3 any{ 0.3, -0.5, 0.8 };
    const auto& [x, y, z] = difference;
    return { y * any[2] - z * any[1], z * any[0] - x * any[2], x * any[1] - y * any[0] };
}

//! Sets E to shape(component, place) outside of conductors, and steps.
template <typename T, typename Shape>
double frequency_of(const fdtd_grid& grid,
                    const fdtd_system<T>& system,
                    size_t steps,
                    const vector3& d,
                    const Shape& shape)
{
    simulation<T> sim(system);
    std::vector<T> state(system.size);
    const auto extent = grid.shape();
    for (const auto& name : grid.components()) {
        if (name[0] != 'e') {
            continue;
        }
        const int axis = name[1] - 'x';
        for (int64_t i = 0; i < extent[0]; ++i) {
            for (int64_t j = 0; j < extent[1]; ++j) {
                for (int64_t k = 0; k < extent[2]; ++k) {
                    vector3 at{ i * d[0], j * d[1], k * d[2] };
                    at[axis] += d[axis] / 2;
                    const auto element = grid.element(name, { i, j, k });
                    const auto& rows = system.updates[0].matrix.row_start;
                    if (rows[element + 1] > rows[element]) {
                        state[element] = T(shape(axis, at));
                    }
                }
            }
        }
    }
    sim.set(state);
    const auto seen = sim.run(steps);
    BOOST_TEST(sim.status() == -1);
    return measured_frequency(seen, system.time_step);
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cavity_resonates_where_the_discrete_equations_say,
                              T,
                              number_types)
{
    const vector3 d{ 1e-3, 1.2e-3, 0.9e-3 };
    const std::array<int64_t, 3> cells{ 17, 19, 21 }; // source 5's smaller box
    const std::vector<std::array<int, 3>> modes{ { 1, 1, 0 }, { 0, 1, 1 }, { 4, 0, 5 },
                                                 { 1, 1, 1 }, { 2, 1, 1 }, { 3, 2, 1 } };
    for (const auto& mode : modes) {
        vector3 k;
        for (int a = 0; a < 3; ++a) {
            k[a] = mode[a] * pi / (cells[a] * d[a]);
        }
        // If a wave number is 0, the field points along that axis.
        auto amplitude = across(k, d);
        int along = 0;
        for (int a = 0; a < 3; ++a) {
            if (mode[a] == 0) {
                amplitude = {};
                amplitude[a] = 1;
                along = a;
            }
        }
        fdtd_grid grid({ { 17, 19, 21 }, { { d[0] }, { d[1] }, { d[2] } } });
        grid.add_probe(std::string("e") + "xyz" [along], { 5, 4, 3 });
        const auto system = grid.template system<T>();
        BOOST_TEST(system.updates.size() == 2u);
        BOOST_TEST(system.updates[0].matrix.rows == 20349);
        const auto f =
            frequency_of<T>(grid, system, 500, d, [&](int axis, const vector3& at) {
                double value = amplitude[axis];
                for (int a = 0; a < 3; ++a) {
                    value *= a == axis ? std::cos(k[a] * at[a]) : std::sin(k[a] * at[a]);
                }
                return value;
            });
        const double truth = discrete_frequency(k, d, grid.time_step());
        BOOST_TEST_CONTEXT("mode " << mode[0] << mode[1] << mode[2])
        {
            BOOST_TEST(std::abs(f / truth - 1) < tolerance<T>);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(waves_at_any_angle_have_the_grids_dispersion,
                              T,
                              number_types)
{
    const vector3 d{ 1e-3, 0.8e-3, 1.1e-3 };
    const auto check = [&](const std::vector<int64_t>& cells,
                           const std::string& mode,
                           const std::string& probe,
                           const std::array<int, 3>& waves,
                           const vector3& amplitude) {
        fdtd_grid::parameters p;
        p.cells = cells;
        p.mode = mode;
        p.courant = 0.97;
        vector3 k{};
        for (size_t a = 0; a < cells.size(); ++a) {
            p.spacing.push_back({ d[a] });
            p.boundary.push_back(repeating);
            k[a] = 2 * pi * waves[a] / (double(cells[a]) * d[a]);
        }
        fdtd_grid grid(p);
        grid.add_probe(probe, { 1, 0, 0 });
        const auto f = frequency_of<T>(
            grid, grid.template system<T>(), 512, d, [&](int axis, const vector3& at) {
                return amplitude[axis] *
                       std::cos(k[0] * at[0] + k[1] * at[1] + k[2] * at[2] + 0.4);
            });
        const double truth = discrete_frequency(k, d, grid.time_step());
        BOOST_TEST_CONTEXT(cells.size() << " dimensions, " << mode << ", waves "
                                        << waves[0] << waves[1] << waves[2])
        {
            BOOST_TEST(std::abs(f / truth - 1) < tolerance<T>);
        }
    };
    for (const int waves : { 1, 3, 9 }) {
        check({ 23 }, "tm", "ez", { waves, 0, 0 }, { 0, 0, 1 });
    }
    for (const auto& waves : std::vector<std::array<int, 3>>{
             { 1, 0, 0 }, { 2, 1, 0 }, { 3, 3, 0 }, { 1, 4, 0 }, { 0, 2, 0 } }) {
        check({ 20, 23 }, "tm", "ez", waves, { 0, 0, 1 });
        const double x = std::sin(pi * waves[0] / 20) / d[0],
                     y = std::sin(pi * waves[1] / 23) / d[1];
        check({ 20, 23 }, "te", waves[1] ? "ex" : "ey", waves, { y, -x, 0 });
    }
    for (const auto& waves : std::vector<std::array<int, 3>>{ { 1, 0, 0 },
                                                              { 2, 2, 0 },
                                                              { 1, 1, 1 },
                                                              { 3, 1, 2 },
                                                              { 0, 1, 3 },
                                                              { -2, 2, 1 } }) {
        vector3 k;
        const std::array<int64_t, 3> cells{ 12, 15, 13 };
        for (int a = 0; a < 3; ++a) {
            k[a] = 2 * pi * waves[a] / (double(cells[a]) * d[a]);
        }
        const auto amplitude = across(k, d);
        const int largest = int(std::max_element(amplitude.begin(),
                                                 amplitude.end(),
                                                 [](double a, double b) {
                                                     return std::abs(a) < std::abs(b);
                                                 }) -
                                amplitude.begin());
        check({ 12, 15, 13 }, "tm", std::string("e") + "xyz"[largest], waves, amplitude);
    }
}

BOOST_AUTO_TEST_CASE(a_wall_of_symmetry_halves_a_cavity)
{
    // A mode with E along z has its maximum in the middle plane of 20 cells. 10 cells
    // with a magnetic wall at either end have the same mode.
    const double d = 1e-3;
    const auto frequency = [&](std::vector<int64_t> cells,
                               std::array<fdtd_boundary, 2> across,
                               double shift) {
        fdtd_grid grid({ cells, { { d }, { d } }, { across, conducting } });
        grid.add_probe("ez", { 3, 3, 0 });
        return frequency_of<double>(
            grid, grid.system<double>(), 400, { d, d, 1 }, [&](int, const vector3& at) {
                return std::sin(pi * (at[0] / d + shift) / 20) *
                       std::sin(pi * at[1] / d / 8);
            });
    };
    const double truth = discrete_frequency({ pi / 20 / d, pi / 8 / d, 0 },
                                            { d, d, 1 },
                                            1 / (physics::c * std::sqrt(2.0) / d));
    const auto whole = frequency({ 20, 8 }, conducting, 0);
    BOOST_TEST(std::abs(whole / truth - 1) < 1e-9);
    const auto high = frequency({ 10, 8 }, { fdtd_boundary::pec, fdtd_boundary::pmc }, 0);
    BOOST_TEST(std::abs(high / truth - 1) < 1e-9);
    const auto low = frequency({ 10, 8 }, { fdtd_boundary::pmc, fdtd_boundary::pec }, 10);
    BOOST_TEST(std::abs(low / truth - 1) < 1e-9);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(energy_stays_for_a_hundred_thousand_steps, T, number_types)
{
    // The scheme keeps eps e[n] . e[n] + mu h[n - 1/2] . h[n + 1/2] exactly, which with
    // courant < 1 bounds the fields.
    fdtd_grid grid({ { 5, 6, 7 }, { { 1e-3 }, { 1e-3 }, { 1e-3 } }, {}, "tm", 0.99 });
    grid.add_probe("ez", { 2, 2, 2 });
    const auto system = grid.template system<T>();
    simulation<T> sim(system, sparse_format::dictionary, 4096);
    const auto energy = [&] {
        const auto state = sim.state();
        const auto& [first, matrix] = system.updates[1];
        double sum = 0;
        for (int64_t i = 0; i < first; ++i) {
            sum += double(state[i]) * double(state[i]);
        }
        for (int64_t row = 0; row < matrix.rows; ++row) {
            double change = 0;
            for (auto e = matrix.row_start[row]; e < matrix.row_start[row + 1]; ++e) {
                change += double(matrix.value[e]) * double(state[matrix.column[e]]);
            }
            const double now = state[first + row];
            sum += physics::impedance * physics::impedance * now * (now - change);
        }
        return sum;
    };
    auto state = gaussian<float>(size_t(system.size));
    std::vector<T> start(state.begin(), state.end());
    const auto& electric = system.updates[0].matrix;
    for (int64_t i = 0; i < electric.rows; ++i) {
        if (electric.row_start[i] == electric.row_start[i + 1]) {
            start[i] = 0;
        }
    }
    for (int64_t i = electric.rows; i < system.size; ++i) {
        start[i] = T(start[i] / physics::impedance);
    }
    sim.set(start);
    const double before = energy();
    sim.run(100000);
    BOOST_TEST(sim.status() == -1);
    BOOST_TEST(std::abs(energy() / before - 1) <
               (std::is_same_v<T, float> ? 2e-4 : 1e-11));
}

BOOST_AUTO_TEST_CASE(a_conductive_filling_lets_a_mode_decay_as_theory_says)
{
    // exp(-sigma t / (2 eps)), and the frequency sqrt(w0^2 - (sigma / 2 eps)^2).
    const double d = 1e-3, sigma = 0.1, eps_r = 2.5;
    fdtd_grid grid({ { 24 }, { { d } }, {}, "tm", 0.5 });
    grid.add_box({ 0 }, { 24 }, { eps_r, 1, sigma });
    grid.add_probe("ez", { 7 });
    const auto system = grid.system<double>();
    simulation<double> sim(system);
    std::vector<double> state(system.size);
    for (int64_t i = 1; i < 24; ++i) {
        state[i] = std::sin(pi * i / 24.0);
    }
    sim.set(state);
    const auto seen = sim.run(1500);
    const double dt = grid.time_step(), rate = sigma / (2 * physics::eps0 * eps_r);
    std::vector<double> undone;
    for (size_t n = 0; n < seen.size(); ++n) {
        undone.push_back(seen[n] * std::exp(rate * double(n) * dt));
    }
    // The undamped rest is a sinusoid, whose x[n]^2 - x[n-1] x[n+1] is constant.
    const auto size = [&](size_t n) {
        return undone[n] * undone[n] - undone[n - 1] * undone[n + 1];
    };
    BOOST_TEST(std::abs(size(1498) / size(10) - 1) < 5e-3);
    const double w0 = pi * physics::c / (24 * d * std::sqrt(eps_r));
    const double truth = std::sqrt(w0 * w0 - rate * rate) / (2 * pi);
    BOOST_TEST(std::abs(measured_frequency(undone, dt) / truth - 1) < 2e-3);
}
