/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <string>

namespace gr::cudaphy::kernels {

//! How estimates are made from pilots.
enum class pilot_method { least_squares, mmse };

//! "ls" or "mmse". \throws std::invalid_argument for another name.
CUDAPHY_API pilot_method pilot_method_from_name(const std::string&);

/*!
 * \brief Estimates MIMO channel matrices and the noise variance from known pilots, by
 * least squares or by MMSE.
 *
 * In pilot symbol p, layer t sends P(p, t) on every tone, or P(p, k, t) on tone k. The
 * received pilots of tone k are Y = P Hᵀ + noise, Y (pilot symbols, Nr), H (Nr, Nt).
 * If all layers are silent in a symbol of a tone, the sample received there is ignored:
 * it may be data.
 *
 * Least squares, pilots alike on every tone: Hᵀ = (Pᴴ P)⁻¹ Pᴴ Y, tone by tone. (Kay,
 * Fundamentals of Statistical Signal Processing, vol. 1, ch. 4: the minimum-variance
 * unbiased estimator of a linear model in white noise.)
 *
 * Least squares, pilots that differ from tone to tone: an estimate is made from the
 * fewest consecutive tones that tell their layers apart. It holds at their centre and
 * takes the channel as constant over them. Straight lines in frequency join the
 * estimates, and go on beyond the first and the last.
 *
 * MMSE: the linear estimator of least mean square error (Kay, ch. 12; for OFDM Edfors et
 * al., IEEE Trans. Commun. 46(7), 1998) for a channel of mean energy 1, of independent
 * layers and antennas, with an exponential power delay profile that begins at
 * first_delay: E[H(k + d) H(k)*] = exp(-2πi d first_delay) / (1 + 2πi d delay_spread),
 * and the ratio snr_db. Each estimate is made from the `window` pilots nearest in
 * frequency. Delays are in useful symbol durations, the inverse of the tone spacing. A
 * symbol that is received early by d samples, with an FFT of n, has its first delay at d
 * / n. The estimator suits channels with less spread, too. A channel with more spread, or
 * a scale far from 1, costs accuracy.
 *
 * Without `times` there is one estimate a tone for the whole slot, made from all pilot
 * symbols. With `times`, the channel is estimated from each group_symbols pilot symbols.
 * The estimates at `times` interpolate these on each tone: by straight lines, or, with a
 * `doppler`, by the MMSE interpolator of a channel whose correlation over time is
 * J0(2π doppler (time)) (Clarke's model).
 *
 * The noise variance (E|n|² of one complex sample) is unbiased. It comes from the energy
 * that no channel explains. If a tone has more pilot symbols than layers, that is the
 * energy outside of the span of its pilots, over its degrees of freedom. Else it comes
 * from combinations of neighbouring tones in which a channel that is locally linear in
 * frequency cancels (MMSE: a channel of the delays given). With pilots alike on every
 * tone these are second differences, and at least 3 tones are needed.
 *
 * An equalizer takes its channel as exact. But noise in the pilots causes errors e in the
 * estimates, of mean square E|e|² over an element's tones and times. All Nt layers, of
 * unit energy, carry these errors into the received data. So the equalizer meets the
 * noise N0 + Nt E|e|² (Hassibi and Hochwald, IEEE Trans. Inf. Theory 49(4), 2003).
 * `errors_as_noise` gives this sum as n0. Its ratio to N0 follows from pilots and method,
 * and is the same for all slots.
 *
 * An item (one slot) with a received pilot that is not finite gets noise variance = NaN
 * and status -1, which an equalizer turns into erasures. Its H is 0; by least squares
 * with pilots alike on every tone, only on that tone. Other items are not affected.
 */
class CUDAPHY_API channel_estimator
{
public:
    struct parameters {
        int receive_antennas; //!< Nr, 1..128
        int layers;           //!< Nt, 1..16
        int tones;            //!< 1..65536
        //! P, (pilot symbols, layers) of full column rank; with pilots_by_tone (pilot
        //! symbols, tones, layers)
        std::vector<complex64> pilots;
        bool pilots_by_tone = false;
        //! The position of each tone in tone spacings, ascending, as subcarrier indices
        //! are; empty: 0, 1, ...
        std::vector<int> tone_numbers = {};
        pilot_method method = pilot_method::least_squares;
        double delay_spread = 0.02; //!< MMSE: rms, 0..1
        double first_delay = 0;     //!< MMSE: -1..1
        double snr_db = 20; //!< MMSE: of a pilot of energy 1 at one antenna, -50..100
        int window = 64;    //!< MMSE: pilots that an estimate is made from, 1..1024
        //! The time of each pilot symbol, in symbols; empty: 0, 1, ...
        std::vector<double> pilot_times = {};
        //! The times of the estimates, up to 1024; empty: one estimate for the slot
        std::vector<double> times = {};
        //! With `times`: the pilot symbols that tell the layers apart; 0: all. There are
        //! up to 16 groups.
        int group_symbols = 0;
        //! For the interpolation over time, in turns a symbol, up to 0.5; 0: straight
        //! lines
        double doppler = 0;
        bool errors_as_noise = false; //!< n0 = N0 + Nt E|e|², for an equalizer
    };

    //! \throws std::invalid_argument if a parameter is out of range, or the pilots can't
    //! tell the layers apart;
    //!         backend_unavailable as resolve() does.
    static std::unique_ptr<channel_estimator>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~channel_estimator() = default;

    /*!
     * Estimates a batch in one launch; returns before the device has finished if `queue`
     * is a device's. T is the number of times, or 1 without any.
     * \param received    pilots as received, (batch, pilot symbols, tones, Nr)
     * \param[out] h      channel, (batch, T, tones, Nr, Nt)
     * \param[out] n0     noise variance, linear, (batch, T), the same at all times; with
     *                    errors_as_noise, N0 + Nt E|e|²
     * \param[out] status 0, or -1 if a received pilot is not finite, (batch)
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
