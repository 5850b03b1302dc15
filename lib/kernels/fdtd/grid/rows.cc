/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/grid/rows.h"
#include <algorithm>
#include <stdexcept>

namespace gr::cudaphy::kernels {

using namespace physics;

void fdtd_row::sort()
{
    for (size_t i = 1; i < d_size; ++i) {
        for (size_t j = i; j > 0 && d_entries[j].first < d_entries[j - 1].first; --j) {
            std::swap(d_entries[j], d_entries[j - 1]);
        }
    }
    // A periodic axis of one cell has its neighbour in itself.
    size_t kept = 0;
    for (size_t i = 0; i < d_size; ++i) {
        if (kept && d_entries[kept - 1].first == d_entries[i].first) {
            d_entries[kept - 1].second += d_entries[i].second;
        } else {
            d_entries[kept++] = d_entries[i];
        }
    }
    d_size = kept;
}

fdtd_grid_rows::fdtd_grid_rows(const fdtd_grid::model& model) : m(model)
{
    int64_t fields[2] = { 0, 0 };
    for (int component = 0; component < 6; ++component) {
        if (m.has(component)) {
            d_present.push_back(component);
            fields[fdtd_is_electric(component) ? 0 : 1] += m.points;
        }
    }
    electric = { 0, fields[0] };
    magnetic = { fields[0], fields[1] };
    mark_conductors();
    place_memories();
}

std::pair<int, fdtd_index> fdtd_grid_rows::place_of(int64_t element) const
{
    const auto point = element % m.points, z = m.axes[2].stored, y = m.axes[1].stored;
    return { d_present[element / m.points], { point / z / y, point / z % y, point % z } };
}

bool fdtd_grid_rows::inside(int component, const fdtd_index& at) const
{
    for (int a = 0; a < 3; ++a) {
        if (fdtd_is_half(component, a) && at[a] >= m.axes[a].cells) {
            return false;
        }
    }
    return true;
}

bool fdtd_grid_rows::conducting(int component, const fdtd_index& at) const
{
    if (!fdtd_is_electric(component)) {
        return false;
    }
    for (int a = 0; a < 3; ++a) {
        if (!fdtd_is_half(component, a) && at[a] == 0 && m.axes[a].conductor_below()) {
            return true;
        }
    }
    return !d_conducting.empty() && d_conducting[m.element(component, at)];
}

int fdtd_grid_rows::other(int component, int axis) const
{
    if (axis == fdtd_axis_of(component) || !m.axes[axis].active) {
        return -1;
    }
    const int third = 3 - axis - fdtd_axis_of(component);
    const int found = third + (fdtd_is_electric(component) ? 3 : 0);
    return m.has(found) ? found : -1;
}

const fdtd_stretch& fdtd_grid_rows::stretch(int component, int axis, int64_t at) const
{
    const auto& line = m.axes[axis];
    return (fdtd_is_half(component, axis) ? line.half : line.node)[at];
}

// The difference of the other component along the axis, over the distance, times
// `factor`: for E at a node from the halves either side, for H at a half from the nodes.
void fdtd_grid_rows::derivative(
    int component, int axis, const fdtd_index& at, double factor, fdtd_row& row) const
{
    const auto& line = m.axes[axis];
    const int from = other(component, axis);
    const auto add = [&](int64_t place, double value) {
        auto there = at;
        there[axis] = place;
        row.add(m.element(from, there), value);
    };
    const auto i = at[axis];
    if (fdtd_is_half(component, axis)) {
        const double value = factor / line.spacing[i];
        add(i, -value);
        if (i + 1 < line.stored) {
            add(i + 1, value);
        } else if (line.periodic()) {
            add(0, value);
        }
    } else {
        const double value = factor / line.dual[i];
        if (i < line.cells) {
            add(i, value);
        }
        if (i > 0) {
            add(i - 1, -value);
        } else if (line.periodic()) {
            add(line.cells - 1, -value);
        }
    }
}

void fdtd_grid_rows::curl(int component,
                          const fdtd_index& at,
                          double gain,
                          fdtd_row& row) const
{
    for (int turn = 1; turn <= 2; ++turn) {
        const int axis = (fdtd_axis_of(component) + turn) % 3;
        if (other(component, axis) < 0) {
            continue;
        }
        const double signed_gain = turn == 1 ? gain : -gain;
        const auto& s = stretch(component, axis, at[axis]);
        derivative(component, axis, at, signed_gain * (1 / s.kappa + s.gain), row);
        if (s.slot >= 0) {
            // psi is still that of the last time step; the new one is
            // decay psi + gain D.
            row.add(memory_element(component, axis, s.slot, at), signed_gain * s.decay);
        }
    }
}

// A pole's polarisation P, (tau d/dt + 1) P = delta_eps E, steps as P' = a P + b E + c
// E'. Kept is w = P + (b / a) E, for which w' = a w + (b / a + c) E': no old E is asked
// for. Ampere's law, eps_r (E' - E) + P' - P + ... = dt / eps0 curl H, then reads
//   below (E' - E) = -(dt sigma / eps0 + sum (b / a + c)) E + sum (1 - a) w + dt / eps0
//   curl H
// with below = eps_r + dt sigma / (2 eps0) + sum c.
void fdtd_grid_rows::electric_row(int64_t number, fdtd_row& row) const
{
    const auto [component, at] = place_of(number);
    row.clear();
    if (!inside(component, at) || conducting(component, at)) {
        return;
    }
    const auto here = edge_at(component, at);
    const double below = denominator(component, at, here);
    double own = -m.time_step / eps0 * (here.sigma + port_sigma(component, at));
    for (size_t p = 0; p < here.poles.size(); ++p) {
        const auto pole = steps_of(here.poles[p]);
        own -= pole.gain;
        row.add(d_first_polarisation + d_polarisation[number] + int64_t(p),
                (1 - pole.decay) / below);
    }
    if (own != 0) {
        row.add(number, own / below);
    }
    curl(component, at, m.time_step / eps0 / below, row);
    row.sort();
}

void fdtd_grid_rows::magnetic_row(int64_t number, fdtd_row& row) const
{
    const auto [component, at] = place_of(magnetic.first + number);
    row.clear();
    if (inside(component, at)) {
        curl(component, at, -magnetic_gain(component, at), row);
        row.sort();
    }
}

void fdtd_grid_rows::place_memories()
{
    const auto place = [&](bool of_electric) {
        for (const int component : d_present) {
            for (int axis = 0; axis < 3; ++axis) {
                const auto& line = m.axes[axis];
                if (fdtd_is_electric(component) != of_electric ||
                    other(component, axis) < 0 ||
                    (of_electric ? line.node_slots : line.half_slots) == 0) {
                    continue;
                }
                memory run{ component, axis, size, {}, {}, 1 };
                const auto& points = of_electric ? line.node : line.half;
                for (int64_t i = 0; i < line.stored; ++i) {
                    if (points[i].slot >= 0) {
                        run.places.push_back(i);
                    }
                }
                const auto slots = int64_t(run.places.size());
                for (int a = 0; a < 3; ++a) {
                    run.shape[a] = a == axis ? slots : m.axes[a].stored;
                }
                if (axis == 2 && run.shape[1] > 1) {
                    run.planes = line.stored / slots;
                    run.shape[0] = (run.shape[0] + run.planes - 1) / run.planes;
                    run.shape[2] = line.stored;
                }
                size += run.size();
                d_memories.push_back(std::move(run));
            }
        }
    };
    size = electric.rows + magnetic.rows;
    electric_memory.first = size;
    place(true);
    d_electric_memories = d_memories.size();
    d_first_polarisation = size;
    place_polarisation();
    size += int64_t(d_polarised.size());
    electric_memory.rows = size - electric_memory.first;
    magnetic_memory.first = size;
    place(false);
    d_first_loop = size;
    for (const auto& probe : m.probes) {
        if (probe.loop) {
            d_loops.push_back(probe);
        }
    }
    size += int64_t(d_loops.size());
    magnetic_memory.rows = size - magnetic_memory.first;
}

int64_t
fdtd_grid_rows::memory_element(int component, int axis, int64_t slot, fdtd_index at) const
{
    for (const auto& run : d_memories) {
        if (run.component == component && run.axis == axis) {
            at[axis] = slot;
            if (run.planes > 1) {
                at[2] += at[0] % run.planes * int64_t(run.places.size());
                at[0] /= run.planes;
            }
            return run.first + (at[0] * run.shape[1] + at[1]) * run.shape[2] + at[2];
        }
    }
    return -1;
}

// psi <- decay psi + gain D
bool fdtd_grid_rows::memory_row(size_t from,
                                size_t to,
                                int64_t element,
                                fdtd_row& row) const
{
    for (size_t r = from; r < to; ++r) {
        const auto& [component, axis, first, places, shape, planes] = d_memories[r];
        const auto number = element - first;
        if (number >= d_memories[r].size()) {
            continue;
        }
        fdtd_index at{ number / shape[2] / shape[1],
                       number / shape[2] % shape[1],
                       number % shape[2] };
        const auto slots = int64_t(places.size());
        const auto plane = at[axis] / slots;
        if (planes > 1) {
            at[0] = at[0] * planes + plane;
        }
        if (plane >= planes || at[0] >= m.axes[0].stored) {
            return true; // nothing is kept there
        }
        at[axis] = places[at[axis] % slots];
        if (inside(component, at) && !conducting(component, at)) {
            const auto& s = stretch(component, axis, at[axis]);
            derivative(component, axis, at, s.gain, row);
            row.add(element, s.decay - 1);
            row.sort();
        }
        return true;
    }
    return false;
}

void fdtd_grid_rows::electric_memory_row(int64_t number, fdtd_row& row) const
{
    row.clear();
    const auto element = electric_memory.first + number;
    if (element < d_first_polarisation) {
        memory_row(0, d_electric_memories, element, row);
        return;
    }
    const auto [field, pole] = d_polarised[element - d_first_polarisation];
    const auto [component, at] = place_of(field);
    const auto steps = steps_of(edge_at(component, at).poles[pole]);
    row.add(field, steps.gain);
    row.add(element, steps.decay - 1);
    row.sort();
}

void fdtd_grid_rows::magnetic_memory_row(int64_t number, fdtd_row& row) const
{
    row.clear();
    const auto element = magnetic_memory.first + number;
    if (element < d_first_loop) {
        memory_row(d_electric_memories, d_memories.size(), element, row);
        return;
    }
    const auto& [component, at, loop, port] = d_loops[element - d_first_loop];
    const double area = edge_area(component, at);
    for (int turn = 1; turn <= 2; ++turn) {
        const int axis = (fdtd_axis_of(component) + turn) % 3;
        if (other(component, axis) >= 0) {
            derivative(component, axis, at, turn == 1 ? area : -area, row);
        }
    }
    row.add(element, -1); // removes the current that was read before
    row.sort();
}

} // namespace gr::cudaphy::kernels
