/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/makers.h"

namespace gr::cudaphy::kernels {

//! One call of the route `inverse`.
struct inverse_job {
    equalizer_shape shape;
    const complex64 *y, *h;
    const float* n0;
    size_t n0_step; //!< matrices that one n0 serves; 0: all
    complex64* x;
    float* noise;
    int* status;
    complex64* gram;     //!< (matrices, Nt, Nt): H^H H + N0 I, then its inverse
    const float* rcond;  //!< of the Gram matrices, from `inverse`
    const int* inverted; //!< status of the Gram matrices, from `inverse`
    bool mmse, unbiased;
};

//! What a backend does before and after `inverse` inverts the Gram matrices.
struct inverse_steps {
    void (*find_gram)(const inverse_job& job, queue& queue);
    void (*apply)(const inverse_job& job, queue& queue);
};

inverse_steps inverse_steps_cuda();

} // namespace gr::cudaphy::kernels
