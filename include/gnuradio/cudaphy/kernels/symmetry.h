/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <optional>
#include <utility>

namespace gr::cudaphy::kernels {

/*!
 * \brief The first pair of elements, row by row, that keeps a matrix from being symmetric
 * (complex: Hermitian), as (i, j) with j < i, or j = i for a diagonal element that is not
 * real; nothing where there is none.
 *
 * Elements (i, j) and conj (j, i) differ if they do by more than 64 eps sqrt(m_i m_j),
 * m_i the largest modulus of row i: sums that were rounded in two orders are let pass.
 * NaN differs from nothing: it is the inverse's to tell.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 * \param a  in ordinary memory, (order, order), row-major
 */
template <typename T>
CUDAPHY_API std::optional<std::pair<int, int>> first_asymmetry(view<const T> a,
                                                               int order);

} // namespace gr::cudaphy::kernels
