/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/demapper/tables.h"

namespace gr::cudaphy::kernels {

//! One run, as the CPU's vectors take it.
struct demapping {
    int bits;
    float sign;
    const square_table* square; //!< null if the points are no product of two axes
    const octant_table* octant; //!< null if the points are no 8PSK with a Gray code
    const plane_table<256>* plane;
    const float* x; //!< I and Q in turns
    const float* noise;
    bool noise_for_each;
    float* llr;
};

//! The LLRs of symbols first ... last - 1.
void demap_max_log(const demapping& job, size_t first, size_t last);
void demap_exact_axes(const demapping& job, size_t first, size_t last); //!< with `square`
void demap_exact_plane(const demapping& job, size_t first, size_t last); //!< without

} // namespace gr::cudaphy::kernels
