/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/grid/model.h"
#include <algorithm>
#include <cmath>
#include <stdexcept>

// Sources, probes and ports of the grid.

namespace gr::cudaphy::kernels {
namespace {

void check_edge(int component)
{
    if (!fdtd_is_electric(component)) {
        throw std::invalid_argument(
            std::string(
                "fdtd_grid: currents and ports stand in edges, along ex, ey or ez, "
                "not ") +
            fdtd_component_name(component));
    }
}

} // namespace

size_t fdtd_grid::add_source(const std::string& name, index cell, fdtd_source_kind kind)
{
    const int component = d_model->component(name);
    d_model->check_place("a source", component, cell);
    if (kind == fdtd_source_kind::current) {
        check_edge(component);
    }
    d_model->sources.push_back({ component, cell, kind, 0 });
    return d_model->sources.size() - 1;
}

size_t fdtd_grid::add_probe(const std::string& name, index cell)
{
    const int component = d_model->component(name);
    d_model->check_place("a probe", component, cell);
    d_model->probes.push_back({ component, cell, false, false });
    return d_model->probes.size() - 1;
}

size_t fdtd_grid::add_current_probe(const std::string& name, index cell)
{
    const int component = d_model->component(name);
    d_model->check_place("a probe", component, cell);
    check_edge(component);
    d_model->probes.push_back({ component, cell, true, false });
    return d_model->probes.size() - 1;
}

fdtd_grid::port
fdtd_grid::add_port(const std::string& name, index cell, double resistance, bool driven)
{
    auto& m = *d_model;
    const int component = m.component(name);
    m.check_place("a port", component, cell);
    check_edge(component);
    if (!(resistance > 0) || !std::isfinite(resistance)) {
        throw std::invalid_argument("fdtd_grid: a port's resistance is " +
                                    std::to_string(resistance) + " ohm, must be above 0");
    }
    if (std::any_of(m.loads.begin(), m.loads.end(), [&](const auto& other) {
            return other.component == component && other.cell == cell;
        })) {
        throw std::invalid_argument("fdtd_grid: there is a port in this edge already");
    }
    m.loads.push_back({ component, cell, resistance });
    if (driven) {
        m.sources.push_back({ component, cell, fdtd_source_kind::current, resistance });
    }
    m.probes.push_back({ component, cell, false, true });
    return { driven ? m.sources.size() - 1 : size_t(-1), m.probes.size() - 1 };
}

fdtd_grid::port fdtd_grid::add_dipole(
    const std::string& name, index cell, int64_t length, double resistance, bool driven)
{
    const int component = d_model->component(name);
    check_edge(component);
    if (length < 1 || length % 2 == 0) {
        throw std::invalid_argument("fdtd_grid: a dipole is " + std::to_string(length) +
                                    " cells long, must be odd and at least 1");
    }
    const int axis = fdtd_axis_of(component);
    auto bottom = cell, below = cell, above = cell, top = cell;
    bottom[axis] -= length / 2;
    above[axis] += 1;
    top[axis] += 1 + length / 2;
    if (length > 1) {
        d_model->check_corners(bottom, below, false);
        d_model->check_corners(above, top, false);
    }
    const auto added = add_port(name, cell, resistance, driven);
    if (length > 1) {
        add_conductor(bottom, below);
        add_conductor(above, top);
    }
    return added;
}

int64_t fdtd_grid::element(const std::string& name, index cell) const
{
    const int component = d_model->component(name);
    d_model->check_place("an element", component, cell);
    return d_model->element(component, cell);
}

std::vector<int32_t>
fdtd_grid::plane(const std::string& name, int axis, int64_t position) const
{
    const auto& m = *d_model;
    const int component = m.component(name);
    if (axis < 0 || axis > 2) {
        throw std::invalid_argument("fdtd_grid: a plane across axis " +
                                    std::to_string(axis) + ", must be 0, 1 or 2");
    }
    index at{};
    at[axis] = position;
    m.check_place("a plane", component, at);
    const auto last = shape();
    std::vector<int32_t> elements;
    for (at[0] = axis == 0 ? position : 0; at[0] < (axis == 0 ? position + 1 : last[0]);
         ++at[0]) {
        for (at[1] = axis == 1 ? position : 0;
             at[1] < (axis == 1 ? position + 1 : last[1]);
             ++at[1]) {
            for (at[2] = axis == 2 ? position : 0;
                 at[2] < (axis == 2 ? position + 1 : last[2]);
                 ++at[2]) {
                elements.push_back(int32_t(m.element(component, at)));
            }
        }
    }
    return elements;
}

} // namespace gr::cudaphy::kernels
