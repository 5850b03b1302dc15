/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/grid/model.h"
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

constexpr const char* axis_names[] = { "x", "y", "z" };

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts)
{
    std::ostringstream text;
    text << "fdtd_grid: ";
    (text << ... << parts);
    throw std::invalid_argument(text.str());
}

std::string text_of(const fdtd_index& at)
{
    return "(" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " +
           std::to_string(at[2]) + ")";
}

void check_absorber(const fdtd_absorber& a)
{
    if (a.thickness < 1) {
        refuse("absorbing layers of ", a.thickness, " cells, must be at least 1");
    }
    if (!(a.order >= 0) || !(a.sigma >= 0) || !(a.kappa >= 1) ||
        !std::isfinite(a.order + a.sigma + a.kappa + a.alpha)) {
        refuse("absorbing layers of order ",
               a.order,
               ", sigma ",
               a.sigma,
               ", kappa ",
               a.kappa,
               ", alpha ",
               a.alpha,
               ": order and sigma must be at least 0, kappa at least 1");
    }
}

void check_material(const fdtd_material& m)
{
    const auto below = [](double value, double least) {
        return !(value >= least) || !std::isfinite(value);
    };
    if (below(m.eps_r, 1) || below(m.mu_r, 1) || below(m.sigma, 0)) {
        refuse("a material with eps_r ",
               m.eps_r,
               ", mu_r ",
               m.mu_r,
               ", sigma ",
               m.sigma,
               ": eps_r and mu_r must be at least 1, sigma at least 0");
    }
    for (const auto& pole : m.poles) {
        if (below(pole.delta_eps, 0) || below(pole.relaxation_time, 0) ||
            pole.relaxation_time == 0) {
            refuse("a Debye pole with delta_eps ",
                   pole.delta_eps,
                   " and relaxation time ",
                   pole.relaxation_time,
                   " s: the one must be at least 0, the other above 0");
        }
    }
}

bool same(const fdtd_material& a, const fdtd_material& b)
{
    bool equal = a.eps_r == b.eps_r && a.mu_r == b.mu_r && a.sigma == b.sigma &&
                 a.conductor == b.conductor && a.poles.size() == b.poles.size();
    for (size_t i = 0; equal && i < a.poles.size(); ++i) {
        equal = a.poles[i].delta_eps == b.poles[i].delta_eps &&
                a.poles[i].relaxation_time == b.poles[i].relaxation_time;
    }
    return equal;
}

std::vector<int> components_of(size_t dimensions, const std::string& mode)
{
    if (dimensions == 1) {
        return { 2, 4 };
    }
    if (dimensions == 3) {
        return { 0, 1, 2, 3, 4, 5 };
    }
    if (mode != "tm" && mode != "te") {
        refuse("mode \"", mode, "\", must be \"tm\" (ez, hx, hy) or \"te\" (ex, ey, hz)");
    }
    return mode == "tm" ? std::vector<int>{ 2, 3, 4 } : std::vector<int>{ 0, 1, 5 };
}

} // namespace

const char* fdtd_component_name(int component)
{
    constexpr const char* names[] = { "ex", "ey", "ez", "hx", "hy", "hz" };
    return names[component];
}

fdtd_boundary fdtd_boundary_from_name(const std::string& name)
{
    for (const auto boundary : { fdtd_boundary::pec,
                                 fdtd_boundary::pmc,
                                 fdtd_boundary::cpml,
                                 fdtd_boundary::periodic }) {
        if (name_of(boundary) == name) {
            return boundary;
        }
    }
    throw std::invalid_argument("boundary \"" + name +
                                "\", must be pec, pmc, cpml or periodic");
}

std::string name_of(fdtd_boundary boundary)
{
    constexpr const char* names[] = { "pec", "pmc", "cpml", "periodic" };
    return names[static_cast<int>(boundary)];
}

