/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include "bench/fdtd/bench_sparse_host.h"
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/fdtd/bench_sparse_cuda.h"
#endif
#ifdef CUDAPHY_HAVE_CUSPARSE
#include "bench/fdtd/bench_sparse_cusparse.h"
#endif
#include <cstdio>
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>
#include <gnuradio/cudaphy/kernels/fdtd_stepper.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

using system_type = fdtd_system<float>;

system_type cavity(const fdtd_grid::index& cells, fdtd_boundary boundary)
{
    fdtd_grid::parameters p{ { cells[0], cells[1], cells[2] },
                             { { 1e-3 }, { 1e-3 }, { 1e-3 } } };
    p.boundary.assign(3, { boundary, boundary });
    fdtd_grid grid(p);
    grid.add_source("ez", { cells[0] / 2, cells[1] / 2, cells[2] / 2 });
    grid.add_probe("ez", { cells[0] / 2 + 3, cells[1] / 2, cells[2] / 2 });
    return grid.system<float>();
}

double cells_of(const fdtd_grid::index& cells)
{
    return double(cells[0]) * double(cells[1]) * double(cells[2]);
}

//! Bytes of the state that a time step must move: changed elements in and out; other
//! elements that the rows read, once an update.
double state_bytes(const system_type& system)
{
    double elements = 0;
    std::vector<bool> taken;
    for (const auto& [first, a] : system.updates) {
        taken.assign(size_t(system.size), false);
        for (int64_t row = 0; row < a.rows; ++row) {
            elements += a.row_start[row + 1] > a.row_start[row] ? 2 : 0;
            for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                const int64_t column = a.column[e];
                if (column != first + row && !taken[size_t(column)]) {
                    taken[size_t(column)] = true;
                    elements += 1;
                }
            }
        }
    }
    return elements * sizeof(float);
}

std::vector<float> noise(size_t count)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) { // the same again and again: drawing is slow
        values[i] = i < 99991 ? normal(engine) : values[i - 99991];
    }
    return values;
}

//! Seconds a time step takes in calls of `steps`.
double seconds_per_step(queue& q,
                        fdtd_stepper<float>& stepper,
                        const std::vector<float>& state,
                        size_t steps)
{
    const array<float> begin(q, view<const float>(state));
    const array<float> excitation(q, view<const float>(noise(steps * stepper.sources())));
    array<float> probes(q, steps * stepper.probes());
    array<int64_t> status(q, 1);
    stepper.set(0, begin, q);
    const double seconds = benchmarks::seconds_per_call(
        q, [&] { stepper.run(excitation, probes, status, q); });
    if (status.to_host()[0] >= 0) {
        std::printf("the field is not finite\n");
    }
    return seconds / double(steps);
}

struct lines {
    queue& q;
    const char* name;
    double cells, state_bytes, bandwidth;

    void print(const char* how,
               double seconds,
               double matrix_bytes,
               bool is_peer = false) const
    {
        const double bound = (state_bytes + matrix_bytes) / bandwidth;
        std::printf("%-10s %-16s %-15s %11.3f %10.3f %10.1f %11.3f %8.0f %%\n",
                    name_of(q.where()).c_str(),
                    name,
                    how,
                    1e6 * seconds,
                    1e-9 * cells / seconds,
                    1e-6 * matrix_bytes,
                    1e6 * bound,
                    100 * bound / seconds);
        benchmarks::record_sparse({ "FDTD",
                                    name_of(q.where()) + ", " + name,
                                    1e6 * seconds,
                                    "us a step",
                                    { 1e6 * bound,
                                      "the state's and the matrices' bytes at a "
                                      "copy's bandwidth" } },
                                  how,
                                  is_peer ? q.where() : backend::automatic);
    }
};

#ifdef CUDAPHY_HAVE_CUSPARSE
//! Both products, one after the other, in a CUDA graph.
void measure_cusparse(queue& q,
                      const system_type& system,
                      const std::vector<float>& begin,
                      const lines& line)
{
    array<float> state(q, view<const float>(begin));
    for (const bool sliced : { false, true }) {
        std::vector<std::unique_ptr<benchmarks::cusparse_product>> products;
        double bytes = 0;
        for (const auto& [first, a] : system.updates) {
            products.push_back(std::make_unique<benchmarks::cusparse_product>(
                q, a, state, state.all().part(size_t(first), size_t(a.rows)), sliced));
            bytes += double(products.back()->matrix_bytes());
        }
        line.print(sliced ? "cuSPARSE SELL" : "cuSPARSE CSR",
                   benchmarks::seconds_in_graph(q,
                                                [&] {
                                                    for (auto& each : products) {
                                                        each->run();
                                                    }
                                                }),
                   bytes,
                   true);
    }
}
#endif

//! Both products, one after the other, by scipy's loop.
void measure_scipy(queue& q,
                   const system_type& system,
                   const std::vector<float>& begin,
                   const lines& line)
{
    auto state = begin;
    std::vector<benchmarks::scipy_product> products;
    double bytes = 0;
    for (const auto& [first, a] : system.updates) {
        products.emplace_back(a);
        bytes += double(products.back().matrix_bytes());
    }
    line.print("scipy's loop",
               benchmarks::seconds_per_call(
                   q,
                   [&] {
                       for (size_t u = 0; u < products.size(); ++u) {
                           products[u].run(state.data(),
                                           state.data() + system.updates[u].first);
                       }
                   }),
               bytes,
               true);
}

