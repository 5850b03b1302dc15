/* SPDX-License-Identifier: GPL-3.0-or-later */
// Emulates the CUDA kernel for small systems. Its threads run one at a time, in orders
// that a GPU would hardly find. Tests the proof of its tables too.
#define BOOST_TEST_MODULE fdtd_stepper_onchip
#include "kernels/fdtd/stepper/onchip_lane.h"
#include "kernels/fdtd/stepper/partition.h"
#include "kernels/fdtd/stepper/qa_fdtd_stepper_systems.h"
#include <algorithm>
#include <boost/mpl/list.hpp>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using number_types = boost::mpl::list<float, double>;

constexpr int rows = 2, imports = 4;
constexpr fdtd_onchip_limits room(int phases)
{
    return { 4096, rows, imports, phases, 1 << 20 };
}

//! The words that blocks publish. Reading checks that no stamp is from a later phase.
struct outside_words {
    std::vector<uint64_t>* words;
    uint32_t wanted;
    bool* overrun;

    uint64_t read(size_t at) const
    {
        *overrun = *overrun || int32_t(uint32_t((*words)[at] >> 32) - wanted) > 0;
        return (*words)[at];
    }
    void write(size_t at, uint64_t value) const { (*words)[at] = value; }
    template <typename T>
    void ask_for(T* to, const T* from) const
    {
        *to = *from;
    }
    void wait() const {}
};

//! Which threads go first.
enum class order { random, one_block_late, one_block_early, one_thread_late };

//! Runs blocks of threads, one thread at a time.
template <typename T, int Phases>
class machine
{
public:
    machine(const fdtd_onchip_plan<T>& plan, uint32_t base, order how)
        : d_plan(plan), d_how(how), d_base(base), d_blocks(size_t(plan.blocks)),
          // Words of earlier calls have stamps up to this call's base, and any values.
          d_words(size_t(plan.words) * 2, uint64_t(base) << 32 | 0x7fc00001)
    {
        const auto& t = plan.tables;
        d_tables = { t.blocks.data(), t.parts.data(),   t.elements.data(),
                     t.rows.data(),   t.imports.data(), t.specials.data(),
                     t.rest.data(),   t.marks.data(),   t.sources.data(),
                     t.probes.data() };
        const T poison = std::numeric_limits<T>::quiet_NaN();
        for (int b = 0; b < plan.blocks; ++b) {
            d_blocks[b].local.assign(size_t(plan.places), poison);
            d_blocks[b].drives.assign(size_t(plan.drives), poison);
            for (int t = 0; t < plan.threads; ++t) {
                d_blocks[b].threads.push_back(
                    { lane_type(d_tables, b, plan.blocks, t, plan.threads), {}, 0, 0 });
            }
        }
    }

    //! False if threads wait for each other without end, or a value was lost.
    bool run(unsigned steps, const fdtd_step<T>& step)
    {
        d_steps = steps;
        d_left = size_t(d_plan.blocks) * size_t(d_plan.threads);
        const int favoured = int(any_of(d_plan.blocks));
        const int late = int(any_of(d_plan.threads));
        while (d_left > 0) {
            bool moved = false;
            const auto shift = any_of(d_plan.blocks);
            for (int i = 0; i < d_plan.blocks; ++i) {
                const int b = int((i + shift) % d_plan.blocks);
                if (d_how == order::one_block_late && b == favoured) {
                    continue;
                }
                if (d_how == order::random && any_of(3)) {
                    continue;
                }
                moved =
                    go_on(b, step, d_how == order::one_thread_late ? late : -1) || moved;
                while (d_how == order::one_block_early && go_on(favoured, step, -1)) {
                    moved = true;
                }
            }
            // If no other thread can move, move the late or left-out ones.
            if (!moved) {
                if (d_how == order::one_block_late) {
                    moved = go_on(favoured, step, -1);
                } else {
                    for (int b = 0; b < d_plan.blocks; ++b) {
                        moved = go_on(b, step, -1) || moved;
                    }
                }
            }
            if (!moved || d_overrun) {
                return false;
            }
        }
        return true;
    }

private:
    using lane_type = fdtd_onchip_lane<T, Phases, rows, imports>;
    enum stage { beginning, taking, waiting, working, ending, finished };
    struct thread {
        lane_type lane;
        unsigned missing;
        int at;         //!< stage
        unsigned phase; //!< of the call
    };
    struct block {
        std::vector<thread> threads;
        std::vector<T> local, drives;
    };

    //! Moves each thread but `late` by a stage, in any order. False if no thread could
    //! move.
    bool go_on(int b, const fdtd_step<T>& step, int late)
    {
        auto& here = d_blocks[b];
        bool moved = false;
        const auto shift = any_of(d_plan.threads), sign = any_of(2) ? 1 : -1;
        for (int i = 0; i < d_plan.threads; ++i) {
            const auto t = (shift + sign * i + d_plan.threads) % d_plan.threads;
            if (t != late) {
                moved = go_on(here, here.threads[size_t(t)], b, step) || moved;
            }
        }
        return moved;
    }

