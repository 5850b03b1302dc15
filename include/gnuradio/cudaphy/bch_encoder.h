/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/bch_options.h>
#include <gnuradio/cudaphy/kernels/bch_encoder.h>

namespace gr::cudaphy {

/*!
 * \brief Appends the parity bits of BCH codes to information words.
 * \ingroup cudaphy
 *
 * In: bytes, one bit each, k an information word; or packed, eight bits a byte, the first
 * one highest, ⌈k / 8⌉ bytes a word. Out: n bits a codeword, one or eight a byte. A
 * packet is any number of whole words.
 *
 * With several codes (bch_block_options::codes) each packet names its own by a tag on its
 * first item, which goes on to the decoder. A packet whose tag names no code, or whose
 * length is no whole number of its words, is passed over: message port `fail` gets a PDU,
 * its metadata the packet's tags and `reason` (a symbol, one of a few), and, where the
 * length is wrong, `received` and `expected` (longs: the packet's items, those of a
 * word).
 */
class CUDAPHY_API bch_encoder : virtual public gr::block
{
public:
    typedef std::shared_ptr<bch_encoder> sptr;

    //! \throws std::invalid_argument if a parameter is out of range; std::runtime_error
    //! if the backend can't be had.
    static sptr make(kernels::bch_code::sptr code,
                     const kernels::bch_packing& packing = {},
                     const bch_block_options& block = {});

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t refused_packets() const = 0; //!< passed over, see above
};

} // namespace gr::cudaphy
