/* SPDX-License-Identifier: GPL-3.0-or-later */
// Emulates the CUDA kernel: each block is a thread of this machine. Tests the tables, how
// lanes walk through them, and how blocks wait for each other.
#define BOOST_TEST_MODULE fdtd_stepper_lanes
#include "kernels/fdtd/stepper/large.h"
#include "kernels/fdtd/stepper/qa_fdtd_stepper_systems.h"
#include <algorithm>
#include <atomic>
#include <boost/mpl/list.hpp>
#include <thread>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double>;

constexpr int warps = 3, rows_a_lane = 2;

template <typename T>
struct emulated {
    const fdtd_plan<T>& plan;
    fdtd_tables<T, fdtd_pointer> tables;
    int blocks;
    fdtd_neighbours neighbours; //!< empty: each block waits for all
    std::vector<std::atomic<unsigned>> flags;
    std::atomic<unsigned> counter{ 0 };

    emulated(const fdtd_system<T>& system, const fdtd_plan<T>& p, int b, bool next_ones)
        : plan(p), blocks(b), flags(size_t(b))
    {
        const auto& t = plan.tables;
        tables = { t.phases.data(),  t.tiles.data(),      t.words.data(),
                   t.runs.data(),    t.pieces.data(),     t.singles.data(),
                   t.numbers.data(), t.codes.data(),      t.pattern_entries.data(),
                   t.blocks.data(),  t.block_rows.data(), t.columns.data(),
                   t.values.data(),  t.row_start.data(),  t.diagonals.data(),
                   t.marks.data(),   t.sources.data(),    t.probes.data() };
        if (next_ones) {
            neighbours = fdtd_neighbours::find(system, plan, blocks);
        }
    }

    void wait(int block, unsigned done)
    {
        if (neighbours.start.empty()) {
            while (counter.load(std::memory_order_acquire) < done * unsigned(blocks)) {
                std::this_thread::yield();
            }
            return;
        }
        for (auto n = neighbours.start[block]; n < neighbours.start[block + 1]; ++n) {
            const auto& flag = flags[size_t(neighbours.neighbours[n])];
            while (flag.load(std::memory_order_acquire) < done) {
                std::this_thread::yield();
            }
        }
    }

    void arrive(int block, unsigned done)
    {
        if (neighbours.start.empty()) {
            counter.fetch_add(1, std::memory_order_release);
        } else {
            flags[block].store(done, std::memory_order_release);
        }
    }

    template <sparse_format Format>
    void run_block(int block, size_t steps, fdtd_step<T> step)
    {
        unsigned done = 0;
        std::vector<fdtd_pending<T>> pending(warps * 32, { -1, 0 });
        const auto ignore = [] {};
        for (; step.number < steps; ++step.number) {
            for (const auto& phase : plan.tables.phases) {
                wait(block, done);
                for (int l = 0; l < warps * 32; ++l) {
                    fdtd_fetched_mark<T> marks[rows_a_lane];
                    fdtd_lane<T, Format, rows_a_lane> lane(
                        tables, l / 32, warps, l % 32, marks);
                    if (!phase.between) {
                        lane.update(
                            phase, step, block, blocks, pending[l], ignore, ignore);
                    } else if (block == 0) {
                        lane.between(phase, step, l, warps * 32, ignore);
                    }
                }
                arrive(block, ++done);
                for (auto& each : pending) {
                    fdtd_lane<T, Format, rows_a_lane>(tables, 0, 1, 0, nullptr)
                        .write(step, each, ignore);
                }
            }
        }
    }

    //! Steps as the kernel for large systems does.
    template <fdtd_large_rows Rows>
    void run_large_block(int block, size_t steps, fdtd_step<T> step)
    {
        using lane_type = fdtd_large_lane<T, fdtd_plan<T>::piece_rows / 32, Rows>;
        const auto ignore = [] {};
        std::vector<lane_type> lanes;
        for (int l = 0; l < warps * 32; ++l) {
            lanes.emplace_back(tables, l / 32, warps, l % 32);
        }
        std::vector<typename lane_type::cursor> cursors(lanes.size());
        unsigned done = 0;
        for (; step.number < steps; ++step.number) {
            for (const auto& phase : plan.tables.phases) {
                const auto first = phase.tiles + block;
                for (size_t l = 0; first < phase.tiles_end && l < lanes.size(); ++l) {
                    cursors[l] = lanes[l].begin(first);
                }
                wait(block, done);
                for (auto t = first; t < phase.tiles_end; t += blocks) {
                    const auto coming = t + blocks < phase.tiles_end ? t + blocks : -1;
                    for (size_t l = 0; l < lanes.size(); ++l) {
                        lanes[l].update(cursors[l], coming, step.state);
                    }
                    if (plan.tables.tiles[t].rows & fdtd_marked) {
                        for (const auto& lane : lanes) {
                            lane.visit_marks(phase, plan.tables.tiles[t], step, ignore);
                        }
                    }
                }
                if (phase.between && block == 0) {
                    fdtd_lane<T, sparse_format::crs, 1>(tables, 0, 1, 0, nullptr)
                        .between(phase, step, 0, 1, ignore);
                }
                arrive(block, ++done);
            }
        }
    }

