/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_decoder.h>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief Decodes batches with codewords of several codes, as adaptive coding needs them.
 * Codes may differ in rate, length and family.
 *
 * Each word has the same result as with its code's ldpc_decoder. On CUDA, in int8
 * arithmetic, codes whose blocks have equally many threads share a launch; the rates of
 * one family and length do. Long frames, such as DVB-S2's normal ones, would gain
 * nothing, because each word fills a multiprocessor; each of these codes has a launch of
 * its own.
 */
class CUDAPHY_API ldpc_mixed_decoder
{
public:
    //! \throws std::invalid_argument if there is no code, one is null, or as
    //! ldpc_decoder::make(); backend_unavailable as resolve().
    static std::unique_ptr<ldpc_mixed_decoder>
    make(const std::vector<ldpc_code::sptr>& codes,
         const ldpc_decoder::parameters&,
         backend where = backend::automatic,
         int device = 0);
    virtual ~ldpc_mixed_decoder() = default;

    //! The words of one code.
    struct part {
        int code;                   //!< number of make()'s `codes`, from 0
        ldpc_decoder::received llr; //!< (words, n)
        ldpc_decoder::results out;
    };

    /*!
     * Decodes a batch; returns before the device has finished if `queue` is a device's.
     * \param parts  in any order; of each code one at most, of any number of words
     * \throws std::invalid_argument for an unknown code, two parts of one code, or types
     * and sizes that do not fit; nothing is decoded then
     */
    virtual void run(const std::vector<part>& parts, queue& queue) = 0;

    //! Waits until run() has its full speed for every code, as ldpc_decoder::prepare().
    virtual void prepare() = 0;

    //! Launches that a batch with words of these codes takes after prepare(). Before, it
    //! may take one a code.
    virtual int launches(const std::vector<int>& codes) const = 0;
};

} // namespace gr::cudaphy::kernels