void measure(queue& q,
             const char* name,
             const system_type& system,
             double cells,
             double bandwidth,
             size_t steps,
             const std::vector<sparse_format>& formats,
             bool peers)
{
    const auto state = noise(size_t(system.size));
    const lines line{ q, name, cells, state_bytes(system), bandwidth };
    for (const auto format : formats) {
        const auto stepper =
            fdtd_stepper<float>::make(system, { format, steps }, q.where(), q.device());
        line.print(name_of(format).c_str(),
                   seconds_per_step(q, *stepper, state, steps),
                   double(stepper->matrix_bytes()));
    }
    if (peers && q.where() == backend::cpu) {
        measure_scipy(q, system, state, line);
    }
#ifdef CUDAPHY_HAVE_CUSPARSE
    if (peers && q.where() == backend::cuda) {
        measure_cusparse(q, system, state, line);
    }
#endif
}

//! Source 5's table 5. The same system without entries, and with only the own element in
//! each row, shows the cost of waiting and of moving.
void measure_shares(queue& q, const system_type& system, size_t steps)
{
    auto empty = system, own = system;
    for (auto& [first, a] : empty.updates) {
        a.row_start.assign(size_t(a.rows) + 1, 0);
        a.column.clear();
        a.value.clear();
    }
    for (auto& [first, a] : own.updates) {
        a.column.resize(size_t(a.rows));
        a.value.assign(size_t(a.rows), -1e-6f);
        for (int64_t row = 0; row < a.rows; ++row) {
            a.row_start[row + 1] = row + 1;
            a.column[row] = int32_t(first + row);
        }
    }
    const auto state = noise(size_t(system.size));
    for (const auto format :
         { sparse_format::subdivided_crs, sparse_format::dictionary }) {
        const auto seconds = [&](const system_type& which) {
            const auto stepper = fdtd_stepper<float>::make(
                which, { format, steps }, q.where(), q.device());
            return seconds_per_step(q, *stepper, state, steps);
        };
        const double all = seconds(system), waiting = seconds(empty),
                     moving = seconds(own);
        std::printf("%-10s %-15s launching and waiting %.0f %%, own elements in and out "
                    "%.0f %%, neighbours and arithmetic %.0f %%\n",
                    name_of(q.where()).c_str(),
                    name_of(format).c_str(),
                    100 * waiting / all,
                    100 * (moving - waiting) / all,
                    100 * (all - moving) / all);
    }
}

} // namespace

//! Arguments: backends, parts, formats, cores=N, in any order.
int main(int argc, char** argv)
{
    const auto limit = benchmarks::take_cores(argc, argv);
    const auto chosen = benchmarks::take_words(argc, argv, { "small", "large", "cpml" });
    const auto asked = [&](const char* name) {
        return benchmarks::is_chosen(chosen, name);
    };
    const auto named = benchmarks::take_words( // formats
        argc,
        argv,
        { "crs", "subdivided_crs", "dictionary", "peers" });
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "float, a step is all updates; bound: the state's bytes that must move and "
        "the matrices', once a step, at the bandwidth of a copy\n"
        "(the small cavities and their matrices fit into caches, which are "
        "faster)\n");
    std::printf("%-10s %-16s %-15s %11s %10s %10s %11s %10s\n",
                "backend",
                "cavity",
                "format",
                "a step, us",
                "Gcells/s",
                "matrix MB",
                "bound us",
                "of bound");
    const std::vector<sparse_format> all{ sparse_format::crs,
                                          sparse_format::subdivided_crs,
                                          sparse_format::dictionary };
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        const bool cuda = where == backend::cuda;
        const auto measure_cavity = [&](const system_type& system,
                                        const fdtd_grid::index& cells,
                                        const std::string& name,
                                        size_t steps,
                                        const std::vector<sparse_format>& formats,
                                        bool peers) {
            std::vector<sparse_format> wanted;
            for (const auto format : formats) {
                if (benchmarks::is_chosen(named, name_of(format))) {
                    wanted.push_back(format);
                }
            }
            measure(*q,
                    name.c_str(),
                    system,
                    cells_of(cells),
                    bandwidth,
                    steps,
                    wanted,
                    peers && benchmarks::is_chosen(named, "peers"));
        };
        if (asked("small")) { // source 5's tables 3 to 5
            const size_t steps = cuda ? 1000 : 50;
            const fdtd_grid::index few{ 17, 19, 21 }, more{ 33, 37, 41 };
            const auto small = cavity(few, fdtd_boundary::pec);
            measure_cavity(small, few, "17 x 19 x 21", steps, all, true);
            measure_cavity(
                cavity(more, fdtd_boundary::pec), more, "33 x 37 x 41", steps, all, true);
            std::printf("where the time goes, 17 x 19 x 21\n");
            measure_shares(*q, small, steps);
        }
        // Larger than all caches.
        const int64_t side = cuda ? 256 : where == backend::cpu ? 128 : 64;
        const fdtd_grid::index many{ side, side, side };
        const auto cube = std::to_string(side) + "^3, ";
        if (asked("large")) {
            measure_cavity(cavity(many, fdtd_boundary::pec),
                           many,
                           cube + "pec",
                           cuda ? 20 : 2,
                           all,
                           true);
        }
        if (asked("cpml")) { // compressed rows and peers: as above
            measure_cavity(cavity(many, fdtd_boundary::cpml),
                           many,
                           cube + "cpml",
                           cuda ? 20 : 2,
                           { sparse_format::subdivided_crs, sparse_format::dictionary },
                           false);
        }
    }
}
