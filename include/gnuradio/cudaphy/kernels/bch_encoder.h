/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/bch_code.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! \brief How the bits of words lie in memory. Unpacked: a byte of value 0 or 1 each; of
//! other values the lowest bit counts. Packed: eight a byte, the first one highest; each
//! word begins with a byte of its own, and the bits behind a word's last one are ignored
//! coming in and 0 going out.
struct bch_packing {
    bool packed_input = false;  //!< eight bits a byte
    bool packed_output = false; //!< eight bits a byte
};

//! \brief Appends the parity bits of a BCH code to batches of information words. Every
//! backend gives the same words.
class CUDAPHY_API bch_encoder
{
public:
    //! \throws std::invalid_argument for a null code; backend_unavailable as resolve()
    //! does.
    static std::unique_ptr<bch_encoder> make(bch_code::sptr code,
                                             const bch_packing& packing = {},
                                             backend where = backend::automatic,
                                             int device = 0);
    virtual ~bch_encoder() = default;

    /*!
     * Encodes a batch; returns before the device has finished if `queue` is a device's.
     * \param info       information words, (batch, k); packed (batch, ⌈k / 8⌉)
     * \param[out] words codewords, (batch, n); packed (batch, ⌈n / 8⌉)
     * \throws std::invalid_argument if the views don't fit each other.
     */
    virtual void run(view<const uint8_t> info, view<uint8_t> words, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
