/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/triangular_solve.h>

// Between triangular_solve.cc and the backends' files; not installed.

namespace gr::cudaphy::kernels {

//! What the views' sizes come to.
struct triangular_solve_sizes {
    size_t batch;
    size_t matrices; //!< in l: 1, or batch
};

//! \throws std::invalid_argument if the sizes do not fit each other, if the workspace is
//! smaller than workspace_bytes(), or if `queue` can't reach the memory that a kernel on
//! `where` works on.
template <typename T>
triangular_solve_sizes
triangular_solve_check(const triangular_solve<T>& kernel,
                       const typename triangular_solve<T>::parameters&,
                       view<const T> l,
                       view<const T> b,
                       view<T> x,
                       view<int> status,
                       view<unsigned char> workspace,
                       const queue& queue,
                       backend where);

} // namespace gr::cudaphy::kernels
