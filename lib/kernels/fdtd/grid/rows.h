/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/grid/model.h"

// The rows of a grid's matrices, one at a time; not installed.

namespace gr::cudaphy::kernels {

//! A row while it is made: few entries, in any order.
class fdtd_row
{
public:
    static constexpr size_t most = 48;

    void clear() { d_size = 0; }
    void add(int64_t column, double value) { d_entries[d_size++] = { column, value }; }
    void sort();
    size_t size() const { return d_size; }
    const std::pair<int64_t, double>* begin() const { return d_entries.data(); }
    const std::pair<int64_t, double>* end() const { return begin() + d_size; }

private:
    std::array<std::pair<int64_t, double>, most> d_entries;
    size_t d_size = 0;
};

class fdtd_grid_rows
{
public:
    explicit fdtd_grid_rows(const fdtd_grid::model&);

    //! A run of the state that one update changes.
    struct run {
        int64_t first = 0, rows = 0;
    };
    run electric, magnetic;
    run electric_memory; //!< psi of E's layers, polarisation; 0 rows where there is none
    run magnetic_memory; //!< psi of H's layers, currents that are read
    int64_t size = 0;    //!< of the state

    //! A row of each run, by its number from 0.
    void electric_row(int64_t number, fdtd_row&) const;
    void magnetic_row(int64_t number, fdtd_row&) const;
    void electric_memory_row(int64_t number, fdtd_row&) const;
    void magnetic_memory_row(int64_t number, fdtd_row&) const;

    //! What a current density (A/m^2) along an edge adds to E at one time step is this,
    //! times -1.
    double electric_gain(int component, const fdtd_index&) const;
    //! Whether a conductor keeps E at 0 there.
    bool conducting(int component, const fdtd_index&) const;
    double edge_length(int component, const fdtd_index&) const;
    double edge_area(int component, const fdtd_index&) const; //!< of the face around it
    //! The element that holds the n-th current that is read.
    int64_t loop_element(size_t n) const { return d_first_loop + int64_t(n); }

private:
    struct edge {
        double eps = 1, sigma = 0;
        std::vector<fdtd_debye_pole> poles;
    };
    //! a, b / a + c and c of a pole's step P' = a P + b E + c E', P in units of eps0.
    struct pole_steps {
        double decay, gain, now;
    };
    //! A run of psi: derivatives along `axis` for one component, its points those of the
    //! grid but for that axis, where only the layers' points are. Along the last axis
    //! the lines of several planes across the first one share a line as long as the
    //! grid's: so psi and field are at one distance throughout such a plane, and their
    //! rows are alike.
    struct memory {
        int component, axis;
        int64_t first = 0;
        std::vector<int64_t> places; //!< along the axis
        fdtd_index shape{};
        int64_t planes = 1; //!< that share a line

        int64_t size() const { return shape[0] * shape[1] * shape[2]; }
    };

    //! A row's component and place.
    std::pair<int, fdtd_index> place_of(int64_t element) const;
    bool inside(int component, const fdtd_index&) const;
    //! The component that a component's curl differentiates along an axis; -1: none.
    int other(int component, int axis) const;
    void derivative(int component, int axis, const fdtd_index&, double, fdtd_row&) const;
    void curl(int component, const fdtd_index&, double gain, fdtd_row&) const;
    const fdtd_stretch& stretch(int component, int axis, int64_t at) const;
    int64_t memory_element(int component, int axis, int64_t slot, fdtd_index at) const;
    bool memory_row(size_t from, size_t to, int64_t number, fdtd_row&) const;
    double magnetic_gain(int component, const fdtd_index&) const;

    // Materials, in edges.cc.
    pole_steps steps_of(const fdtd_debye_pole&) const;
    edge edge_at(int component, const fdtd_index&) const;
    double denominator(int component, const fdtd_index&, const edge&) const;
    double port_sigma(int component, const fdtd_index&) const;
    void mark_conductors();
    void mark(fdtd_index from, fdtd_index to);
    void place_memories();
    void place_polarisation();

    const fdtd_grid::model& m;
    std::vector<bool> d_conducting; //!< of E's elements
    std::vector<memory> d_memories; //!< E's, then H's
    size_t d_electric_memories = 0;
    //! The first polarisation of each E element, -1 where it has none; empty where
    //! nothing has. And of each polarisation its E element and pole.
    std::vector<int32_t> d_polarisation;
    std::vector<std::pair<int32_t, int32_t>> d_polarised;
    std::vector<fdtd_grid::model::probe> d_loops;
    std::vector<int> d_present; //!< components, as they lie in the state
    int64_t d_first_polarisation = 0, d_first_loop = 0;
};

} // namespace gr::cudaphy::kernels
