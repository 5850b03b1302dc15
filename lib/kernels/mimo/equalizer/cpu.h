/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/makers.h"

namespace gr::cudaphy::kernels {

//! One call of run(), as its parts take it.
struct equalizer_job {
    equalizer::parameters p;
    equalizer_shape shape;
    equalizer_items cut;
    equalizer_run given;
};

//! Items first ... last - 1, each of one matrix and up to `cut.chunk` vectors: by
//! weights.
void equalize_many_cpu(const equalizer_job& job, size_t first, size_t last);
//! Matrices first ... last - 1 with one vector each, max-ratio excepted: by elimination.
void solve_each_cpu(const equalizer_job& job, size_t first, size_t last);

} // namespace gr::cudaphy::kernels
