/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Estimates MIMO channel matrices and the noise variance from known pilots, tone
 * by tone, by least squares.
 *
 * In pilot symbol p, layer t sends pilots(p, t) on every tone. The received pilots of one
 * tone are Y = P Hᵀ + noise, Y (pilot symbols, Nr), P (pilot symbols, Nt), H (Nr, Nt),
 * and the estimate is Hᵀ = (Pᴴ P)⁻¹ Pᴴ Y. (Kay, Fundamentals of Statistical Signal
 * Processing, vol. 1, ch. 4: the minimum-variance unbiased estimator of a linear model in
 * white noise.)
 *
 * The noise variance (E|n|² of one complex sample) is, with more pilot symbols than
 * layers, the residual ‖Y − P Hᵀ‖² over its degrees of freedom, tones · Nr · (pilot
 * symbols − Nt). With as many pilot symbols as layers nothing remains; then it comes from
 * the second differences of the estimates over neighbouring tones, which cancel a channel
 * that is locally linear in frequency, and at least 3 tones are needed.
 *
 * An item (one group of tones) in which a received pilot is not finite gets H = 0 on that
 * tone, noise variance = NaN and status -1, which an equalizer turns into erasures. It
 * harms no other item.
 */
class CUDAPHY_API channel_estimator
{
public:
    struct parameters {
        int receive_antennas;          //!< Nr, 1..16
        int layers;                    //!< Nt, 1..16
        int tones;                     //!< 1..65536
        std::vector<complex64> pilots; //!< P, (pilot symbols, layers), full column rank
    };

    //! \throws std::invalid_argument if a parameter is out of range or P has no full
    //! column rank;
    //!         backend_unavailable as resolve() does.
    static std::unique_ptr<channel_estimator>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~channel_estimator() = default;

    /*!
     * Estimates a batch in one launch; returns before the device has finished if `queue`
     * is a device's. \param received    pilots as received, (batch, pilot symbols, tones,
     * Nr) \param[out] h      channel, (batch, tones, Nr, Nt) \param[out] n0     noise
     * variance, linear, (batch) \param[out] status 0, or -1 where a received pilot is not
     * finite, (batch)
     */
    virtual void run(view<const complex64> received,
                     view<complex64> h,
                     view<float> n0,
                     view<int> status,
                     queue& queue) = 0;
};

//! Pilots (pilot symbols, layers) with orthogonal columns of unit modulus: the first
//! columns of a DFT matrix. \throws std::invalid_argument unless 1 <= layers <=
//! pilot_symbols.
CUDAPHY_API std::vector<complex64> orthogonal_pilots(int pilot_symbols, int layers);

} // namespace gr::cudaphy::kernels
