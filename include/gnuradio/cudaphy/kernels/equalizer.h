/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the layers are separated.
enum class detector { zero_forcing, mmse, mmse_irc, max_ratio };

//! "zf", "mmse", "mmse_irc" or "mrc". \throws std::invalid_argument for another name.
CUDAPHY_API detector detector_from_name(const std::string& name);

//! The way to W: orthogonalise the columns of H, or invert Hᴴ H + N0 I.
enum class equalizer_route { solve, inverse };

//! "solve" or "inverse". \throws std::invalid_argument for another name.
CUDAPHY_API equalizer_route equalizer_route_from_name(const std::string& name);

/*!
 * \brief Separates the spatial layers of received vectors: x = W y, with W from each
 * tone's channel matrix.
 *
 * | detector | W | noise variance after it, layer i |
 * |---|---|---|
 * | zero_forcing | (Hᴴ H)⁻¹ Hᴴ | N0 ((Hᴴ H)⁻¹)_ii |
 * | mmse | (Hᴴ H + N0 I)⁻¹ Hᴴ | b_i (1 − b_i); unbiased (1 − b_i) / b_i |
 * | mmse_irc | (Hᴴ R⁻¹ H + I)⁻¹ Hᴴ R⁻¹ | as mmse |
 * | max_ratio | row i is h_iᴴ / (h_iᴴ h_i) | below |
 *
 * b_i is (W H)_ii, h_i is column i of H, and R is the covariance of interference and
 * noise. The noise after max_ratio is N0 / |h_i|² + Σ_j≠i |h_iᴴ h_j|² / |h_i|⁴. MMSE and
 * max_ratio assume layers of unit mean energy.
 *
 * Unbiased MMSE divides layer i by b_i. Then x_i = s_i + noise of the variance given,
 * which is what a soft demapper assumes; max_ratio has no bias. With one layer, max_ratio
 * is the best receiver in white noise. With more, each layer's matched filter treats the
 * other layers as noise. (Tse and Viswanath, Fundamentals of Wireless Communication,
 * sections 3.3 and 8.3; for the covariance, Winters, IEEE J. Sel. Areas Commun. 2(4),
 * 1984.)
 *
 * Some inputs can't be used: a channel matrix, noise variance or covariance that is not
 * finite; a noise variance that is not positive; a covariance that is not positive
 * definite; for zero forcing, an H without full column rank. Every vector that such an
 * input serves gets x = 0 and noise = +inf, so that its LLRs are 0, and the status is not
 * 0. With max_ratio, a column of zeros erases its own layer only. A received vector that
 * is not finite gives x = 0 and noise = +inf for that vector only.
 *
 * Up to 16 antennas, the route `solve` keeps the accuracy that H allows: it squares
 * nothing. The route
 * `inverse` (zero_forcing and mmse) inverts the Gram matrices by the kernel `inverse`
 * (inverse.h, full pivoting). That squares H's condition: in floats, zero forcing fails
 * near a condition of 1e3.
 *
 * More than 16 antennas go by the Gram matrix G = Hᴴ R⁻¹ H, of the order of the layers,
 * whatever the route: x = (G + I)⁻¹ (Hᴴ R⁻¹ y), with R's Cholesky factor, and R = N0 I if
 * a noise variance is given. The rules above hold with other limits, because G rounds:
 * for zero forcing, a column depends on those before it if the part outside their span
 * has no more than 2⁻¹⁸ of its energy; and MMSE takes a layer to be no more than 60 dB
 * above the noise, after combining over all antennas.
 */
class CUDAPHY_API equalizer
{
public:
    struct parameters {
        int receive_antennas; //!< Nr, 1..128
        int layers;           //!< Nt, 1..16; zero_forcing: 1..min(16, Nr)
        detector method = detector::mmse;
        bool unbiased = true; //!< of mmse and mmse_irc
        int symbols = 1;      //!< vectors that one channel matrix serves, 1..65536
        int tones = 1;        //!< channel matrices in one group, 1..65536
        equalizer_route route = equalizer_route::solve;
    };

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<equalizer>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~equalizer() = default;

    /*!
     * Equalises a batch of groups in one launch; returns before the device has finished
     * if `queue` is a device's.
     * \param y           received vectors, (groups, symbols, tones, Nr): all tones of a
     *                    symbol, then the next symbol
     * \param h           channel, (groups, tones, Nr, Nt): one matrix for all symbols of
     *                    a tone; or, if n0 has one item, (1, tones, Nr, Nt) for all
     *                    groups
     * \param n0          noise variance per receive antenna, linear: (groups), or (1) for
     *                    all; mmse_irc takes it as R = N0 I
     * \param[out] x      layers, (groups, symbols, tones, Nt)
     * \param[out] noise  noise variance after equalisation, linear, as x
     * \param[out] status per channel matrix: 0; k = 1..Nt if column k of H depends on
     *                    those before it (max_ratio: if it is 0); -1 if H, N0 or R
     *                    can't be used, (groups, tones) or as h, (1, tones)
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const complex64> y,
                     view<const complex64> h,
                     view<const float> n0,
                     view<complex64> x,
                     view<float> noise,
                     view<int> status,
                     queue& queue) = 0;

    /*!
     * The same for mmse_irc with a covariance of interference and noise.
     * \param covariance  E[n nᴴ] of a received vector's noise n, Hermitian, of which the
     *                    lower triangle is read: (groups, tones, Nr, Nr),
     *                    (groups, Nr, Nr) or (1, Nr, Nr)
     * \throws std::invalid_argument for another detector.
     */
    virtual void run(view<const complex64> y,
                     view<const complex64> h,
                     view<const complex64> covariance,
                     view<complex64> x,
                     view<float> noise,
                     view<int> status,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
