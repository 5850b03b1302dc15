/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/cpu.h"
#include "kernels/common/parallel.h"
#include "kernels/fdtd/stepper/makers.h"
#include <algorithm>
#include <atomic>

namespace gr::cudaphy::kernels {
namespace {

// 4096 rows: a tile reads and writes 12 bytes a row in float, which stay in the first two
// levels of cache, beside those of neighbouring tiles.
constexpr int32_t tile_rows = 4096;
constexpr size_t tiles_a_part = 2;
// Handing half of an update to another core takes some 10 us. A tile takes one core 1 us
// in a dictionary, 3 to 6 us in other formats: the calling core alone is faster with so
// few.
constexpr size_t few_tiles = 6, few_tiles_of_a_dictionary = 16;

template <typename T>
class fdtd_stepper_cpu : public fdtd_stepper<T>
{
public:
    fdtd_stepper_cpu(const fdtd_system<T>& system,
                     const typename fdtd_stepper<T>::parameters& p)
        : d_format(p.format), d_max_steps(p.max_steps), d_sources(system.sources.size()),
          d_probes(system.probes.size()),
          d_plan(fdtd_plan<T>::make(system, p.format, tile_rows, fdtd_units::runs)),
          d_tables(pointers(d_plan.tables)), d_state(size_t(system.size))
    {
    }

    int64_t size() const override { return int64_t(d_state.size()); }
    size_t sources() const override { return d_sources; }
    size_t probes() const override { return d_probes; }
    size_t matrix_bytes() const override { return d_plan.matrix_bytes; }

    void run(view<const T> excitation,
             view<T> probes,
             view<int64_t> status,
             queue& queue) override
    {
        const auto steps = fdtd_stepper_check(
            *this, d_max_steps, excitation, probes, status, queue, backend::cpu);
        size_t good = 0;
        if (d_status < 0) {
            bool finite = true;
            for (; good < steps && finite; good += finite) {
                step({ d_state.data(),
                       excitation.data(),
                       probes.data(),
                       d_sources,
                       d_probes,
                       unsigned(good) },
                     finite);
            }
            if (!finite) {
                d_status = d_done + int64_t(good);
            } else if (!all_finite()) {
                d_status = d_done;
            }
        }
        std::fill(probes.begin() + good * d_probes, probes.end(), T(0));
        d_done += int64_t(steps);
        status[0] = d_status;
    }

    void get(int64_t first, view<T> values, queue&) const override
    {
        fdtd_stepper_check_range(size(), first, values.size());
        std::copy_n(d_state.begin() + first, values.size(), values.begin());
    }
    void set(int64_t first, view<const T> values, queue&) override
    {
        fdtd_stepper_check_range(size(), first, values.size());
        std::transform(values.begin(),
                       values.end(),
                       d_state.begin() + first,
                       [](T value) { return fdtd_settled(value); });
    }
    void gather(view<const int32_t> elements, view<T> values, queue&) const override
    {
        fdtd_stepper_check_gather(elements.size(), values.size());
        std::transform(
            elements.begin(), elements.end(), values.begin(), [&](int32_t element) {
                return element >= 0 && element < size() ? d_state[size_t(element)]
                                                        : fdtd_numbers<T>::nan;
            });
    }
    void reset(queue&) override
    {
        std::fill(d_state.begin(), d_state.end(), T(0));
        d_done = 0;
        d_status = -1;
    }

private:
    static fdtd_tables<T, fdtd_pointer> pointers(const fdtd_tables<T, fdtd_on_host>& host)
    {
        return { host.phases.data(),  host.tiles.data(),      host.words.data(),
                 host.runs.data(),    host.pieces.data(),     host.singles.data(),
                 host.numbers.data(), host.codes.data(),      host.pattern_entries.data(),
                 host.blocks.data(),  host.block_rows.data(), host.columns.data(),
                 host.values.data(),  host.row_start.data(),  host.diagonals.data(),
                 host.marks.data(),   host.sources.data(),    host.probes.data() };
    }

    //! \param[out] finite  false if a probe is not finite
    void step(const fdtd_step<T>& s, bool& finite)
    {
        const auto few =
            d_format == sparse_format::dictionary ? few_tiles_of_a_dictionary : few_tiles;
        for (const auto& phase : d_plan.tables.phases) {
            const fdtd_cpu_update<T> update{ &d_tables, phase, d_format, s.state };
            const auto tiles = size_t(phase.tiles_end - phase.tiles);
            for_each_part(
                tiles, tiles > few ? tiles_a_part : few, [&](size_t first, size_t last) {
                    fdtd_cpu_tiles(update,
                                   phase.tiles + int32_t(first),
                                   phase.tiles + int32_t(last));
                });
            // No row of an update reads another row's element, so sources may come after
            // all rows.
            fdtd_lane<T, sparse_format::crs, 1>(d_tables, 0, 1, 0, nullptr)
                .between(phase, s, 0, 1, [&] { finite = false; });
        }
    }

    bool all_finite() const
    {
        std::atomic<bool> finite{ true };
        for_each_part(d_state.size(), size_t{ 1 } << 16, [&](size_t first, size_t last) {
            if (!fdtd_cpu_finite(d_state.data() + first, last - first)) {
                finite = false;
            }
        });
        return finite;
    }

    const sparse_format d_format;
    const size_t d_max_steps, d_sources, d_probes;
    const fdtd_plan<T> d_plan;
    const fdtd_tables<T, fdtd_pointer> d_tables;
    std::vector<T> d_state;
    int64_t d_done = 0, d_status = -1;
};

} // namespace

CUDAPHY_FDTD_STEPPER_MAKERS(cpu)

} // namespace gr::cudaphy::kernels
