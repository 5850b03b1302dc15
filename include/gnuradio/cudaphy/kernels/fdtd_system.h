/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief A finite-difference time-domain scheme in matrix form.
 *
 * Source 5 writes a time step as [e] += [RH] [h]; [h] += [RE] [e]. Here all field values
 * are one vector, the state, and a time step is a list of updates in their order; each
 * adds to one run of the state what a sparse matrix makes of the whole state:
 *
 *     state[first ... first + rows) += matrix * state
 *
 * A row may take its own element (a loss is a diagonal entry below 0), and otherwise none
 * of the elements that its own update changes, so that the rows of an update may be done
 * in any order, in place. Absorbing layers and dispersive materials keep their memory in
 * further elements of the state with updates of their own.
 */
template <typename T>
struct CUDAPHY_API fdtd_system {
    struct update {
        int64_t first = 0;
        sparse_matrix<T> matrix; //!< columns == size
    };
    //! What an excitation does at each time step, right after update `after` (its index).
    struct source {
        int64_t element = 0;
        size_t after = 0;
        T coefficient = 1; //!< times the excitation
        bool hard = false; //!< replaces the element instead of being added to it
    };
    //! What is read at the end of each time step.
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
