/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/makers.h"

namespace gr::cudaphy::kernels {

//! One call of the route `inverse`.
struct inverse_job {
    equalizer_shape shape;
    equalizer_run given;
    bool mmse, unbiased;
    complex64* gram;    //!< (matrices, Nt, Nt): H^H H + N0 I, then its inverse
    const float* rcond; //!< of the Gram matrices, once they are inverted
};

//! What the route does before and after the inversion. given.status goes through it all:
//! of the inversion first, then of the equalizer.
class inverse_steps
{
public:
    virtual ~inverse_steps() = default;
    virtual void find_gram(const inverse_job& job, queue& queue) = 0;
    virtual void apply(const inverse_job& job, queue& queue) = 0;
};

std::unique_ptr<inverse_steps> make_inverse_steps_cpu();
std::unique_ptr<inverse_steps> make_inverse_steps_cuda(int device);

} // namespace gr::cudaphy::kernels
