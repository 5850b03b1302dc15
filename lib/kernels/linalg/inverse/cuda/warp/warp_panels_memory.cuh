/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/linalg/inverse/cuda/warp/warp_per_matrix.cuh"

// What a matrix needs of shared memory in warp_panels.cuh.

namespace gr::cudaphy::kernels {
namespace {

template <int Panels>
struct panels_parts {
    static constexpr int order = 8 * Panels;
    static constexpr bool has_rest = order > 32; //!< rows from 32 on
    // Distances at which lanes use all banks.
    static constexpr int panel_apart = 10;
    static constexpr int row_apart = order - 6;
    static constexpr int x_apart = order + 2;
    struct during {
        float2 panel[order * panel_apart];
        float2 rows[8 * row_apart]; //!< R
        float2 found[2][8];         //!< a pivot's row in the panel
    };
    union {
        __align__(16) during now;
        __align__(16) float2 x[order * x_apart];
        warp_memory<float2, order, false> step_by_step;
    };
    float2 pivots[order];
};

template <int Panels, bool = panels_parts<Panels>::has_rest>
struct panels_memory : panels_parts<Panels> {
};
//! With a rest there are no registers for the pivots' places.
template <int Panels>
struct panels_memory<Panels, true> : panels_parts<Panels> {
    int column_of[8 * Panels]; //!< of a row: the column whose pivot it has, or -1
    int row_of[8 * Panels];    //!< of a column: the row that has its pivot
};

} // namespace
} // namespace gr::cudaphy::kernels
