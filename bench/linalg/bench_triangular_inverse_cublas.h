/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::benchmarks {

//! The peer of the triangular inverse in cuBLAS: strsmBatched with as many right-hand
//! sides as unknowns. It is column-major, so that a row-major lower triangle is an
//! upper one there.
class cublas_triangular_inverse
{
public:
    //! The views must outlive the object.
    cublas_triangular_inverse(queue& q, int order, view<float> a, view<float> x);
    ~cublas_triangular_inverse();

    //! x <- a^-1 x, in place. Unit matrices in x become inverses; writing them is not
    //! measured.
    void solve();

private:
    struct state;
    std::unique_ptr<state> d_state;
};

} // namespace gr::cudaphy::benchmarks
