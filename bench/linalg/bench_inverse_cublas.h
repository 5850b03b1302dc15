/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::benchmarks {

/*!
 * The peers of the batched inverse in cuBLAS, which is column-major: given row-major
 * matrices they invert the transposes, which takes them as long. They pivot partially. T
 * is float, double, complex64 or complex128.
 */
template <typename T>
class cublas_inverse
{
public:
    static constexpr int matinv_max_order = 32;

    //! The views must outlive the object. `scratch` is as large as `a`.
    cublas_inverse(queue& q, int order, view<T> a, view<T> x, view<T> scratch);
    ~cublas_inverse();

    //! cublas?matinvBatched: inverts a to x, up to order 32.
    void matinv();
    //! Copies a to the scratch, which the factorisation overwrites.
    void copy();
    //! copy(), cublas?getrfBatched, and cublas?getriBatched to x.
    void getrf_getri();

private:
    struct state;
    std::unique_ptr<state> d_state;
};

} // namespace gr::cudaphy::benchmarks
