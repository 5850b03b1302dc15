/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/demapper/makers.h"
#include "kernels/mimo/demapper/mirror_tables.h"

namespace gr::cudaphy::kernels {

//! One run, as the CPU's vectors take it.
struct demapping {
    int bits;
    float sign;
    const square_table* square; //!< null if the points are no product of two axes
    const octant_table* octant; //!< null if the points are no 8PSK with a Gray code
    //! For max-log LLRs; null if the points have no such structure.
    const mirror_table* mirror;
    const ring_table* rings;
    const plane_table<256>* plane;
    const float* x; //!< I and Q in turns
    const float* noise;
    bool noise_for_each;
    float* llr;
    //! Whether the LLRs of each bit stand side by side, most_by_bit of them a bit.
    bool by_bit;
};

//! Symbols of a demapping whose LLRs stand by bit. A whole number of every vector.
constexpr size_t most_by_bit = 256;

//! The LLRs of symbols first ... last - 1.
void demap_max_log(const demapping& job, size_t first, size_t last);
void demap_exact_axes(const demapping& job, size_t first, size_t last); //!< with `square`
void demap_exact_plane(const demapping& job, size_t first, size_t last); //!< without

} // namespace gr::cudaphy::kernels
