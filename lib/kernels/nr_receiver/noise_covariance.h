/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

/*!
 * \brief Covariance of noise and interference over antennas, for each bundle of tones.
 *
 * Sample covariances of few samples are noisy. So each bundle's is drawn towards that of
 * all bundles, and this towards the unit matrix, each by the share of their difference
 * that chance explains: for a sample covariance S of n complex Gaussian vectors that is
 * tr(S)^2 / n (Ledoit and Wolf, J. Multivariate Analysis 88, 2004).
 */
struct noise_covariance {
    int antennas = 0, bundle_tones = 0;
    double mean = 0; //!< noise variance of an antenna
    //! Differences are significant, or always asked for. Else noise is white.
    bool colored = false;
    std::vector<complex64> matrices; //!< (bundles, antennas, antennas)
};

//! Sums of products of residuals, from which find_noise_covariance() estimates.
struct residual_sums {
    residual_sums(int antennas, int bundles)
        : antennas(antennas), products(size_t(bundles) * antennas * antennas),
          samples(bundles)
    {
    }
    int antennas;
    std::vector<complex128> products; //!< r r^H, lower triangle, (bundles, Nr, Nr)
    std::vector<double> samples;      //!< degrees of freedom, (bundles)
};

//! \param scale  of the variance: residuals have it over this
//! \param always  colored, also without significant differences
noise_covariance
find_noise_covariance(const residual_sums&, int bundle_tones, double scale, bool always);

} // namespace gr::cudaphy::kernels::nr
