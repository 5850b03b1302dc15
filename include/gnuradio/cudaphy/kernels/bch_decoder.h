/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/bch_encoder.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Corrects up to t errors in each word of a batch (bounded distance decoding), and
 * gives the information bits.
 *
 * A word with more errors is mostly told, and its information bits are then given as they
 * came. Every backend gives the same bits and counts.
 */
class CUDAPHY_API bch_decoder
{
public:
    //! Of corrected(): the word is no codeword with at most t errors.
    static constexpr int32_t failed = -1;

    //! \throws std::invalid_argument for a null code; backend_unavailable as resolve()
    //! does.
    static std::unique_ptr<bch_decoder> make(bch_code::sptr code,
                                             const bch_packing& packing = {},
                                             backend where = backend::automatic,
                                             int device = 0);
    virtual ~bch_decoder() = default;

    //! Bytes of workspace that run() needs for a batch, in the queue's memory.
    virtual size_t workspace_bytes(size_t batch) const = 0;

    /*!
     * Decodes a batch; returns before the device has finished if `queue` is a device's.
     * \param words          received words, (batch, n); packed (batch, ⌈n / 8⌉)
     * \param[out] info      information words, (batch, k); packed (batch, ⌈k / 8⌉)
     * \param[out] corrected bits that were wrong in each word, parity bits among them, or
     *                       `failed`; (batch)
     * \param workspace      workspace_bytes(batch) bytes, aligned to 16
     * \throws std::invalid_argument if the views don't fit each other.
     */
    virtual void run(view<const uint8_t> words,
                     view<uint8_t> info,
                     view<int32_t> corrected,
                     view<uint8_t> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
