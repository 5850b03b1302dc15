/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/constellation.h>
#include <gnuradio/cudaphy/kernels/float16.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief The block interleaver of DVB-S2 and S2X, which spreads a frame's bits over
 * symbols: bit i of symbol r, first-sent bit 0, is bit columns[i] * symbols + r of the
 * frame. (ETSI EN 302 307-1 and -2, section 5.3.3.)
 */
struct CUDAPHY_API bit_interleaver {
    //! The order in which a symbol's bits are read from the columns, a digit a bit:
    //! "012", "210"; empty: bits are not interleaved.
    std::string columns;
    int symbols = 0; //!< of a frame, which are the rows; at least 1
    //! Of a frame, without the padding behind them; 0: symbols times the bits of each.
    int bits = 0;
};

/*!
 * \brief The noise variances of a batch's symbols: one for each, or one for all, in the
 * queue's memory; or one number for all.
 */
class noise_variances
{
public:
    noise_variances(float for_all) : d_for_all(for_all) {}
    template <typename Views,
              typename = std::enable_if_t<
                  std::is_convertible_v<const Views&, view<const float>>>>
    noise_variances(const Views& views) : d_views(views), d_is_number(false)
    {
    }
    bool is_number() const { return d_is_number; }
    float number() const { return d_for_all; }
    const float* address() const { return &d_for_all; } //!< of number(), on the host
    view<const float> in_memory() const { return d_views; }

private:
    view<const float> d_views;
    float d_for_all = 0;
    bool d_is_number = true;
};

/*!
 * \brief Turns received symbols into log-likelihood ratios of their bits.
 *
 * For symbol x with noise of variance N (E|n|², both dimensions together), bit b:
 * LLR = ln Σ_{s: b(s)=0} exp(−|x−s|²/N) − ln Σ_{s: b(s)=1} exp(−|x−s|²/N), or with
 * max-log, each sum's largest term only. A positive LLR means 0 (`llr_positive` = 1 turns
 * the sign).
 *
 * A noise variance that is not finite or not positive, or a symbol that is not finite,
 * gives LLRs of 0: an erasure.
 *
 * LLRs come as float32, as float16, or as int8 in steps of 1 / llr_steps: float16
 * saturates at 65504, int8 at 127 steps, and both are rounded to the nearest, ties to
 * even.
 */
class CUDAPHY_API soft_demapper
{
public:
    struct parameters {
        constellation points;
        bool max_log = true;
        int llr_positive = 0; //!< the bit that a positive LLR means, 0 or 1
        float llr_steps = 12; //!< of int8, in a unit of LLR, above 0, at most 1e6
        bit_interleaver interleaver = {}; //!< to be undone
    };

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<soft_demapper>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~soft_demapper() = default;

    /*!
     * Demaps a batch in one launch; returns before the device has finished if `queue` is
     * a device's.
     * \param x         symbols, (symbols); with an interleaver whole frames
     * \param noise     noise variance, linear: (symbols), or (1) for all, or a number
     * \param[out] llr  natural-log LLRs, first-sent bit first, (symbols, bits); with an
     *                  interleaver in the order of the frame's bits, (frames, bits)
     */
    virtual void run(view<const complex64> x,
                     const noise_variances& noise,
                     view<float> llr,
                     queue& queue) = 0;
    virtual void run(view<const complex64> x,
                     const noise_variances& noise,
                     view<float16> llr,
                     queue& queue) = 0;
    virtual void run(view<const complex64> x,
                     const noise_variances& noise,
                     view<int8_t> llr,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
