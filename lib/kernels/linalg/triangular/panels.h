/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>

// Between the CPU backends of triangular_inverse (orders above 32) and triangular_solve;
// not installed.

namespace gr::cudaphy::kernels {

/*!
 * \brief L X = B by substitution, vectorised along the columns of B, for a batch of
 * row-major matrices; the other triangle is not read.
 *
 * A column of X needs no other one, so that the cores share out panels of columns.
 */
template <typename T>
struct triangular_panels {
    int order;
    bool lower;
    bool unit_diagonal;
    int columns; //!< of B and X
    bool same_l; //!< one L for the whole batch
    const T* l;  //!< (batch or 1, N, N)
    const T* b;  //!< (batch, N, columns), or null for the unit matrix
    T* x;        //!< (batch, N, columns); without B may be L
    int* status; //!< (batch): 0; -1 if the triangle or B is not finite; else the first
                 //!< row with a zero on the diagonal; else -1 if X is not finite

    //! Solves on all cores. X = 0 if the status is not 0.
    void run(size_t batch) const;
};

} // namespace gr::cudaphy::kernels
