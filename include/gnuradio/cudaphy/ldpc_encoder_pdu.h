/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy {

/*!
 * \brief Encodes PDUs of whole information words into codewords of LDPC codes.
 * \ingroup cudaphy
 *
 * In, message port `pdus`: metadata and a u8 vector of information words, one or eight
 * bits a byte. The metadata may name the PDU's code (ldpc_block_options). Out, `pdus`: a
 * u8 vector of codewords with the metadata as it came. What can't be encoded (no code of
 * that name, no whole number of words) goes to `fail` as it came, with `reason` (symbol)
 * in its metadata, one of a few, and, where the length is wrong, `received` and
 * `expected` (longs: the vector's items, those of a word).
 */
class CUDAPHY_API ldpc_encoder_pdu : virtual public gr::block
{
public:
    typedef std::shared_ptr<ldpc_encoder_pdu> sptr;

    //! \param block all but length_tag_key and max_latency
    //! \throws std::invalid_argument, backend_unavailable
    static sptr make(kernels::ldpc_code::sptr code,
                     bool packed_input = false,
                     bool packed_output = false,
                     const ldpc_block_options& block = {});

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t refused_packets() const = 0; //!< that could not be encoded
};

} // namespace gr::cudaphy
