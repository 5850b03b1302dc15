/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the layers are separated.
enum class detector { zero_forcing, mmse, mmse_irc, max_ratio };

//! "zf", "mmse", "mmse_irc" or "mrc". \throws std::invalid_argument for another name.
CUDAPHY_API detector detector_from_name(const std::string& name);

//! How W is found: by orthogonalising the columns of H, or by way of the inverse of
//! Hᴴ H + N0 I.
enum class equalizer_route { solve, inverse };

//! "solve" or "inverse". \throws std::invalid_argument for another name.
CUDAPHY_API equalizer_route equalizer_route_from_name(const std::string& name);

/*!
 * \brief Separates the spatial layers of received vectors: x = W y, with W from each
 * tone's channel matrix.
 *
 * | detector | W | noise after it |
 * |---|---|---|
 * | zero_forcing | (Hᴴ H)⁻¹ Hᴴ | N0 ((Hᴴ H)⁻¹)_ii |
 * | mmse | (Hᴴ H + N0 I)⁻¹ Hᴴ, for layers of unit mean energy | b_i (1 − b_i), with b_i =
 * (W H)_ii; unbiased (1 − b_i) / b_i | | mmse_irc | (Hᴴ R⁻¹ H + I)⁻¹ Hᴴ R⁻¹, R the
 * covariance of interference and noise | as mmse | | max_ratio | row i: h_iᴴ / |h_i|²,
 * h_i column i of H | N0 / |h_i|² + Σ_j≠i |h_iᴴ h_j|² / |h_i|⁴ |
 *
 * Unbiased MMSE divides layer i by b_i, so that x_i = s_i + noise of the variance told,
 * which is what a soft demapper assumes; max_ratio has no bias. With one layer max_ratio
 * is the best receiver in white noise; with more, each layer's matched filter takes the
 * others for noise. (Tse and Viswanath, Fundamentals of Wireless Communication,
 * sections 3.3 and 8.3; for the covariance, Winters, IEEE J. Sel. Areas Commun. 2(4),
 * 1984.)
 *
 * A channel matrix, noise variance or covariance that is not finite, a noise variance
 * that is not positive, a covariance that is not positive definite, or (zero forcing) an
 * H without full column rank gives x = 0 and noise = +inf for every vector it serves, so
 * that their LLRs are 0, and a status other than 0; for max_ratio a column of zeros so
 * erases its own layer alone. A received vector that is not finite gives x = 0 and noise
 * = +inf for that vector alone.
 *
 * The route `solve` keeps the accuracy that H allows: nothing is squared. The route
 * `inverse` (zero_forcing and mmse) takes the batched inverse of the Gram matrix
 * (inverse.h, full pivoting), which squares H's condition: in floats zero forcing ends
 * near a condition of 1e3.
 */
class CUDAPHY_API equalizer
{
public:
    struct parameters {
        int receive_antennas; //!< Nr, 1..16
        int layers;           //!< Nt, 1..16; zero_forcing: 1..Nr
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
     * \param h           channel, (groups, tones, Nr, Nt): of tone t, for all symbols of
     *                    its group; or (1, tones, Nr, Nt) for all groups, where n0 has
     *                    one item
     * \param n0          noise variance per receive antenna, linear: (groups), or (1) for
     *                    all; mmse_irc takes it as R = N0 I
     * \param[out] x      layers, (groups, symbols, tones, Nt)
     * \param[out] noise  noise variance after equalisation, linear, as x
     * \param[out] status per channel matrix: 0; k = 1..Nt if column k of H depends on
     *                    those before it (max_ratio: is 0); -1 if H, N0 or R can't be
     *                    used, (groups, tones) or as h, (1, tones)
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
