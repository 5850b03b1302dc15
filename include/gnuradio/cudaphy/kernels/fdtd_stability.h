/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <gnuradio/cudaphy/kernels/fdtd_system.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief The eigenvalues that decide whether e += RH h; h += RE e stays bounded.
 *
 * An eigenvalue x of -RH RE has two factors a time step, the roots of
 * m^2 - (2 - x) m + 1 = 0: both have modulus 1 if x is real and in [0, 4], else one is
 * greater than 1.
 */
struct CUDAPHY_API fdtd_stability {
    //! RE = -P RH^T Q with positive diagonal P and Q, as grids without loss have: every
    //! eigenvalue is real and at least 0.
    bool adjoint = false;
    //! An eigenvalue that is not real and at least 0, if any was found; else the one of
    //! largest modulus.
    std::complex<double> eigenvalue = 0;
    //! False if stepping the pair showed fields that grow with every time step, however
    //! short.
    bool bounded = true;

    bool oscillates() const; //!< real and at least 0, but for rounding
    bool stable() const;     //!< and at most 4, but for rounding
    //! The largest factor for both matrices, if oscillates(); +inf if the eigenvalue is
    //! 0.
    double largest_factor() const;
};

/*!
 * Finds the eigenvalue by Lanczos' method where the pair is adjoint, in some hundred
 * products; else by power iteration, and then by stepping the pair some thousand times,
 * in which an eigenvalue that is complex or negative by more than about 1e-5 shows.
 *
 * \throws std::invalid_argument if the matrices' sizes do not fit each other or a value
 * is not finite.
 */
template <typename T>
CUDAPHY_API fdtd_stability fdtd_stability_of(const sparse_matrix<T>& rh,
                                             const sparse_matrix<T>& re);

/*!
 * The system of a pair that was made elsewhere: its state is e, then h.
 * \param time_step  seconds, if it has any
 * \throws std::invalid_argument as fdtd_stability_of(), and if the pair is not stable:
 * what() gives the largest factor, or the eigenvalue that no factor helps.
 */
template <typename T>
CUDAPHY_API fdtd_system<T> fdtd_from_matrices(const sparse_matrix<T>& rh,
                                              const sparse_matrix<T>& re,
                                              double time_step = 0);

} // namespace gr::cudaphy::kernels
