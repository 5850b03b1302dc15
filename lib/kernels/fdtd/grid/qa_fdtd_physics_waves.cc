/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fdtd_physics_waves
#include "kernels/fdtd/stepper/qa_fdtd_run.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>

// Waves that leave, are reflected, and are radiated.

using namespace gr::cudaphy;
using namespace gr::cudaphy::testing;

namespace {

constexpr double d = 1e-3;

//! The amplitude that the absorbing end of a guide reflects, relative to the incident
//! one. The guide is 16 cells wide. Its mode is two plane waves at an angle whose sine is
//! the cut-off over f. Mode 0 runs straight ahead between periodic faces.
template <typename T>
double reflection(int mode, double f, fdtd_absorber absorber = {})
{
    constexpr int64_t width = 16, source = 30, probe = 40;
    const size_t steps = 1500;
    const auto seen = [&](int64_t length) {
        const auto sides = mode == 0 ? repeating : conducting;
        fdtd_grid grid({ { length, width },
                         { { d }, { d } },
                         { absorbing, sides },
                         "tm",
                         0.95,
                         0,
                         absorber });
        std::vector<double> profile;
        for (int64_t j = mode == 0 ? 0 : 1; j < width; ++j) {
            grid.add_source("ez", { source, j });
            profile.push_back(mode == 0 ? 1 : std::sin(mode * pi * double(j) / width));
        }
        grid.add_probe("ez", { probe, 5 });
        const auto shape = pulse(f, 0.06);
        std::vector<T> excitation;
        for (size_t n = 0; n < steps; ++n) {
            for (const double part : profile) {
                excitation.push_back(
                    T(part * shape((double(n) + 0.5) * grid.time_step())));
            }
        }
        simulation<T> sim(grid.template system<T>());
        return std::make_pair(sim.run(steps, excitation), grid.time_step());
    };
    // No reflection from the long guide's far end arrives within the steps.
    const auto [alone, dt] = seen(40 + int64_t(steps));
    auto difference = seen(60).first;
    for (size_t n = 0; n < steps; ++n) {
        difference[n] -= alone[n];
    }
    return std::abs(spectrum(difference, f, dt)) / std::abs(spectrum(alone, f, dt));
}

double decibels(double ratio) { return 20 * std::log10(ratio); }

} // namespace

BOOST_AUTO_TEST_CASE(absorbing_layers_reflect_little)
{
    const double straight = decibels(reflection<double>(0, 15e9));
    BOOST_TEST_MESSAGE("normal incidence: " << straight << " dB");
    BOOST_TEST(straight < -60);
    // Mode 2 of 16 cells: cut off at 18.7 GHz, at 45 degrees at sqrt(2) of that.
    const double f45 = 2 * physics::c / (2 * 16 * d) * std::sqrt(2.0);
    const double slanted = decibels(reflection<double>(2, f45));
    BOOST_TEST_MESSAGE("45 degrees: " << slanted << " dB");
    BOOST_TEST(slanted < -40);
}

BOOST_AUTO_TEST_CASE(layers_graded_otherwise_absorb_too)
{
    const double f45 = 2 * physics::c / (2 * 16 * d) * std::sqrt(2.0);
    BOOST_TEST(decibels(reflection<double>(2, f45, { 8, 4, 1.1, 3, 0.1 })) < -50);
}

BOOST_AUTO_TEST_CASE(float_absorbs_as_well)
{
    BOOST_TEST(decibels(reflection<float>(0, 15e9)) < -60);
}

BOOST_AUTO_TEST_CASE(thin_or_weak_layers_reflect_what_they_must)
{
    // Theory says exp(-2 sigma_max thickness 377 / (order + 1)). The time step makes the
    // reflection a little less. This test shows that the measurement finds weak layers.
    fdtd_absorber weak;
    weak.sigma = 0.2;
    weak.alpha = 0;
    const double expected = std::exp(-2 * 0.2 * 0.8 * 10);
    const double seen = reflection<double>(0, 15e9, weak);
    BOOST_TEST(seen > 0.5 * expected);
    BOOST_TEST(seen < expected);
}

