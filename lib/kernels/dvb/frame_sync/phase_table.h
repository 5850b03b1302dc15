/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace gr::cudaphy::kernels {

// Rings of 32 points, the most there are, tell by the 32nd harmonic.
constexpr int most_quarters = 8, most_harmonics = 3, phase_bins = 64;
constexpr float most_amplitude = 2.5f; //!< of the bins

/*!
 * \brief What a data symbol r = rho exp(j theta) says of the carrier's phase phi.
 *
 * ln p(r | phi) is periodic in theta - phi. Its Fourier series is cut to the harmonics
 * that tell most: ln p = const + sum over h of Re(c_h(rho) exp(j m_h (theta - phi))),
 * where m_h is a multiple of 4, so that scrambling does not matter. One harmonic is the
 * estimator of Viterbi and Viterbi (IEEE Trans. Inf. Theory 29(4), 1983) with the
 * amplitudes weighted best.
 */
struct phase_table {
    std::vector<int> quarters; //!< m_h / 4, 1 to most_quarters
    //! c_h by amplitude; bin i is for amplitudes about (i + 0.5) most_amplitude / bins.
    std::array<std::array<float, phase_bins>, most_harmonics> re{}, im{};

    //! \param points          of unit mean energy, all as likely
    //! \param noise_variance  E|n|^2, above 0
    static phase_table make(const std::vector<std::complex<float>>& points,
                            double noise_variance);
};

/*!
 * Sums of exp(j m_h theta) c_h over each of `blocks` blocks of `symbols` symbols, the
 * frequency taken off about each block's middle (symbols - 1) / 2.
 * \param in      blocks * symbols, finite
 * \param gain    that brings them to unit mean energy of the points
 * \param out     blocks * the table's harmonics, a block's together
 */
void phase_sums(const phase_table& table,
                const std::complex<float>* in,
                size_t blocks,
                size_t symbols,
                double frequency,
                float gain,
                std::complex<float>* out);

} // namespace gr::cudaphy::kernels
