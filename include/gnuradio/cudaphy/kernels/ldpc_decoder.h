/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Decodes batches of codewords by layered, normalised (scaled) min-sum message
 * passing.
 *
 * One iteration visits the code's layers in order. For each check of a layer and each of
 * its bits n, q_n = L_n − r_n; then r_n = s · ∏ sign(q_n') · min(1e4, |q_n'|) over the
 * check's other bits n', and L_n = q_n + r_n. The factor s is `scale`; or, where that is
 * 0, begins with the code's s_0 = default_scale() and halves its distance from 1 every 15
 * iterations: s_t = 1 − (1 − s_0) / 2^⌊t/15⌋ in iteration t = 0, 1, ... Decoding of a
 * codeword stops when the hard decisions of L fulfil every parity check, or after
 * `max_iterations`. (Scaled min-sum: Chen and Fossorier, IEEE Trans. Commun. 50(3), 2002,
 * and Lu Zouchen, CETC, 2018; layered schedule: Hocevar, IEEE SiPS 2004.)
 *
 * CPU and CUDA compute in float32, in the same order, without fused operations: they give
 * the same bits and the same iterations. A bit of L = ±0 decides 0. LLRs are clamped to
 * ±1e4; NaN counts as 0, an erasure.
 */
class CUDAPHY_API ldpc_decoder
{
public:
    struct parameters {
        int max_iterations = 20; //!< 1..1000
        //! Fixed factor of min-sum, above 0 to 1; 0: rising from the code's own.
        float scale = 0;
        bool early_stop = true;   //!< false: always max_iterations
        bool whole_words = false; //!< output n bits instead of the k information bits
        int llr_positive = 0;     //!< the bit that a positive LLR means, 0 or 1
    };

    //! \throws std::invalid_argument if a parameter is out of range or `code` is null;
    //! backend_unavailable as resolve().
    static std::unique_ptr<ldpc_decoder> make(ldpc_code::sptr code,
                                              const parameters&,
                                              backend where = backend::automatic,
                                              int device = 0);
    virtual ~ldpc_decoder() = default;

    /*!
     * Decodes a batch; returns before the device has finished if `queue` is a device's.
     * \param llr             (batch, n)
     * \param[out] bits       hard decisions, a byte each, 0 or 1: (batch, k), or (batch,
     * n) with whole_words \param[out] iterations run for each codeword,
     * 0..max_iterations: 0 where the LLRs' signs are a codeword already and early_stop is
     * set, (batch) \param[out] ok         1 where every parity check holds, else 0,
     * (batch)
     */
    virtual void run(view<const float> llr,
                     view<uint8_t> bits,
                     view<int> iterations,
                     view<int> ok,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