fdtd_grid::fdtd_grid(const parameters& p) : d_model(std::make_unique<model>())
{
    auto& m = *d_model;
    const size_t dimensions = p.cells.size();
    if (dimensions < 1 || dimensions > 3) {
        refuse(dimensions, " axes of cells, must be 1, 2 or 3");
    }
    if (p.spacing.size() != dimensions ||
        (!p.boundary.empty() && p.boundary.size() != dimensions)) {
        refuse(dimensions,
               " axes of cells, but ",
               p.spacing.size(),
               " of spacing and ",
               p.boundary.size(),
               " of boundary");
    }
    check_absorber(p.absorber);
    const auto components = components_of(dimensions, p.mode);
    // Counted before anything is allocated.
    const auto most = std::numeric_limits<int32_t>::max();
    double points = 1;
    for (const auto cells : p.cells) {
        points *= double(std::max<int64_t>(cells, 0));
    }
    if (points * components.size() > most) {
        refuse(points,
               " cells have ",
               points * components.size(),
               " field components; the matrices count to 2^31 - 1, at most ",
               most / components.size(),
               " cells fit");
    }
    for (int a = 0; a < 3; ++a) {
        if (a < int(dimensions)) {
            m.axes[a] = { axis_names[a],
                          p.cells[a],
                          p.spacing[a],
                          p.boundary.empty() ? std::array<fdtd_boundary, 2>{}
                                             : p.boundary[a] };
        } else {
            m.axes[a].spacing = m.axes[a].dual = { 1 };
            m.axes[a].node.resize(1);
            m.axes[a].half.resize(1);
        }
    }
    m.points = m.axes[0].stored * m.axes[1].stored * m.axes[2].stored;
    if (m.points * int64_t(components.size()) > most) {
        refuse("too many cells: the matrices count to 2^31 - 1 field components");
    }
    m.first.fill(-1);
    for (size_t i = 0; i < components.size(); ++i) {
        m.first[components[i]] = m.points * int64_t(i);
    }
    double eigenvalue = 0;
    for (const auto& axis : m.axes) {
        eigenvalue += axis.largest_eigenvalue();
    }
    m.limit = 2 / (physics::c * std::sqrt(eigenvalue));
    if (p.time_step != 0) {
        if (!(p.time_step > 0) || p.time_step > m.limit * (1 + 1e-12)) {
            refuse("a time step of ",
                   p.time_step,
                   " s; with these cells the largest stable one is ",
                   m.limit,
                   " s");
        }
        m.time_step = p.time_step;
    } else {
        if (!(p.courant > 0 && p.courant <= 1)) {
            refuse("courant is ",
                   p.courant,
                   ", must be above 0 and at most 1; 1 is the largest stable time step, ",
                   m.limit,
                   " s");
        }
        m.time_step = p.courant * m.limit;
    }
    for (int a = 0; a < 3; ++a) {
        m.axes[a].absorb(axis_names[a], p.absorber, m.time_step);
    }
}

fdtd_grid::~fdtd_grid() = default;
fdtd_grid::fdtd_grid(fdtd_grid&&) noexcept = default;
fdtd_grid& fdtd_grid::operator=(fdtd_grid&&) noexcept = default;

double fdtd_grid::time_step() const { return d_model->time_step; }
double fdtd_grid::largest_time_step() const { return d_model->limit; }

std::vector<std::string> fdtd_grid::components() const
{
    std::vector<std::string> names;
    for (int component = 0; component < 6; ++component) {
        if (d_model->has(component)) {
            names.emplace_back(fdtd_component_name(component));
        }
    }
    return names;
}

int64_t fdtd_grid::size() const { return d_model->points * int64_t(components().size()); }

fdtd_index fdtd_grid::shape() const
{
    const auto& axes = d_model->axes;
    return { axes[0].stored, axes[1].stored, axes[2].stored };
}

int fdtd_grid::model::component(const std::string& name) const
{
    std::string known;
    for (int component = 0; component < 6; ++component) {
        if (has(component)) {
            if (name == fdtd_component_name(component)) {
                return component;
            }
            known +=
                (known.empty() ? "" : ", ") + std::string(fdtd_component_name(component));
        }
    }
    refuse("no component \"", name, "\" here; there are ", known);
}

