/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fdtd/stepper/reads.h"
#include <array>
#include <optional>
#include <vector>

// A system that is a Yee grid, as tables for a kernel that does two time steps in one
// pass over the state (march_lane.h).
//
// The grid is found in the matrices alone. Six components of nx x ny x nz elements lie
// one behind another, E first. A row of E takes its own element, and of the two other
// components of H the elements here and one back along the axis of the derivative. A row
// of H takes those of E here and one ahead. With absorbing layers each derivative may
// have a memory psi, which takes the same two elements and itself.

namespace gr::cudaphy::kernels {

//! The coefficients of a field's row, 0 for entries that it lacks. Entries 0, 1 are those
//! of the other component with the lower number, 2, 3 those of the one with the higher
//! number; of each pair the one with the lower column first.
template <typename T>
struct alignas(16) fdtd_march_row {
    T own = 0;
    T curl[4]{};
    //! Of pair p: what the field takes of psi, and psi of the pair's elements and itself.
    T psi[2]{}, memory[2][3]{};
    uint32_t has_psi = 0;                      //!< bit p
    uint32_t unused[sizeof(T) == 4 ? 2 : 1]{}; //!< so that every byte is defined
};
static_assert(sizeof(fdtd_march_row<float>) == 64);
static_assert(sizeof(fdtd_march_row<double>) == 112);

//! The rows of a cell's six fields, and which of them have a psi: bit 2 component + pair.
struct alignas(16) fdtd_march_class {
    uint16_t row[6];
    uint16_t has_psi, unused;
};
constexpr uint32_t fdtd_march_outside = 0; //!< the class of what is no cell

//! A cell's class, which of its rows have psi, and whether a form says all of its rows.
constexpr int fdtd_march_psi_shift = 16;
constexpr uint32_t fdtd_march_kind = (1u << fdtd_march_psi_shift) - 1,
                   fdtd_march_formed = 1u << 31;

//! The rows of a cell without an own entry, as most of those in absorbing layers are: the
//! two entries of a pair differ in their sign only. Of pair p of component c of a field:
template <typename T>
struct alignas(16) fdtd_march_form {
    //! [2 c + p], E's and H's: the entry here; 0 in both pairs if the row has no entries.
    T curl[2][8];
    //! [2 c + p], too: what the field takes of psi; and what psi takes of the field here,
    //! and of itself.
    T psi[2][6][4];
};

//! A field's element that has sources or probes.
struct fdtd_march_mark {
    int32_t column; //!< its place in its plane
    int32_t component;
    int32_t sources, sources_end, probes, probes_end;
};

template <typename T, template <typename> class Storage>
struct fdtd_march_tables {
    //! Of each cell: its class, with its has_psi << fdtd_march_psi_shift, and
    //! fdtd_march_formed.
    Storage<uint32_t> classes;
    Storage<fdtd_march_class> kinds;
    Storage<fdtd_march_row<T>> rows;
    Storage<fdtd_march_form<T>> forms; //!< of each class, if there are layers
    //! The element of psi of (component, pair) p at x, y, z is
    //! places[p nx + x] + places[12 nx + p ny + y] + places[12 (nx + ny) + p nz + z].
    Storage<int32_t> places;
    //! Of plane x: E's marks begin at starts[x], H's at starts[nx + 1 + x].
    Storage<int32_t> starts;
    Storage<fdtd_march_mark> marks;
    Storage<fdtd_source<T>> sources;
    Storage<fdtd_probe<T>> probes;
};

//! What all lanes of a pass share.
template <typename T>
struct fdtd_march_grid {
    int32_t nx, ny, nz;
    int32_t points; //!< nx ny nz
    //! The class that most cells have: all four entries in each row, no psi.
    int32_t common;
    T own[3];     //!< of its rows of E, 0 if they have none
    T curl[6][4]; //!< of its rows
};

template <typename T>
struct fdtd_march_plan {
    fdtd_march_grid<T> grid{};
    fdtd_march_tables<T, fdtd_on_host> tables;
    bool layers = false; //!< whether rows have psi
    double share = 0;    //!< of cells that are of the common class; others are slower

    //! Nothing if the system is no such grid, or has more than 65,535 kinds of cells.
    static std::optional<fdtd_march_plan> make(const fdtd_system<T>& system);
};

//! How blocks share a grid: tiles across x, and parts of x.
struct fdtd_march_shares {
    static constexpr int halo = 2; //!< cells around a tile that its block computes, too
    int tiles_z = 1, tiles_y = 1, planes = 1;
    //! Blocks as they begin, those with the most work first: part * tiles + tile, tile =
    //! y * tiles_z + z.
    std::vector<int32_t> order;

    //! For tiles of height x width cells, halo included, and `slots` blocks at a time.
    template <typename T>
    static fdtd_march_shares
    find(const fdtd_march_plan<T>& plan, int height, int width, int64_t slots);
};

} // namespace gr::cudaphy::kernels
