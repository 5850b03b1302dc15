/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/grid/rows.h"
#include <algorithm>
#include <limits>
#include <stdexcept>

// The coefficients of edges and faces between cells, from materials, conductors and
// ports.

namespace gr::cudaphy::kernels {

using namespace physics;

namespace {

//! The cells either side of a node: one at an end, none where there is no such axis but
//! cell 0.
int cells_at_node(const fdtd_axis& axis, int64_t node, int64_t (&cells)[2])
{
    if (!axis.active) {
        cells[0] = 0;
        return 1;
    }
    int count = 0;
    if (node > 0 || axis.periodic()) {
        cells[count++] = node > 0 ? node - 1 : axis.cells - 1;
    }
    if (node < axis.cells) {
        cells[count++] = node;
    }
    return count;
}

} // namespace

double fdtd_grid_rows::edge_length(int component, const fdtd_index& at) const
{
    const int axis = fdtd_axis_of(component);
    return m.axes[axis].spacing[at[axis]];
}

double fdtd_grid_rows::edge_area(int component, const fdtd_index& at) const
{
    const int a = (fdtd_axis_of(component) + 1) % 3,
              b = (fdtd_axis_of(component) + 2) % 3;
    return m.axes[a].dual[at[a]] * m.axes[b].dual[at[b]];
}

fdtd_grid_rows::edge fdtd_grid_rows::edge_at(int component, const fdtd_index& at) const
{
    edge mean;
    if (m.cells.empty()) {
        return mean;
    }
    const int a = (fdtd_axis_of(component) + 1) % 3,
              b = (fdtd_axis_of(component) + 2) % 3;
    int64_t first[2], second[2];
    const int firsts = cells_at_node(m.axes[a], at[a], first);
    const int seconds = cells_at_node(m.axes[b], at[b], second);
    double area = 0;
    mean.eps = 0;
    for (int i = 0; i < firsts; ++i) {
        for (int j = 0; j < seconds; ++j) {
            auto cell = at;
            cell[a] = first[i];
            cell[b] = second[j];
            const double part = m.axes[a].spacing[cell[a]] * m.axes[b].spacing[cell[b]];
            const auto& material = m.materials[m.cells[m.cell(cell)]];
            area += part;
            mean.eps += part * material.eps_r;
            mean.sigma += part * material.sigma;
            for (const auto& pole : material.poles) {
                const auto known = std::find_if(
                    mean.poles.begin(), mean.poles.end(), [&](const auto& other) {
                        return other.relaxation_time == pole.relaxation_time;
                    });
                if (known == mean.poles.end()) {
                    mean.poles.push_back({ part * pole.delta_eps, pole.relaxation_time });
                } else {
                    known->delta_eps += part * pole.delta_eps;
                }
            }
        }
    }
    mean.eps /= area;
    mean.sigma /= area;
    for (auto& pole : mean.poles) {
        pole.delta_eps /= area;
    }
    return mean;
}

// The trapezoidal rule; where a time step is longer than the relaxation takes, Euler's
// implicit one, whose error is small there, because the trapezoidal b / a has no bound.
fdtd_grid_rows::pole_steps fdtd_grid_rows::steps_of(const fdtd_debye_pole& pole) const
{
    const double tau = pole.relaxation_time, dt = m.time_step;
    if (dt > tau) {
        const double c = pole.delta_eps * dt / (tau + dt);
        return { tau / (tau + dt), c, c };
    }
    const double decay = (2 * tau - dt) / (2 * tau + dt);
    const double c = pole.delta_eps * dt / (2 * tau + dt);
    return { decay, c / decay + c, c };
}

double fdtd_grid_rows::port_sigma(int component, const fdtd_index& at) const
{
    for (const auto& load : m.loads) {
        if (load.component == component && load.cell == at) {
            return edge_length(component, at) /
                   (load.resistance * edge_area(component, at));
        }
    }
    return 0;
}

double
fdtd_grid_rows::denominator(int component, const fdtd_index& at, const edge& here) const
{
    double sum =
        here.eps + m.time_step / (2 * eps0) * (here.sigma + port_sigma(component, at));
    for (const auto& pole : here.poles) {
        sum += steps_of(pole).now;
    }
    return sum;
}

double fdtd_grid_rows::electric_gain(int component, const fdtd_index& at) const
{
    return m.time_step / eps0 / denominator(component, at, edge_at(component, at));
}

double fdtd_grid_rows::magnetic_gain(int component, const fdtd_index& at) const
{
    const double vacuum = m.time_step / mu0;
    if (m.cells.empty()) {
        return vacuum;
    }
    const int axis = fdtd_axis_of(component);
    int64_t cells[2];
    const int count = cells_at_node(m.axes[axis], at[axis], cells);
    double length = 0, reluctance = 0;
    for (int i = 0; i < count; ++i) {
        auto cell = at;
        cell[axis] = cells[i];
        const double part = m.axes[axis].spacing[cells[i]];
        length += part;
        reluctance += part / m.materials[m.cells[m.cell(cell)]].mu_r;
    }
    return vacuum * reluctance / length;
}

void fdtd_grid_rows::mark(fdtd_index from, fdtd_index to)
{
    for (const int component : d_present) {
        if (!fdtd_is_electric(component)) {
            continue;
        }
        fdtd_index last;
        for (int a = 0; a < 3; ++a) {
            const bool along = m.axes[a].active && fdtd_is_half(component, a);
            last[a] = m.axes[a].active ? to[a] - along : 0;
        }
        for (auto i = from[0]; i <= last[0]; ++i) {
            for (auto j = from[1]; j <= last[1]; ++j) {
                for (auto k = from[2]; k <= last[2]; ++k) {
                    fdtd_index at{ i, j, k };
                    bool stored = true;
                    for (int a = 0; a < 3; ++a) {
                        if (m.axes[a].periodic() && at[a] == m.axes[a].cells) {
                            at[a] = 0;
                        }
                        stored = stored && at[a] < m.axes[a].stored;
                    }
                    if (stored) {
                        d_conducting[m.element(component, at)] = true;
                    }
                }
            }
        }
    }
}

void fdtd_grid_rows::mark_conductors()
{
    const auto conductor = [&](int32_t number) { return m.materials[number].conductor; };
    if (m.conductors.empty() && std::none_of(m.cells.begin(), m.cells.end(), conductor)) {
        return;
    }
    d_conducting.assign(electric.rows, false);
    for (const auto& [from, to] : m.conductors) {
        mark(from, to);
    }
    fdtd_index at{};
    for (const auto number : m.cells) {
        if (conductor(number)) {
            mark(at, { at[0] + 1, at[1] + 1, at[2] + 1 });
        }
        for (int a = 2; a >= 0 && ++at[a] == m.axes[a].cells; --a) {
            at[a] = 0;
        }
    }
}

void fdtd_grid_rows::place_polarisation()
{
    const auto dispersive = [&](int32_t number) {
        return !m.materials[number].poles.empty();
    };
    if (std::none_of(m.cells.begin(), m.cells.end(), dispersive)) {
        return;
    }
    d_polarisation.assign(electric.rows, -1);
    for (int64_t element = 0; element < electric.rows; ++element) {
        const auto [component, at] = place_of(element);
        if (!inside(component, at) || conducting(component, at)) {
            continue;
        }
        const auto poles = edge_at(component, at).poles.size();
        if (poles > fdtd_row::most - 8) {
            throw std::invalid_argument(
                "fdtd_grid: materials with " + std::to_string(poles) +
                " different Debye poles meet in an edge, at most " +
                std::to_string(fdtd_row::most - 8) + " are possible");
        }
        if (poles) {
            d_polarisation[element] = int32_t(d_polarised.size());
        }
        for (size_t p = 0; p < poles; ++p) {
            d_polarised.emplace_back(int32_t(element), int32_t(p));
        }
    }
}

} // namespace gr::cudaphy::kernels