void fdtd_grid::model::check_place(const char* what,
                                   int component,
                                   const index& cell) const
{
    index last{};
    bool inside = true;
    for (int a = 0; a < 3; ++a) {
        last[a] = (fdtd_is_half(component, a) ? axes[a].cells : axes[a].stored) - 1;
        inside = inside && cell[a] >= 0 && cell[a] <= last[a];
    }
    if (!inside) {
        refuse(what,
               " of ",
               fdtd_component_name(component),
               " at ",
               text_of(cell),
               " is outside the grid, whose cells go from (0, 0, 0) to ",
               text_of(last));
    }
}

void fdtd_grid::model::check_corners(const index& from,
                                     const index& to,
                                     bool volume) const
{
    for (int a = 0; a < 3; ++a) {
        const int64_t least = axes[a].active && volume ? 1 : 0;
        if (from[a] < 0 || to[a] - from[a] < least || to[a] > axes[a].cells) {
            refuse("a box from corner ",
                   text_of(from),
                   " to ",
                   text_of(to),
                   ": along ",
                   axis_names[a],
                   " it must be 0 <= from ",
                   least ? "<" : "<=",
                   " to <= ",
                   axes[a].cells);
        }
    }
}

int32_t fdtd_grid::model::number_of(const fdtd_material& material)
{
    check_material(material);
    for (size_t i = 0; i < materials.size(); ++i) {
        if (same(materials[i], material)) {
            return int32_t(i);
        }
    }
    materials.push_back(material);
    return int32_t(materials.size()) - 1;
}

void fdtd_grid::model::check_fill(const index& at, int32_t material, bool replace) const
{
    const auto there = cells[cell(at)];
    if (there != 0 && there != material && !replace) {
        refuse(
            "cell ", text_of(at), " has another material already, and replace is false");
    }
}

void fdtd_grid::add_box(index from, index to, const fdtd_material& material, bool replace)
{
    auto& m = *d_model;
    m.check_corners(from, to, true);
    for (int a = 0; a < 3; ++a) {
        to[a] = m.axes[a].active ? to[a] : 1;
    }
    const auto number = m.number_of(material);
    if (m.cells.empty()) {
        m.cells.assign(m.axes[0].cells * m.axes[1].cells * m.axes[2].cells, 0);
    }
    const auto each = [&](const auto& act) {
        for (auto i = from[0]; i < to[0]; ++i) {
            for (auto j = from[1]; j < to[1]; ++j) {
                for (auto k = from[2]; k < to[2]; ++k) {
                    act({ i, j, k });
                }
            }
        }
    };
    each([&](const index& at) { m.check_fill(at, number, replace); });
    each([&](const index& at) { m.cells[m.cell(at)] = number; });
}

void fdtd_grid::add_cells(view<const int32_t> which,
                          const std::vector<fdtd_material>& materials,
                          bool replace)
{
    auto& m = *d_model;
    const auto count = m.axes[0].cells * m.axes[1].cells * m.axes[2].cells;
    if (int64_t(which.size()) != count) {
        refuse(which.size(), " cells' materials given, the grid has ", count, " cells");
    }
    std::vector<int32_t> numbers;
    for (const auto& material : materials) {
        numbers.push_back(m.number_of(material));
    }
    if (m.cells.empty()) {
        m.cells.assign(count, 0);
    }
    const auto each = [&](const auto& act) {
        index at{};
        for (size_t i = 0; i < which.size(); ++i) {
            if (which[i] >= 0) {
                act(at, which[i]);
            }
            for (int a = 2; a >= 0 && ++at[a] == m.axes[a].cells; --a) {
                at[a] = 0;
            }
        }
    };
    each([&](const index& at, int64_t number) {
        if (number >= int64_t(materials.size())) {
            refuse(
                "cell ", text_of(at), " has material ", number, " of ", materials.size());
        }
        m.check_fill(at, numbers[number], replace);
    });
    each([&](const index& at, int64_t number) { m.cells[m.cell(at)] = numbers[number]; });
}

void fdtd_grid::add_conductor(index from, index to)
{
    d_model->check_corners(from, to, false);
    d_model->conductors.push_back({ from, to });
}

} // namespace gr::cudaphy::kernels
