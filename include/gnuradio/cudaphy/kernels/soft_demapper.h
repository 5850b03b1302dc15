/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/constellation.h>
#include <gnuradio/cudaphy/kernels/float16.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

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
    };

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<soft_demapper>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~soft_demapper() = default;

    /*!
     * Demaps a batch in one launch; returns before the device has finished if `queue` is
     * a device's.
     * \param x         symbols, (symbols)
     * \param noise     noise variance, linear: (symbols), or (1) for all
     * \param[out] llr  natural-log LLRs, first-sent bit first, (symbols, bits)
     */
    virtual void run(view<const complex64> x,
                     view<const float> noise,
                     view<float> llr,
                     queue& queue) = 0;
    virtual void run(view<const complex64> x,
                     view<const float> noise,
                     view<float16> llr,
                     queue& queue) = 0;
    virtual void run(view<const complex64> x,
                     view<const float> noise,
                     view<int8_t> llr,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
