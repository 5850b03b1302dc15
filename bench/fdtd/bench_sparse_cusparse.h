/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::benchmarks {

//! The peer of the sparse product in cuSPARSE: y += A x of float, with compressed rows or
//! sliced ELL of 32 rows a slice.
class cusparse_product
{
public:
    //! The views must outlive the object.
    cusparse_product(queue& q,
                     const kernels::sparse_matrix<float>& a,
                     view<float> x,
                     view<float> y,
                     bool sliced);
    ~cusparse_product();

    void run();
    size_t matrix_bytes() const;

private:
    struct state;
    std::unique_ptr<state> d_state;
};

} // namespace gr::cudaphy::benchmarks
