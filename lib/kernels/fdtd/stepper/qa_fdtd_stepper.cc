/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE fdtd_stepper
#include "kernels/common/fused_testing.h"
#include "kernels/fdtd/stepper/makers.h"
#include "kernels/fdtd/stepper/qa_fdtd_stepper_systems.h"
#include <boost/mpl/list.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <limits>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double>;

const std::vector<sparse_format> formats{ sparse_format::crs,
                                          sparse_format::subdivided_crs,
                                          sparse_format::dictionary,
                                          sparse_format::diagonal };

//! The same bits. The reference computes in double precision, and some CPUs round
//! products: these two are compared with a tolerance.
template <typename T>
void check_same(const std::vector<T>& found, const std::vector<T>& expected)
{
    BOOST_REQUIRE_EQUAL(found.size(), expected.size());
    double largest = 1;
    for (const auto value : expected) {
        largest = std::max(largest, std::abs(double(value)));
    }
    const bool exact = tested_backend() == backend::cuda ||
                       (tested_backend() == backend::cpu && cpu_fuses_multiply_adds());
    const double tolerance =
        exact ? 0 : largest * 1e4 * std::numeric_limits<T>::epsilon();
    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        wrong += !(std::abs(found[i] - expected[i]) <= tolerance);
    }
    BOOST_TEST(wrong == 0u);
}

//! \param banded  false: the diagonal format may refuse it
template <typename T>
void check_system(const fdtd_system<T>& system,
                  size_t steps,
                  bool banded,
                  const std::vector<sparse_format>& tested_formats = formats)
{
    auto expected_state = gaussian<T>(size_t(system.size));
    const auto start = expected_state;
    const auto excitation = gaussian<T>(steps * system.sources.size());
    const auto expected = stepped(system, steps, excitation, expected_state);
    for (const auto format : tested_formats) {
        BOOST_TEST_CONTEXT("format " << name_of(format))
        {
            std::unique_ptr<simulation<T>> tested;
            try {
                tested = std::make_unique<simulation<T>>(system, format, 5);
            } catch (const std::invalid_argument& problem) {
                BOOST_TEST((!banded && format == sparse_format::diagonal));
                BOOST_TEST(std::string(problem.what()).find("eight times") !=
                           std::string::npos);
                continue;
            }
            tested->set(start);
            check_same(tested->run(steps, excitation), expected);
            BOOST_TEST(tested->status() == -1);
            check_same(tested->state(), expected_state);
        }
    }
}

