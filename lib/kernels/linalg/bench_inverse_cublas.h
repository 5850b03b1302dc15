/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::benchmarks {

/*!
 * The peers of the batched inverse in cuBLAS, which is column-major: given row-major
 * matrices they invert the transposes, which takes them as long.
 */
class cublas_inverse
{
public:
    //! The views must outlive the object; `scratch` is as large as `a`.
    cublas_inverse(queue& q,
                   int order,
                   view<complex64> a,
                   view<complex64> x,
                   view<complex64> scratch);
    ~cublas_inverse();

    //! cublasCmatinvBatched: inverts a to x.
    void matinv();
    //! Copies a to the scratch, which the factorisation overwrites.
    void copy();
    //! copy(), cublasCgetrfBatched, and cublasCgetriBatched to x.
    void getrf_getri();

private:
    struct state;
    std::unique_ptr<state> d_state;
};

} // namespace gr::cudaphy::benchmarks
