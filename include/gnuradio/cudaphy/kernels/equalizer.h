/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the layers are separated.
enum class detector { zero_forcing, mmse };

//! "zf" or "mmse". \throws std::invalid_argument for another name.
CUDAPHY_API detector detector_from_name(const std::string& name);

/*!
 * \brief Separates the spatial layers of received vectors: x = W y, with W from each
 * tone's channel matrix.
 *
 * Zero forcing takes W = (Hᴴ H)⁻¹ Hᴴ; MMSE takes W = (Hᴴ H + N0 I)⁻¹ Hᴴ, for layers of
 * unit mean energy. Unbiased MMSE divides layer i by b_i = (W H)_ii, so that x_i = s_i +
 * noise of variance (1 − b_i) / b_i, which is what a soft demapper assumes. The noise
 * reported is N0 ((Hᴴ H)⁻¹)_ii for zero forcing, (1 − b_i) / b_i for unbiased MMSE, and
 * b_i (1 − b_i) for biased MMSE. (Tse and Viswanath, Fundamentals of Wireless
 * Communication, section 8.3.)
 *
 * A channel matrix or noise variance that is not finite, a noise variance that is not
 * positive, or (zero forcing) an H without full column rank gives x = 0 and noise = +inf
 * for every vector it serves, so that their LLRs are 0, and a status other than 0. A
 * received vector that is not finite gives x = 0 and noise = +inf for that vector alone.
 */
class CUDAPHY_API equalizer
{
public:
    struct parameters {
        int receive_antennas; //!< Nr, 1..16
        int layers;           //!< Nt, 1..Nr
        detector method = detector::mmse;
        bool unbiased = true;
        int symbols = 1; //!< vectors that one channel matrix serves, 1..65536
        int tones = 1;   //!< channel matrices in one group, 1..65536
    };

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<equalizer>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~equalizer() = default;

    /*!
     * Equalises a batch of groups in one launch; returns before the device has finished
     * if `queue` is a device's. \param y           received vectors, (groups, symbols,
     * tones, Nr) \param h           channel, (groups, tones, Nr, Nt) \param n0 noise
     * variance per receive antenna, linear: (groups), or (1) for all \param[out] x
     * layers, (groups, symbols, tones, Nt) \param[out] noise  noise variance after
     * equalisation, linear, (groups, symbols, tones, Nt) \param[out] status per channel
     * matrix: 0; k = 1..Nt if the Cholesky factorisation of the Gram matrix stopped in
     *                    step k; -1 if H or N0 is not finite or N0 not positive, (groups,
     * tones)
     */
    virtual void run(view<const complex64> y,
                     view<const complex64> h,
                     view<const float> n0,
                     view<complex64> x,
                     view<float> noise,
                     view<int> status,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