    bool all_at(const block& here, int at) const
    {
        return std::all_of(here.threads.begin(),
                           here.threads.end(),
                           [&](const thread& each) { return each.at == at; });
    }

    bool go_on(block& here, thread& self, int b, fdtd_step<T> step)
    {
        step.number = self.phase / Phases;
        const int p = int(self.phase % Phases);
        const auto stamp = d_base + self.phase;
        switch (self.at) {
        case beginning:
            self.lane.begin(step,
                            outside_words{ &d_words, stamp, &d_overrun },
                            here.local.data(),
                            here.drives.data(),
                            b,
                            d_plan.blocks);
            self.at = waiting;
            ++d_loaded;
            return true;
        case taking: {
            const outside_words words{ &d_words, stamp, &d_overrun };
            const auto before = self.missing;
            self.missing =
                self.lane.take(p, stamp, words, here.local.data(), self.missing);
            if (self.missing == 0) {
                self.at = waiting;
            }
            return self.missing != before || self.missing == 0;
        }
        case waiting:
            if (!all_at(here, waiting)) {
                return false;
            }
            for (auto& each : here.threads) {
                each.at = working;
            }
            return true;
        case working: {
            const outside_words words{ &d_words, stamp, &d_overrun };
            self.lane.update(p,
                             step,
                             step.number + 1 < d_steps,
                             stamp + 1,
                             words,
                             here.local.data(),
                             here.drives.data(),
                             [] {});
            ++self.phase;
            if (self.phase == d_steps * Phases) {
                self.at = ending;
            } else {
                self.missing = self.lane.imports(int(self.phase % Phases));
                self.at = taking;
            }
            return true;
        }
        case ending:
            if (d_loaded < d_blocks.size() * size_t(d_plan.threads) ||
                std::any_of(
                    here.threads.begin(), here.threads.end(), [](const thread& each) {
                        return each.at != ending && each.at != finished;
                    })) {
                return false;
            }
            self.lane.end(step.state, here.local.data());
            self.at = finished;
            --d_left;
            return true;
        default:
            return false;
        }
    }

    const fdtd_onchip_plan<T>& d_plan;
    const order d_how;
    const uint32_t d_base;
    fdtd_onchip_tables<T, fdtd_pointer> d_tables;
    std::vector<block> d_blocks;
    std::vector<uint64_t> d_words;
    unsigned d_steps = 0;
    size_t d_left = 0, d_loaded = 0;
    bool d_overrun = false;
};

template <typename T, int Phases>
bool run_machine(const fdtd_onchip_plan<T>& plan,
                 uint32_t base,
                 order how,
                 unsigned steps,
                 const fdtd_step<T>& step)
{
    return machine<T, Phases>(plan, base, how).run(steps, step);
}

template <typename T>
bool run_machine(const fdtd_onchip_plan<T>& plan,
                 uint32_t base,
                 order how,
                 unsigned steps,
                 const fdtd_step<T>& step)
{
    switch (plan.phases) {
    case 1:
        return run_machine<T, 1>(plan, base, how, steps, step);
    case 2:
        return run_machine<T, 2>(plan, base, how, steps, step);
    case 3:
        return run_machine<T, 3>(plan, base, how, steps, step);
    case 4:
        return run_machine<T, 4>(plan, base, how, steps, step);
    case 5:
        return run_machine<T, 5>(plan, base, how, steps, step);
    default:
        return run_machine<T, 6>(plan, base, how, steps, step);
    }
}

template <typename T>
fdtd_onchip_plan<T> plan_for(const fdtd_system<T>& system, int blocks)
{
    const auto plan =
        fdtd_plan<T>::make(system, sparse_format::dictionary, 4096, fdtd_units::words);
    const auto phases = int(plan.tables.phases.size());
    const auto found = fdtd_onchip_plan<T>::make(system, plan, blocks, room(phases));
    BOOST_REQUIRE(found.has_value());
    BOOST_REQUIRE(found->blocks == blocks);
    return *found;
}

constexpr order orders[] = {
    order::random, order::one_block_late, order::one_block_early, order::one_thread_late
};

