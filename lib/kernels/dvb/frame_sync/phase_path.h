/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <vector>

namespace gr::cudaphy::kernels {

//! How likely each phase is at a place.
struct phase_likelihood {
    double at = 0; //!< in symbols
    //! The logarithm of the likelihood is Re(first_harmonic exp(-j phase)), and for data
    //! the sum over h of Re(blocks[h] exp(4 j quarters[h] (turn - phase))).
    std::complex<double> first_harmonic = 0;
    const std::complex<float>* blocks = nullptr;
    double turn = 0;
};

/*!
 * The most likely path of a phase that turns steadily and walks at random besides: for
 * each place the phase of the best path through it, unwrapped along the path, in radians.
 * \param start  the first harmonic of what is known of the phase at the first place
 * \param walk   variance of the phase's steps, in rad^2 a symbol
 * \param steps  either way, of `step` radians a symbol each: how fast the phase may turn
 * \param deviation  of the turning, in radians a symbol
 */
std::vector<double> likely_phase_path(const std::vector<phase_likelihood>& places,
                                      const std::vector<int>& quarters,
                                      std::complex<double> start,
                                      double walk,
                                      int steps,
                                      double step,
                                      double deviation);

} // namespace gr::cudaphy::kernels
