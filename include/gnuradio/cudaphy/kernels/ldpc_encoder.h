/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Encodes batches of information words: fills each codeword's information
 * positions and solves H c = 0.
 *
 * Bits are bytes of value 0 or 1; of other values the lowest bit counts. Packed bits
 * stand eight in a byte, the first one highest, and each word begins with a new byte.
 * Bits beyond a word's end are ignored in the input and 0 in the output.
 *
 * Every backend gives the same words. H may have any rank. If columns are punctured or
 * shortened, words hold the transmitted columns, in the order of
 * ldpc_code::transmitted().
 */
class CUDAPHY_API ldpc_encoder
{
public:
    struct parameters {
        bool packed_input = false;  //!< eight information bits a byte
        bool packed_output = false; //!< eight codeword bits a byte
    };

    //! \throws std::invalid_argument for a null code, or for a code without structure
    //! whose parity bits need the inverse of a dense matrix of more than 8192 rows;
    //! backend_unavailable as resolve() does.
    static std::unique_ptr<ldpc_encoder>
    make(ldpc_code::sptr code, backend where = backend::automatic, int device = 0);
    static std::unique_ptr<ldpc_encoder> make(ldpc_code::sptr code,
                                              const parameters&,
                                              backend where = backend::automatic,
                                              int device = 0);
    virtual ~ldpc_encoder() = default;

    /*!
     * Encodes a batch; returns before the device has finished if `queue` is a device's.
     * \param info       information words, (batch, k); packed (batch, ⌈k / 8⌉)
     * \param[out] words codewords, (batch, n); packed (batch, ⌈n / 8⌉)
     * \throws std::invalid_argument if the views don't fit each other.
     */
    virtual void run(view<const uint8_t> info, view<uint8_t> words, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