template <typename T>
void check(const fdtd_system<T>& system, unsigned steps, int blocks)
{
    const auto plan = plan_for(system, blocks);
    BOOST_TEST(plan.proved());
    const auto start = gaussian<T>(size_t(system.size));
    const auto excitation = gaussian<T>(steps * system.sources.size());
    auto expected_state = start;
    const auto expected = stepped(system, steps, excitation, expected_state);
    for (const auto how : orders) {
        auto state = start;
        std::vector<T> probes(expected.size(), T(-1e30));
        const uint32_t base = any_of(2) ? uint32_t(any_of(1000)) : uint32_t(-any_of(9));
        BOOST_TEST(run_machine(plan,
                               base,
                               how,
                               steps,
                               { state.data(),
                                 excitation.data(),
                                 probes.data(),
                                 system.sources.size(),
                                 system.probes.size(),
                                 0 }));
        BOOST_TEST((state == expected_state));
        BOOST_TEST((probes == expected));
    }
}

//! A pair [RH], [RE] with random columns: some rows are long, and many are empty.
template <typename T>
fdtd_system<T> hostile_pair(int64_t size)
{
    const int64_t electric = size / 2;
    fdtd_system<T> system;
    system.size = size;
    for (int u = 0; u < 2; ++u) {
        const int64_t first = u ? electric : 0, count = u ? size - electric : electric;
        const int64_t other = u ? 0 : electric, others = size - count;
        std::vector<int64_t> row, column;
        std::vector<T> values;
        const auto far = any_of(2);
        for (int64_t i = 0; i < count; ++i) {
            for (auto entries = any_of(3) ? any_of(7) : 0; entries > 0; --entries) {
                row.push_back(i);
                // Rows mostly read elements nearby, as a grid's rows do.
                column.push_back(other +
                                 (far ? any_of(others) : (i + any_of(8)) % others));
                values.push_back(T(0.1) * T(any_of(9) - 4));
            }
        }
        system.updates.push_back(
            { first,
              sparse_matrix<T>::from_triplets(count,
                                              size,
                                              view<const int64_t>(row),
                                              view<const int64_t>(column),
                                              view<const T>(values)) });
    }
    for (int i = 0; i < 6; ++i) {
        const size_t after = size_t(i % 2);
        system.sources.push_back(
            { after ? electric + any_of(size - electric) : any_of(electric),
              after,
              T(1 + i),
              i == 3 });
        system.probes.push_back({ any_of(size), T(2) });
    }
    system.validate();
    return system;
}

