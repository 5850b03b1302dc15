/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/fdtd/grid/rows.h"
#include <algorithm>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <unistd.h>

namespace gr::cudaphy::kernels {
namespace {

//! Bytes of main memory, or what the process' control group may have of it.
double main_memory()
{
    double bytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    std::ifstream file("/sys/fs/cgroup/memory.max");
    double most;
    if (file >> most) {
        bytes = std::min(bytes, most);
    }
    return bytes;
}

//! Runs fill(row number, row) twice: to count, and to keep.
template <typename T, typename Fill>
sparse_matrix<T> matrix_of(int64_t rows, int64_t columns, const Fill& fill)
{
    constexpr size_t grain = 4096;
    sparse_matrix<T> a;
    a.rows = rows;
    a.columns = columns;
    a.row_start.assign(rows + 1, 0);
    for_each_part(rows, grain, [&](size_t first, size_t last) {
        fdtd_row row;
        for (size_t i = first; i < last; ++i) {
            fill(i, row);
            a.row_start[i + 1] = int64_t(row.size());
        }
    });
    for (int64_t i = 0; i < rows; ++i) {
        a.row_start[i + 1] += a.row_start[i];
    }
    a.column.resize(a.entries());
    a.value.resize(a.entries());
    for_each_part(rows, grain, [&](size_t first, size_t last) {
        fdtd_row row;
        for (size_t i = first; i < last; ++i) {
            fill(i, row);
            auto place = a.row_start[i];
            for (const auto& [column, value] : row) {
                a.column[place] = int32_t(column);
                a.value[place++] = T(value);
            }
        }
    });
    return a;
}

void check_room(int64_t elements, int64_t cells, size_t bytes_of_number)
{
    // At most five entries a row on the average, a row's beginning, and the state.
    const double needed =
        double(elements) * (5.0 * (4 + bytes_of_number) + 8 + bytes_of_number);
    const double room = main_memory();
    const auto text = [](double bytes) {
        return std::to_string(int64_t(bytes / 1e9 + 0.5)) + " GB";
    };
    if (needed > room) {
        throw std::runtime_error(
            "fdtd_grid: the matrices of " + std::to_string(cells) + " cells take " +
            text(needed) + ", this machine has " + text(room) + ": about " +
            std::to_string(int64_t(double(cells) * room / needed)) + " cells fit");
    }
    if (elements > std::numeric_limits<int32_t>::max()) {
        throw std::runtime_error(
            "fdtd_grid: fields, absorbing layers and polarisation are " +
            std::to_string(elements) + " numbers; the matrices count to 2^31 - 1");
    }
}

} // namespace

template <typename T>
fdtd_system<T> fdtd_grid::system() const
{
    const auto& m = *d_model;
    const auto cells = m.axes[0].cells * m.axes[1].cells * m.axes[2].cells;
    check_room(size(), cells, sizeof(T));
    const fdtd_grid_rows rows(m);
    check_room(rows.size, cells, sizeof(T));

    fdtd_system<T> made;
    made.size = rows.size;
    made.time_step = m.time_step;
    made.largest_time_step = m.limit;
    const auto add = [&](const fdtd_grid_rows::run& run, auto fill) {
        if (run.rows > 0) {
            made.updates.push_back(
                { run.first,
                  matrix_of<T>(run.rows, rows.size, [&](int64_t i, fdtd_row& row) {
                      (rows.*fill)(i, row);
                  }) });
        }
    };
    add(rows.electric, &fdtd_grid_rows::electric_row);
    add(rows.electric_memory, &fdtd_grid_rows::electric_memory_row);
    const auto magnetic = made.updates.size();
    add(rows.magnetic, &fdtd_grid_rows::magnetic_row);
    add(rows.magnetic_memory, &fdtd_grid_rows::magnetic_memory_row);

    for (const auto& load : m.loads) {
        if (rows.conducting(load.component, load.cell)) {
            throw std::invalid_argument("fdtd_grid: a port stands in a conductor");
        }
    }
    for (size_t i = 0; i < m.sources.size(); ++i) {
        const auto& [component, cell, kind, resistance] = m.sources[i];
        if (rows.conducting(component, cell)) {
            throw std::invalid_argument("fdtd_grid: source " + std::to_string(i) +
                                        " drives " + fdtd_component_name(component) +
                                        " in or along a conductor, where it is always 0");
        }
        double coefficient = 1;
        if (kind == fdtd_source_kind::current) {
            coefficient = rows.electric_gain(component, cell) /
                          rows.edge_area(component, cell) *
                          (resistance > 0 ? 1 / resistance : -1);
        }
        made.sources.push_back({ m.element(component, cell),
                                 fdtd_is_electric(component) ? 0 : magnetic,
                                 T(coefficient),
                                 kind == fdtd_source_kind::hard });
    }
    size_t loops = 0;
    for (const auto& [component, cell, loop, port] : m.probes) {
        if (loop) {
            made.probes.push_back({ rows.loop_element(loops++), T(1) });
        } else {
            made.probes.push_back({ m.element(component, cell),
                                    port ? T(rows.edge_length(component, cell)) : T(1) });
        }
    }
    return made;
}

template fdtd_system<float> fdtd_grid::system<float>() const;
template fdtd_system<double> fdtd_grid::system<double>() const;

} // namespace gr::cudaphy::kernels
