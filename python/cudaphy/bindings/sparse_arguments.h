/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "arrays.h"
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::bindings {

using indices = numpy_array<int64_t>;

template <typename T>
view<const T> view_of(const numpy_array<T>& from)
{
    return { from.data(), size_t(from.size()) };
}

template <typename T>
kernels::sparse_matrix<T> matrix_of(int64_t rows,
                                    int64_t columns,
                                    const indices& row_start,
                                    const indices& column,
                                    const numpy_array<T>& value)
{
    return kernels::sparse_matrix<T>::from_crs(
        rows, columns, view_of(row_start), view_of(column), view_of(value));
}

} // namespace gr::cudaphy::bindings