template <typename T>
fdtd_system<T> cavity(const fdtd_grid::index& cells, fdtd_boundary boundary)
{
    fdtd_grid::parameters p{ { cells[0], cells[1], cells[2] },
                             { { 1e-3 }, { 1e-3 }, { 1e-3 } } };
    p.boundary.assign(3, { boundary, boundary });
    p.absorber.thickness = 3;
    fdtd_grid grid(p);
    grid.add_box({ 2, 2, 5 }, { 5, 6, cells[2] - 3 }, { 2.5, 1, 0.1, {}, false });
    grid.add_source("ez", { 4, 4, 4 });
    grid.add_source("hx", { 5, 4, 4 });
    grid.add_probe("ez", { 4, 5, 5 });
    grid.add_probe("hx", { 5, 5, 4 });
    grid.add_probe("ex", { 5, 0, 4 }); // on a wall
    return grid.template system<T>();
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(cavities_step_as_written_in_any_order, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return; // once is enough
    }
    for (const auto boundary : { fdtd_boundary::pec, fdtd_boundary::cpml }) {
        for (const int blocks : { 1, 2, 7, 20 }) {
            check(cavity<T>({ 9, 10, 11 }, boundary), 5, blocks);
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(hostile_pairs_step_as_written_in_any_order, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const int64_t size : { 2, 3, 40, 400 }) {
        for (int i = 0; i < 6; ++i) {
            check(hostile_pair<T>(size), 6, int(1 + any_of(9)));
        }
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(any_systems_step_as_written_in_any_order, T, number_types)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    for (const int64_t size : { 2, 37, 500 }) {
        for (const size_t updates : { 1, 2, 3 }) {
            for (int i = 0; i < 3; ++i) {
                check(random_system<T>(size, updates), 4, int(1 + any_of(6)));
            }
        }
    }
}

namespace {

//! The first field fades by itself, and only the second field reads it. Writers of the
//! first field have no data to wait for from its readers.
fdtd_system<float> one_way(int64_t size)
{
    fdtd_system<float> system;
    system.size = 2 * size;
    std::vector<int64_t> own(size), row, column;
    for (int64_t i = 0; i < size; ++i) {
        own[size_t(i)] = i;
        for (int64_t j = std::max<int64_t>(0, i - 2); j <= i; ++j) {
            row.push_back(i), column.push_back(j);
        }
    }
    system.updates.push_back(
        { 0,
          sparse_matrix<float>::from_triplets(
              size, 2 * size, own, own, std::vector<float>(own.size(), -0.25f)) });
    system.updates.push_back(
        { size,
          sparse_matrix<float>::from_triplets(
              size, 2 * size, row, column, std::vector<float>(row.size(), 0.5f)) });
    return system;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_words_for_waiting_values_are_lost_and_the_proof_knows)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto system = one_way(40);
    check(system, 6, 2);
    auto plan = plan_for(system, 2);
    int waits = 0;
    for (auto& part : plan.tables.parts) { // the waits stand last
        while (part.imports_end > part.imports &&
               plan.tables.imports[size_t(part.imports_end) - 1].element < 0) {
            --part.imports_end;
            ++waits;
        }
    }
    BOOST_TEST(waits == 1);
    BOOST_TEST(!plan.proved());
    bool lost = false;
    for (int i = 0; i < 64 && !lost; ++i) { // the reader is late in half of them
        auto state = gaussian<float>(size_t(system.size));
        lost = !run_machine(plan,
                            0,
                            order::one_block_late,
                            6,
                            fdtd_step<float>{ state.data(), nullptr, nullptr, 0, 0, 0 });
    }
    BOOST_TEST(lost);
}

BOOST_AUTO_TEST_CASE(tables_that_are_wrong_are_not_proved)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto good = plan_for(cavity<float>({ 9, 10, 11 }, fdtd_boundary::pec), 5);
    BOOST_TEST(good.proved());
    const auto first = [&](int phase) {
        return size_t(good.tables.parts[size_t(phase) * 5].imports);
    };
    const auto row = [&](int phase, int number) {
        return size_t(good.tables.parts[size_t(phase) * 5].rows + number);
    };
    auto bad = good; // waits for a word that the other phase publishes
    bad.tables.imports[first(0)].word = good.tables.imports[first(1)].word;
    BOOST_TEST(!bad.proved());
    bad = good; // two rows of one element
    bad.tables.rows[row(1, 1)].own = good.tables.rows[row(1, 0)].own;
    BOOST_TEST(!bad.proved());
    bad = good; // reads an element that another row changes
    bad.tables.rows[row(0, 0)].index[0] = good.tables.rows[row(0, 1)].own;
    BOOST_TEST(!bad.proved());
    bad = good; // reads an element that is imported for the next phase
    bad.tables.rows[row(0, 0)].index[0] = uint16_t(good.tables.parts[5].place);
    BOOST_TEST(!bad.proved());
    bad = good; // one word that two blocks write
    auto& rows_of_all = bad.tables.rows;
    const auto end = size_t(bad.tables.parts[0].rows_end);
    const auto published =
        std::find_if(rows_of_all.begin(), rows_of_all.end(), [](const auto& each) {
            return each.word >= 0 && !(each.shape & fdtd_onchip_row<float>::special);
        });
    const auto other = std::find_if(
        rows_of_all.begin() + int64_t(end), rows_of_all.end(), [](const auto& each) {
            return each.word >= 0 && !(each.shape & fdtd_onchip_row<float>::special);
        });
    other->word = published->word;
    BOOST_TEST(!bad.proved());
}

BOOST_AUTO_TEST_CASE(systems_that_do_not_fit_have_no_plan)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    const auto system = cavity<float>({ 9, 10, 11 }, fdtd_boundary::pec);
    const auto plan = fdtd_plan<float>::make(
        system, sparse_format::dictionary, 4096, fdtd_units::words);
    const auto fits = [&](const fdtd_onchip_limits& limits) {
        return fdtd_onchip_plan<float>::make(system, plan, 4, limits).has_value();
    };
    const auto found = plan_for(system, 4);
    BOOST_TEST(fits({ found.threads, rows, imports, 2, int64_t(found.shared_bytes()) }));
    BOOST_TEST(!fits({ found.threads - 32, 1, imports, 2, 1 << 20 }));
    BOOST_TEST(!fits({ 4096, rows, imports, 3, 1 << 20 }));
    BOOST_TEST(!fits({ 4096, rows, imports, 2, int64_t(found.shared_bytes()) - 1 }));
    BOOST_TEST(!fits({ 32, rows, 1, 2, 1 << 20 }));
}

BOOST_AUTO_TEST_CASE(a_cavity_is_shared_out_evenly_in_compact_parts)
{
    if (tested_backend() != backend::cpu) {
        return;
    }
    fdtd_grid grid({ { 17, 19, 21 }, { { 1e-3 }, { 1e-3 }, { 1e-3 } } });
    const auto system = grid.system<float>();
    const auto plan = plan_for(system, 132);
    int32_t most_rows = 0;
    int64_t taken = 0;
    for (const auto& part : plan.tables.parts) {
        most_rows = std::max(most_rows, part.rows_end - part.rows);
        taken += part.imports_end - part.imports;
    }
    BOOST_TEST(most_rows < 180);                 // 155 on the average
    BOOST_TEST(double(taken) / 132 / 2 < 100.0); // boxes would take 83
}
