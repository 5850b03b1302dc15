/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy {

/*!
 * \brief Decodes PDUs of whole codewords of LDPC codes.
 * \ingroup cudaphy
 *
 * In, message port `pdus`: metadata and a vector of LLRs (docs/conventions.md): f32, or
 * s8, or u8 whose bytes are int8 LLRs, as a stream of bytes turns into one. The metadata
 * may name the PDU's code (ldpc_block_options). PDUs that wait in the queue together are
 * decoded together, whatever their codes (not f32 with s8 or u8), in one launch where the
 * codes' sizes allow (kernels::ldpc_mixed_decoder); a PDU alone is decoded at once.
 *
 * Out, `ok` where all its codewords are good, else `fail`: u8 vectors of bits, or eight
 * bits a byte; the metadata as it came, with `iterations` (long: the most that a word
 * took), `ldpc_ok` (bool) and, where it held NaN, `nan_llrs` (long: how many; each is an
 * erasure), and on `fail` also `frame_errors` (long: words that failed)
 * and `reason` (symbol). What can't be decoded (no code of that name, no whole number of
 * codewords, another type of vector) goes to `fail` as it came, with `reason`, one of a
 * few symbols, and, where the length is wrong, `received` and `expected` (longs: the
 * vector's items, those of a codeword).
 * With soft_output, `soft` gives f32 vectors, the LLR of each bit after decoding.
 */
class CUDAPHY_API ldpc_decoder_pdu : virtual public gr::block
{
public:
    typedef std::shared_ptr<ldpc_decoder_pdu> sptr;

    /*!
     * \param code        from ldpc_code
     * \param decoding    all but type, which follows each PDU's vector
     * \param soft_output a third message port, `soft`
     * \param block       all but length_tag_key and max_latency
     * \throws std::invalid_argument, backend_unavailable
     */
    static sptr make(kernels::ldpc_code::sptr code,
                     const ldpc_decoder_options& decoding = {},
                     bool soft_output = false,
                     const ldpc_block_options& block = {});

    virtual std::string backend() const = 0;   //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t frames() const = 0;       //!< codewords decoded
    virtual uint64_t frame_errors() const = 0; //!< of these, that failed
    virtual double average_iterations() const = 0; //!< over all of them
    virtual uint64_t nan_llrs() const = 0;         //!< taken for erasures
    virtual uint64_t refused_packets() const = 0;  //!< that could not be decoded
};

} // namespace gr::cudaphy
