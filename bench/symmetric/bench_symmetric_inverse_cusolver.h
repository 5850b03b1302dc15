/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::benchmarks {

/*!
 * The peers of the symmetric inverse in cuSOLVER: of one matrix of the order given, which
 * each call copies to x first, as they overwrite it. T is float, double or complex.
 */
template <typename T>
class cusolver_symmetric_inverse
{
public:
    //! The views must outlive the object.
    cusolver_symmetric_inverse(queue& q, int order, view<T> a, view<T> x);
    ~cusolver_symmetric_inverse();

    //! Cholesky's factor, and the inverse's lower triangle (column-major) from it.
    void potrf_potri();
    //! LU factors with partial pivoting, and the solution for the identity.
    void getrf_getrs();
    //! Bunch-Kaufman's factors alone: no inverse.
    void sytrf();

private:
    struct state;
    std::unique_ptr<state> d_state;
};

} // namespace gr::cudaphy::benchmarks