    void run_large(sparse_format format, size_t steps, const fdtd_step<T>& step)
    {
        const auto run = format == sparse_format::subdivided_crs
                             ? &emulated::run_large_block<fdtd_large_rows::own_values>
                         : plan.has_sequences
                             ? &emulated::run_large_block<fdtd_large_rows::sequences>
                             : &emulated::run_large_block<fdtd_large_rows::runs>;
        std::vector<std::thread> threads;
        for (int block = 0; block < blocks; ++block) {
            threads.emplace_back([=] { (this->*run)(block, steps, step); });
        }
        for (auto& thread : threads) {
            thread.join();
        }
    }

    void run(sparse_format format, size_t steps, const fdtd_step<T>& step)
    {
        std::vector<std::thread> threads;
        for (int block = 0; block < blocks; ++block) {
            threads.emplace_back([&, block] {
                switch (format) {
                case sparse_format::crs:
                    return run_block<sparse_format::crs>(block, steps, step);
                case sparse_format::subdivided_crs:
                    return run_block<sparse_format::subdivided_crs>(block, steps, step);
                case sparse_format::diagonal:
                    return run_block<sparse_format::diagonal>(block, steps, step);
                default:
                    return run_block<sparse_format::dictionary>(block, steps, step);
                }
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
    }
};

template <typename T>
void check(const fdtd_system<T>& system, sparse_format format, size_t steps)
{
    const auto start = gaussian<T>(size_t(system.size));
    const auto excitation = gaussian<T>(steps * system.sources.size());
    auto expected_state = start;
    const auto expected = stepped(system, steps, excitation, expected_state);
    const auto check = [&](emulated<T>& machine, const auto& run) {
        auto state = start;
        std::vector<T> probes(expected.size(), T(-1e30));
        run(machine,
            fdtd_step<T>{ state.data(),
                          excitation.data(),
                          probes.data(),
                          system.sources.size(),
                          system.probes.size(),
                          0 });
        BOOST_TEST((state == expected_state));
        BOOST_TEST((probes == expected));
    };
    for (const int32_t tile_rows : { 96, 4096, 8192 }) {
        const auto plan =
            fdtd_plan<T>::make(system, format, tile_rows, fdtd_units::words);
        for (const bool next_ones : { false, true }) {
            const int blocks = next_ones ? std::clamp(plan.most_tiles, 1, 12) : 3;
            emulated<T> machine(system, plan, blocks, next_ones);
            check(machine,
                  [&](auto& m, const auto& step) { m.run(format, steps, step); });
        }
        if (format == sparse_format::dictionary ||
            format == sparse_format::subdivided_crs) {
            const auto pieces =
                fdtd_plan<T>::make(system, format, tile_rows, fdtd_units::pieces);
            emulated<T> machine(system, pieces, 3, false);
            check(machine,
                  [&](auto& m, const auto& step) { m.run_large(format, steps, step); });
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_of_lanes_step_random_systems_as_written,
                              T,
                              number_types)
{
    if (tested_backend() != backend::cpu) {
        return; // independent of the backend
    }
    for (const auto format : { sparse_format::crs,
                               sparse_format::subdivided_crs,
                               sparse_format::dictionary }) {
        for (const int64_t size : { 2, 37, 3001 }) {
            for (const size_t updates : { 1, 4 }) {
                check(random_system<T>(size, updates), format, 5);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_of_lanes_step_grids_as_written, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto pec = fdtd_boundary::pec, cpml = fdtd_boundary::cpml;
    for (const auto& [cells, boundary] :
         { std::pair<fdtd_grid::index, fdtd_boundary>{ { 20, 19, 21 }, pec },
           { { 20, 19, 21 }, cpml },
           { { 9, 10, 300 }, pec } }) { // runs of whole pieces
        fdtd_grid::parameters p{ { cells[0], cells[1], cells[2] },
                                 { { 1e-3 }, { 1e-3 }, { 1e-3 } } };
        p.boundary.assign(3, { boundary, boundary });
        p.absorber.thickness = 4;
        fdtd_grid grid(p);
        grid.add_box({ 2, 2, 5 }, { 5, 6, cells[2] - 3 }, { 2.5, 1, 0.1, {}, false });
        grid.add_source("ez", { 6, 6, 10 });
        grid.add_probe("ez", { 6, 7, 12 });
        grid.add_probe("hx", { 7, 5, 11 });
        const auto system = grid.template system<T>();
        check(system, sparse_format::dictionary, 4);
        check(system, sparse_format::subdivided_crs, 4);
        if (boundary == fdtd_boundary::pec) {
            check(system, sparse_format::diagonal, 5);
        }
    }
}

//! Two updates whose rows repeat after 70. The 70 rows are one long run and short runs of
//! 0 to `most` entries a row.
template <typename T>
fdtd_system<T> repeating_system(int64_t most)
{
    constexpr int64_t period = 70, run = 30, rows = 50 * period, reach = 200;
    std::uniform_real_distribution<double> value(-0.1, 0.1);
    fdtd_system<T> system;
    system.size = 2 * rows;
    for (const int64_t first : { int64_t{ 0 }, rows }) {
        std::vector<std::vector<std::pair<int64_t, T>>> patterns(period - run + 1);
        for (int64_t p = 0; p < int64_t(patterns.size()); ++p) {
            for (auto count = p % 7 == 5 ? 0 : 1 + any_of(most); count > 0; --count) {
                patterns[p].push_back(
                    { any_of(2 * reach) - reach, T(value(generator())) });
            }
        }
        std::vector<int64_t> row, column;
        std::vector<T> values;
        for (int64_t i = 0; i < rows; ++i) {
            for (const auto& [offset, v] :
                 patterns[std::max<int64_t>(0, i % period - run)]) {
                if (i + offset >= 0 && i + offset < rows) {
                    row.push_back(i), values.push_back(v);
                    column.push_back(rows - first + i + offset);
                }
            }
        }
        system.updates.push_back(
            { first,
              sparse_matrix<T>::from_triplets(rows,
                                              system.size,
                                              view<const int64_t>(row),
                                              view<const int64_t>(column),
                                              view<const T>(values)) });
    }
    system.sources = { { 1300, 0, T(0.5), false }, { 105, 0, T(2), true } };
    system.probes = { { 1301, T(1) }, { rows + 106, T(3) } };
    system.validate();
    return system;
}

//! The share of the rows with entries that lie in pieces with common entries.
template <typename T>
double shared_rows(const fdtd_system<T>& system, int32_t tile_rows)
{
    const auto plan = fdtd_plan<T>::make(
        system, sparse_format::dictionary, tile_rows, fdtd_units::pieces);
    double rows = 0, all = 0;
    for (const auto& [first, a] : system.updates) {
        for (int64_t i = 0; i < a.rows; ++i) {
            all += a.row_start[i + 1] > a.row_start[i];
        }
    }
    for (const auto& piece : plan.tables.pieces) {
        rows += piece.code && piece.rows >> 16
                    ? (double(piece.rows >> 8 & 255) - double(piece.rows & 255)) *
                          double(piece.values >> 24)
                    : 0;
    }
    return rows / all;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(short_runs_that_repeat_share_their_entries, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const int64_t most : { 3, 6, 9 }) {
        const auto system = repeating_system<T>(most);
        check(system, sparse_format::dictionary, 3);
        // 39 of 70 rows share, fewer at the ends of the state. 6 of the 39 are empty rows
        // between others.
        BOOST_TEST(shared_rows(system, 4096) > 0.5);
        BOOST_TEST(shared_rows(system, 96) > 0.5);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(layers_along_the_last_axis_share_their_entries,
                              T,
                              number_types)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    fdtd_grid::parameters p{ { 9, 70, 21 }, { { 1e-3 }, { 1e-3 }, { 1e-3 } } };
    p.boundary = { conducting, conducting, absorbing };
    p.absorber.thickness = 5;
    fdtd_grid grid(p);
    grid.add_source("ez", { 4, 35, 10 });
    grid.add_probe("ex", { 4, 40, 2 });
    const auto system = grid.template system<T>();
    check(system, sparse_format::dictionary, 4);
    check(system, sparse_format::subdivided_crs, 4);
    // Layers cover 10 of 21 planes of 4 components, and of psi as much.
    BOOST_TEST(shared_rows(system, 4096) > 0.4);
}

BOOST_AUTO_TEST_CASE(tiles_that_read_the_same_elements_are_next_to_each_other)
{
    fdtd_grid grid({ { 16, 64, 64 }, { { 1e-3 }, { 1e-3 }, { 1e-3 } } });
    const auto system = grid.system<float>();
    const auto& a = system.updates[0].matrix;
    constexpr int32_t tile_rows = 1024;
    const auto order = fdtd_tile_order(a, tile_rows);
    const auto tiles = (a.rows + tile_rows - 1) / tile_rows;
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int32_t i = 0; i < tiles; ++i) {
        BOOST_TEST(sorted[i] == i);
    }
    // Tiles between the first and the last that read a stretch of the state.
    std::vector<int> first(size_t(a.columns / tile_rows + 1), -1), span(first.size());
    for (int i = 0; i < int(order.size()); ++i) {
        const auto end = std::min<int64_t>(a.rows, int64_t(order[i] + 1) * tile_rows);
        for (auto e = a.row_start[int64_t(order[i]) * tile_rows]; e < a.row_start[end];
             ++e) {
            const auto stretch = a.column[e] / tile_rows;
            first[stretch] = first[stretch] < 0 ? i : first[stretch];
            span[stretch] = i - first[stretch];
        }
    }
    BOOST_TEST(*std::max_element(span.begin(), span.end()) < tiles / 5);
}