namespace {

//! Reflection and transmission of what fills cells 150 ... `end` of a line of 500 cells
//! of half a millimetre, at frequency f.
struct scattering {
    std::complex<double> reflected, transmitted;
};
std::vector<scattering> through(const fdtd_material& material,
                                int64_t end,
                                const std::vector<double>& frequencies)
{
    constexpr double cell = 0.5e-3;
    const auto seen = [&](bool filled) {
        fdtd_grid grid({ { 500 }, { { cell } }, { absorbing }, "tm", 0.9 });
        if (filled) {
            grid.add_box({ 150 }, { end }, material);
        }
        grid.add_source("ez", { 50 });
        grid.add_probe("ez", { 150 });
        grid.add_probe("ez", { end < 500 ? end : 490 });
        simulation<double> sim(grid.system<double>());
        return std::make_pair(sim.run(9000, grid.time_step(), pulse(6e9)),
                              grid.time_step());
    };
    const auto [with, dt] = seen(true);
    const auto [without, same] = seen(false);
    std::vector<scattering> all;
    for (const double f : frequencies) {
        const auto incident = spectrum(column(without, 2, 0), f, dt);
        all.push_back({ spectrum(column(with, 2, 0), f, dt) / incident - 1.0,
                        spectrum(column(with, 2, 1), f, dt) / incident });
    }
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_dielectric_slab_reflects_and_transmits_by_fresnel)
{
    const std::vector<double> frequencies{ 3e9, 4.5e9, 6e9, 7.5e9, 9e9 };
    fdtd_material glass;
    glass.eps_r = 4;
    glass.mu_r = 1;
    const auto seen = through(glass, 170, frequencies);
    for (size_t i = 0; i < frequencies.size(); ++i) {
        const double k = 2 * pi * frequencies[i] / physics::c, n = 2, length = 10e-3;
        const double r = (1 - n) / (1 + n);
        const auto round_trip = std::polar(1.0, -2 * k * n * length);
        const auto reflected = r * (1.0 - round_trip) / (1.0 - r * r * round_trip);
        const auto transmitted =
            (1 - r * r) * std::polar(1.0, -k * n * length) / (1.0 - r * r * round_trip);
        BOOST_TEST(std::abs(std::abs(seen[i].reflected) - std::abs(reflected)) < 0.01);
        BOOST_TEST(std::abs(std::abs(seen[i].transmitted) / std::abs(transmitted) - 1) <
                   0.01);
        BOOST_TEST(std::norm(seen[i].reflected) + std::norm(seen[i].transmitted) == 1,
                   boost::test_tools::tolerance(2e-3));
    }
}

BOOST_AUTO_TEST_CASE(half_spaces_reflect_as_their_permittivity_says)
{
    const std::vector<double> frequencies{ 2e9, 4e9, 6e9, 8e9, 10e9 };
    const auto check = [&](const fdtd_material& material) {
        const auto seen = through(material, 500, frequencies);
        for (size_t i = 0; i < frequencies.size(); ++i) {
            const double w = 2 * pi * frequencies[i];
            std::complex<double> eps(material.eps_r,
                                     -material.sigma / (w * physics::eps0));
            for (const auto& pole : material.poles) {
                eps += pole.delta_eps / std::complex<double>(1, w * pole.relaxation_time);
            }
            const auto n = std::sqrt(eps / material.mu_r) * material.mu_r;
            const auto impedance = material.mu_r / n;
            const auto truth = (impedance - 1.0) / (impedance + 1.0);
            BOOST_TEST_CONTEXT(frequencies[i])
            {
                BOOST_TEST(std::abs(seen[i].reflected - truth) < 0.01);
            }
        }
    };
    fdtd_material water; // at 25 degrees, scaled down to suit coarse cells
    water.eps_r = 1.8;
    water.poles = { { 6, 8.3e-12 }, { 1.5, 40e-12 } };
    check(water);
    water.poles = { { 4, 0.8e-12 } }; // shorter than a time step
    check(water);
    fdtd_material wet;
    wet.eps_r = 3;
    wet.sigma = 0.6;
    check(wet);
    fdtd_material ferrite;
    ferrite.eps_r = 1.5;
    ferrite.mu_r = 4;
    check(ferrite);
}

BOOST_AUTO_TEST_CASE(a_short_dipole_radiates_as_hertz_says)
{
    // Near and far field at once, 8 and 11 cells away (2 and 2.8 rad at 12 GHz), along
    // and across the dipole.
    constexpr int64_t n = 40, middle = 20;
    fdtd_absorber thin;
    thin.thickness = 8;
    fdtd_grid grid({ { n, n, n },
                     { { d }, { d }, { d } },
                     { absorbing, absorbing, absorbing },
                     "tm",
                     1,
                     0,
                     thin });
    grid.add_source("ez", { middle, middle, middle }, fdtd_source_kind::current);
    for (const int64_t r : { 8, 11 }) {
        grid.add_probe("ez", { middle + r, middle, middle });
        grid.add_probe("ez", { middle, middle - r, middle });
        grid.add_probe("ez", { middle, middle, middle + r });
    }
    const double f = 12e9, dt = grid.time_step(), k = 2 * pi * f / physics::c;
    const auto current = pulse(f);
    simulation<double> sim(grid.system<double>());
    const auto seen = sim.run(350, dt, current);
    std::vector<double> moment;
    for (size_t s = 0; s < 350; ++s) {
        moment.push_back(d * current((double(s) + 0.5) * dt));
    }
    // A probe is read at the end of a step, half a step after the current's time.
    const auto late = std::polar(1.0, -pi * f * dt);
    for (size_t i = 0; i < 6; ++i) {
        const double r = (i < 3 ? 8 : 11) * d;
        const std::complex<double> jkr(0, k * r), one(1);
        const auto wave = physics::impedance / (4 * pi * r) * std::exp(-jkr);
        const auto across = -wave * jkr / r * (one + one / jkr + one / (jkr * jkr));
        const auto along = 2.0 * wave / r * (one + one / jkr);
        const auto ratio =
            spectrum(column(seen, 6, i), f, dt) * late / spectrum(moment, f, dt);
        const auto truth = i % 3 == 2 ? along : across;
        BOOST_TEST_MESSAGE("r = " << r << ": " << ratio / truth);
        BOOST_TEST_CONTEXT("probe " << i)
        {
            BOOST_TEST(std::abs(ratio / truth - 1.0) < 0.035);
        }
    }
}

BOOST_AUTO_TEST_CASE(two_ports_are_reciprocal)
{
    // Between the ports stand graded cells, a brick with loss and memory, a wire, and
    // layers.
    const auto far_voltage = [&](bool swapped) {
        const std::vector<double> x{ 1e-3,   1e-3,   1e-3,   1e-3,   0.9e-3, 0.8e-3,
                                     0.7e-3, 0.7e-3, 0.8e-3, 0.9e-3, 1e-3,   1e-3,
                                     1e-3,   1e-3,   1e-3,   1e-3 };
        fdtd_absorber thin;
        thin.thickness = 4;
        fdtd_grid grid({ { 16, 15, 14 },
                         { x, { 1e-3 }, { 1.1e-3 } },
                         { absorbing, conducting, absorbing },
                         "tm",
                         1,
                         0,
                         thin });
        fdtd_material brick;
        brick.eps_r = 2;
        brick.sigma = 0.02;
        brick.poles = { { 2, 10e-12 } };
        grid.add_box({ 7, 3, 4 }, { 10, 9, 9 }, brick);
        grid.add_conductor({ 6, 5, 8 }, { 6, 11, 8 });
        const double r[] = { 50, 75 };
        const auto a = grid.add_dipole("ez", { 5, 4, 6 }, 3, r[0], !swapped);
        const auto b = grid.add_port("ey", { 11, 9, 5 }, r[1], swapped);
        simulation<double> sim(grid.system<double>());
        auto seen = column(
            sim.run(500, grid.time_step(), pulse(12e9)), 2, swapped ? a.probe : b.probe);
        for (auto& value : seen) {
            value /= r[swapped ? 0 : 1];
        }
        return seen;
    };
    const auto forth = far_voltage(false), back = far_voltage(true);
    double most = 0, difference = 0;
    for (size_t i = 0; i < forth.size(); ++i) {
        most = std::max(most, std::abs(forth[i]));
        difference = std::max(difference, std::abs(forth[i] - back[i]));
    }
    BOOST_TEST(most > 1e-6);
    BOOST_TEST(difference / most < 1e-9);
}
