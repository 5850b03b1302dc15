/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief A finite-difference time-domain scheme in matrix form.
 *
 * Source 5 writes a time step as [e] += [RH] [h]; [h] += [RE] [e]. Here all field values
 * are one vector, the state, and a time step is a list of updates in order. Each update
 * adds the product of a sparse matrix and the whole state to one run of the state:
 *
 *     state[first ... first + rows) += matrix * state
 *
 * A row may read its own element (a loss is a diagonal entry below 0), but no other
 * element that its update changes. So the rows of an update may be done in any order, in
 * place. Absorbing layers and dispersive materials keep their memory in
 * further elements of the state with updates of their own.
 */
template <typename T>
struct CUDAPHY_API fdtd_system {
    struct update {
        int64_t first = 0;
        sparse_matrix<T> matrix; //!< columns == size
    };
    //! An excitation, which acts at each time step right after update `after` (its
    //! index).
    struct source {
        int64_t element = 0;
        size_t after = 0;
        T coefficient = 1; //!< times the excitation
        bool hard = false; //!< replaces the element instead of being added to it
    };
    //! A value that is read at the end of each time step.
    struct probe {
        int64_t element = 0;
        T coefficient = 1;
    };

    int64_t size = 0; //!< elements of the state
    std::vector<update> updates;
    std::vector<source> sources;
    std::vector<probe> probes;
    double time_step = 0;         //!< seconds
    double largest_time_step = 0; //!< the limit of stability, seconds; 0: not known

    //! \throws std::invalid_argument if an update reaches beyond the state, a row takes
    //! another element of its own update's run, or a source or a probe stands outside;
    //! what() names it.
    void validate() const;
};

} // namespace gr::cudaphy::kernels
