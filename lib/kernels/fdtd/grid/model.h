/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/grid/axis.h"

// The contents of a grid, for the files of this folder; not installed.

namespace gr::cudaphy::kernels {

using fdtd_index = fdtd_grid::index;

//! ex, ey, ez, hx, hy, hz are components 0 ... 5.
constexpr int fdtd_axis_of(int component) { return component % 3; }
constexpr bool fdtd_is_electric(int component) { return component < 3; }
//! Whether a component stands half a cell up along an axis.
constexpr bool fdtd_is_half(int component, int axis)
{
    return fdtd_is_electric(component) == (axis == fdtd_axis_of(component));
}
const char* fdtd_component_name(int component);

struct fdtd_grid::model {
    struct source {
        int component;
        index cell;
        fdtd_source_kind kind;
        double resistance; //!< of a port; 0: no port
    };
    struct load {
        int component;
        index cell;
        double resistance;
    };
    struct probe {
        int component;
        index cell;
        bool loop; //!< the current around an edge
        bool port; //!< the voltage along an edge
    };
    struct corner_box {
        index from, to;
    };

    std::array<fdtd_axis, 3> axes;
    double time_step = 0, limit = 0;
    std::array<int64_t, 6> first{}; //!< a component's first element; -1: there is none
    int64_t points = 0;             //!< elements of a component
    std::vector<fdtd_material> materials{ {} }; //!< the first is vacuum
    std::vector<int32_t> cells;                 //!< materials; empty: all vacuum
    std::vector<corner_box> conductors;
    std::vector<source> sources;
    std::vector<load> loads; //!< every port's resistance
    std::vector<probe> probes;

    bool has(int component) const { return first[component] >= 0; }
    int64_t point(const index& at) const
    {
        return (at[0] * axes[1].stored + at[1]) * axes[2].stored + at[2];
    }
    int64_t cell(const index& at) const
    {
        return (at[0] * axes[1].cells + at[1]) * axes[2].cells + at[2];
    }
    int64_t element(int component, const index& at) const
    {
        return first[component] + point(at);
    }
    int component(const std::string& name) const;
    //! \throws std::invalid_argument if the grid has no such place.
    void check_place(const char* what, int component, const index& cell) const;
    void check_corners(const index& from, const index& to, bool volume) const;
    int32_t number_of(const fdtd_material&);
    void check_fill(const index& cell, int32_t material, bool replace) const;
};

} // namespace gr::cudaphy::kernels
