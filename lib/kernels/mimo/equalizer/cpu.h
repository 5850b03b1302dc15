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

//! Cholesky factors L of covariances of more than most_solved_antennas.
struct covariance_factors {
    //! (covariances, Nr, Nr), the lower triangles, with 1 / L_kk on the diagonal
    std::vector<complex64> l;
    //! The noise variance after L^-1: 1, or infinite if the covariance is not usable.
    std::vector<float> variance;
};

//! Factors covariances first ... last - 1.
void factor_covariances_cpu(const equalizer_job& job,
                            covariance_factors& out,
                            size_t first,
                            size_t last);
//! Items of more than most_solved_antennas.
void equalize_by_gram_cpu(const equalizer_job& job,
                          const covariance_factors& factors,
                          size_t first,
                          size_t last);

} // namespace gr::cudaphy::kernels