template <typename T>
fdtd_system<T> grid_system(std::vector<int64_t> cells,
                           std::array<fdtd_boundary, 2> boundary)
{
    fdtd_grid grid({ cells,
                     std::vector<std::vector<double>>(cells.size(), { 1e-3 }),
                     { cells.size(), boundary } });
    grid.add_box({ 1, 2, 3 }, { 6, 5, 8 }, { 2.5, 1, 0.1, {}, false });
    grid.add_source("ez", { 4, 4, 4 });
    grid.add_probe("ez", { cells[0] - 3, 5, 5 });
    grid.add_probe("hx", { 5, 5, cells[2] / 2 });
    return grid.template system<T>();
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(random_systems_step_as_written, T, number_types)
{
    for (const int64_t size : { 2, 37, 500, 9001 }) {
        for (const size_t updates : { 1, 2, 5 }) {
            BOOST_TEST_CONTEXT("size " << size << ", " << updates << " updates")
            {
                check_system(random_system<T>(size, updates), 7, false);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(grids_step_as_written, T, number_types)
{
    for (const auto boundary : { fdtd_boundary::pec, fdtd_boundary::cpml }) {
        check_system(grid_system<T>({ 30, 33, 35 }, { boundary, boundary }),
                     12,
                     boundary == fdtd_boundary::pec);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(grids_beyond_the_caches_step_as_written, T, number_types)
{
    if (tested_backend() != backend::cuda) {
        return; // other backends step large systems as small ones
    }
    for (const auto boundary : { fdtd_boundary::pec, fdtd_boundary::cpml }) {
        // More than 4096 rows for every block that a GPU holds at once.
        const auto system = grid_system<T>({ 60, 62, 130 }, { boundary, boundary });
        check_system(system,
                     4,
                     false,
                     { sparse_format::dictionary, sparse_format::subdivided_crs });
    }
}

#ifdef CUDAPHY_HAVE_CUDA
BOOST_AUTO_TEST_CASE_TEMPLATE(tiles_of_every_size_step_large_systems_as_written,
                              T,
                              number_types)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    // Systems of tens of millions of rows have tiles of 8192 rows, and many tiles a
    // block. Here few blocks take many tiles each.
    for (const auto boundary : { fdtd_boundary::pec, fdtd_boundary::cpml }) {
        const auto system = grid_system<T>({ 41, 43, 97 }, { boundary, boundary });
        const size_t steps = 5;
        const auto start = gaussian<T>(size_t(system.size));
        const auto excitation = gaussian<T>(steps * system.sources.size());
        auto expected_state = start;
        const auto expected = stepped(system, steps, excitation, expected_state);
        for (const auto format :
             { sparse_format::dictionary, sparse_format::subdivided_crs }) {
            for (const fdtd_large_shape& shape :
                 { fdtd_large_shape{ 8192, 7 }, { 8192, 0 }, { 4096, 3 }, { 1024, 1 } }) {
                BOOST_TEST_CONTEXT(name_of(format) << ", tiles of " << shape.tile_rows
                                                   << " rows, blocks " << shape.blocks)
                {
                    simulation<T> tested(
                        make_fdtd_stepper_cuda<T>(system, { format, 3 }, 0, shape), 3);
                    tested.set(start);
                    check_same(tested.run(steps, excitation), expected);
                    BOOST_TEST(tested.status() == -1);
                    check_same(tested.state(), expected_state);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(two_steps_a_pass_over_memory_are_steps_as_written,
                              T,
                              number_types)
{
    if (tested_backend() != backend::cuda) {
        return;
    }
    const auto pec = fdtd_boundary::pec, pmc = fdtd_boundary::pmc,
               cpml = fdtd_boundary::cpml;
    const std::pair<std::vector<int64_t>, std::array<fdtd_boundary, 2>> cases[] = {
        { { 41, 43, 97 }, { pec, pec } },
        { { 9, 130, 31 }, { pec, pmc } },
        { { 65, 47, 70 }, { cpml, cpml } },
        { { 30, 64, 128 }, { pec, cpml } },
    };
    for (const auto& [cells, boundary] : cases) {
        const auto system = grid_system<T>(cells, boundary);
        const auto make = [&](bool two_steps) {
            return make_fdtd_stepper_cuda<T>(
                system, { sparse_format::dictionary, 11 }, 0, { 4096, 0, two_steps });
        };
        simulation<T> tested(make(true), 11);
        // The tables of such a pass come on top of the others.
        BOOST_TEST(tested.stepper().matrix_bytes() > make(false)->matrix_bytes());
        auto expected_state = gaussian<T>(size_t(system.size));
        tested.set(expected_state);
        for (const size_t steps : { 4, 1, 6, 11, 8, 3 }) {
            const auto excitation = gaussian<T>(steps * system.sources.size());
            const auto expected = stepped(system, steps, excitation, expected_state);
            check_same(tested.run(steps, excitation), expected);
            BOOST_TEST(tested.status() == -1);
            check_same(tested.state(), expected_state);
        }
        // A probe that is not finite is found in its step.
        std::vector<T> excitation(9 * system.sources.size());
        excitation[6] = std::numeric_limits<T>::infinity();
        tested.set(gaussian<T>(size_t(system.size)));
        tested.run(9, excitation);
        const auto status = tested.status();
        simulation<T> plain(make(false), 11);
        plain.set(gaussian<T>(size_t(system.size)));
        plain.run(33);
        plain.run(9, excitation);
        BOOST_TEST(status >= 33);
        BOOST_TEST(status == plain.status());
    }
}
#endif

BOOST_AUTO_TEST_CASE(a_system_larger_than_the_device_says_how_much_fits)
{
    const auto text = fdtd_stepper_memory_error(
        size_t(9) << 30, size_t(6) << 30, (size_t(8) << 30) + 5);
    for (const char* part : { "takes 9216 MiB", "6144 of 8192 MiB", "66 %" }) {
        BOOST_TEST(text.find(part) != std::string::npos, text);
    }
}

BOOST_AUTO_TEST_CASE(a_dictionary_of_a_uniform_grid_takes_hardly_any_memory)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    fdtd_grid grid({ { 40, 40, 64 }, { { 1e-3 }, { 1e-3 }, { 1e-3 } } });
    const auto system = grid.system<float>();
    const auto bytes = [&](sparse_format format) {
        return double(simulation<float>(system, format).stepper().matrix_bytes());
    };
    BOOST_TEST(bytes(sparse_format::dictionary) < bytes(sparse_format::crs) / 30);
    BOOST_TEST(bytes(sparse_format::subdivided_crs) < bytes(sparse_format::crs));
}

BOOST_AUTO_TEST_CASE(how_steps_are_shared_out_over_calls_does_not_matter)
{
    const auto pec = fdtd_boundary::pec;
    for (const auto& [system, format] :
         { std::pair{ random_system<float>(3000, 3), sparse_format::subdivided_crs },
           std::pair{ grid_system<float>({ 14, 15, 16 }, { pec, pec }),
                      sparse_format::dictionary } }) {
        const auto excitation = gaussian<float>(40 * system.sources.size());
        simulation<float> one(system, format, 40), other(system, format, 7);
        for (int again = 0; again < 3; ++again) {
            BOOST_TEST(one.run(40, excitation) == other.run(40, excitation));
            BOOST_TEST(one.state() == other.state());
            const auto state = gaussian<float>(size_t(system.size));
            one.set(state), other.set(state);
        }
    }
}

BOOST_AUTO_TEST_CASE(after_a_reset_all_is_as_at_the_start)
{
    const auto system =
        grid_system<float>({ 12, 12, 12 }, { fdtd_boundary::pec, fdtd_boundary::pec });
    const auto excitation = gaussian<float>(20);
    simulation<float> tested(system);
    const auto first = tested.run(20, excitation);
    tested.stepper().reset(tested.q());
    BOOST_TEST(tested.run(20, excitation) == first);
    tested.stepper().reset(tested.q());
    BOOST_TEST(tested.state() == std::vector<float>(size_t(tested.size())));
}

namespace {

//! One element grows by 2^64 a step and has a probe. Another grows without a probe.
fdtd_system<float> growing(bool probed)
{
    const std::vector<int64_t> zero{ 0 };
    const std::vector<float> factor{ 0x1p64f };
    fdtd_system<float> system;
    system.size = 3;
    system.updates.push_back(
        { probed ? 0 : 1,
          sparse_matrix<float>::from_triplets(1,
                                              3,
                                              view<const int64_t>(zero),
                                              std::vector<int64_t>{ probed ? 0 : 1 },
                                              view<const float>(factor)) });
    system.probes.push_back({ 0, 1 });
    return system;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_probe_that_grows_without_bound_ends_in_zeros)
{
    simulation<float> tested(growing(true), sparse_format::dictionary, 4);
    tested.set({ 1, 1, 1 });
    const auto probes = tested.run(1);
    BOOST_TEST(probes[0] == 0x1p64f);
    BOOST_TEST(tested.status() == -1);
    // In double precision, too: the second step leaves 2^128.
    BOOST_TEST(tested.run(3) == std::vector<float>(3));
    BOOST_TEST(tested.status() == 1);
    BOOST_TEST(tested.run(2) == std::vector<float>(2));
    BOOST_TEST(tested.status() == 1);
    tested.stepper().reset(tested.q());
    BOOST_TEST(tested.run(2) == std::vector<float>(2));
    BOOST_TEST(tested.status() == -1);
}

BOOST_AUTO_TEST_CASE(a_field_that_grows_where_no_probe_is_shows_at_the_end_of_a_call)
{
    for (const auto format : formats) {
        simulation<float> tested(growing(false), format, 4);
        tested.set({ 5, 1, 1 });
        tested.run(1);
        BOOST_TEST(tested.status() == -1);
        BOOST_TEST(tested.run(4) == std::vector<float>(4, 5.0f));
        BOOST_TEST(tested.status() == 1);
        BOOST_TEST(tested.run(1) == std::vector<float>(1));
        BOOST_TEST(tested.status() == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_nan_in_the_state_or_the_excitation_is_caught)
{
    const float nan = std::numeric_limits<float>::quiet_NaN();
    simulation<float> tested(growing(false));
    tested.set({ 0, 0, nan });
    tested.run(1);
    BOOST_TEST(tested.status() == 0);

    const auto system =
        grid_system<float>({ 12, 12, 12 }, { fdtd_boundary::pec, fdtd_boundary::pec });
    simulation<float> driven(system);
    const auto probes = driven.run(8, { 1, 0, nan, 0, 0, 0, 0, 0 });
    BOOST_TEST(driven.status() >= 0);
    for (const auto value : probes) {
        BOOST_TEST(std::isfinite(value));
    }
}

BOOST_AUTO_TEST_CASE(fields_below_the_smallest_normal_number_are_zero)
{
    if (tested_backend() == backend::reference) {
        return;
    }
    fdtd_system<float> system;
    system.size = 300;
    std::vector<int64_t> all(300);
    std::vector<float> loss(300, -0.5f);
    for (size_t i = 0; i < all.size(); ++i) {
        all[i] = int64_t(i);
    }
    system.updates.push_back(
        { 0, sparse_matrix<float>::from_triplets(300, 300, all, all, loss) });
    system.probes.push_back({ 299, 1 });
    for (const auto format : formats) {
        simulation<float> tested(system, format);
        tested.set(std::vector<float>(300, 0x1p-125f));
        BOOST_TEST(tested.run(2) == (std::vector<float>{ 0x1p-126f, 0 }));
        BOOST_TEST(tested.state() == std::vector<float>(300));
    }
}

BOOST_AUTO_TEST_CASE(planes_are_gathered)
{
    simulation<double> tested(random_system<double>(100, 1));
    const auto state = gaussian<double>(100);
    tested.set(state);
    auto& q = tested.q();
    const std::vector<int32_t> elements{ 5, 99, 0, 100, 5, -1 };
    array<int32_t> there(q, view<const int32_t>(elements));
    auto values = poisoned<double>(q, elements.size());
    tested.stepper().gather(there, values, q);
    const auto found = values.to_host();
    for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i] < 0 || elements[i] > 99) {
            BOOST_TEST(std::isnan(found[i]));
        } else {
            BOOST_TEST(found[i] == state[size_t(elements[i])]);
        }
    }
    BOOST_CHECK_THROW(tested.stepper().gather(there, values.all().part(0, 1), q),
                      std::invalid_argument);
    BOOST_CHECK_THROW(tested.stepper().get(95, values, q), std::invalid_argument);
    BOOST_CHECK_THROW(tested.stepper().set(-1, values, q), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(systems_without_rows_sources_or_probes_step)
{
    for (const auto format : formats) {
        fdtd_system<float> empty;
        simulation<float> nothing(empty, format);
        BOOST_TEST(nothing.run(0).empty());
        BOOST_TEST(nothing.status() == -1);

        empty.size = 3;
        empty.probes.push_back({ 2, 2 });
        simulation<float> constant(empty, format);
        constant.set({ 1, 2, 3 });
        BOOST_TEST(constant.run(2) == (std::vector<float>{ 6, 6 }));

        empty.updates.push_back({ 1, {} });
        empty.updates[0].matrix.columns = 3;
        empty.sources.push_back({ 2, 0, 1, false });
        simulation<float> driven(empty, format);
        BOOST_TEST(driven.run(2, { 1, 2 }) == (std::vector<float>{ 2, 6 }));
    }
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_refused)
{
    const auto system = random_system<float>(50, 2);
    auto q = queue::make(tested_backend());
    const auto stepper =
        fdtd_stepper<float>::make(system, { sparse_format::crs, 3 }, tested_backend());
    array<float> in(*q, 100 * system.sources.size());
    array<float> out(*q, 100 * system.probes.size());
    array<int64_t> status(*q, 2);
    const auto run = [&](size_t excitation, size_t probes, size_t states) {
        stepper->run(view<const float>(in.all()).part(0, excitation),
                     out.all().part(0, probes),
                     status.all().part(0, states),
                     *q);
    };
    const auto s = system.sources.size(), p = system.probes.size();
    BOOST_CHECK_THROW(run(4 * s, 4 * p, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(3 * s, 2 * p, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(3 * s - 1, 3 * p, 1), std::invalid_argument);
    BOOST_CHECK_THROW(run(3 * s, 3 * p, 2), std::invalid_argument);
    for (const auto format : { sparse_format::ccs, sparse_format::bcrs }) {
        BOOST_CHECK_THROW(
            fdtd_stepper<float>::make(system, { format, 3 }, tested_backend()),
            std::invalid_argument);
    }
    BOOST_CHECK_THROW(
        fdtd_stepper<float>::make(system, { sparse_format::crs, 0 }, tested_backend()),
        std::invalid_argument);
}
