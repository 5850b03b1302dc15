/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/bch_options.h>
#include <gnuradio/cudaphy/kernels/bch_decoder.h>

namespace gr::cudaphy {

//! What a BCH decoder puts out for a word.
struct CUDAPHY_API bch_output_options {
    //! "mark": the information bits as they came if decoding failed, with the tag bch_ok
    //! false. "drop": nothing then, and each word that is put out is a packet of its own.
    std::string on_failure = "mark";
    //! Words that have the tags bch_corrected and bch_ok: "all"; or "failed": words that
    //! are not decoded.
    std::string word_tags = "all";
};

/*!
 * \brief Corrects up to t errors in each word of BCH codes.
 * \ingroup cudaphy
 *
 * In: bytes, one bit each, n a received word; or packed, eight bits a byte, the first one
 * highest, ⌈n / 8⌉ bytes a word. Out: the k information bits, one or eight a byte. An
 * LDPC Decoder of DVB-S2, S2X or T2 puts out such words. On the first item of each word
 * stand the tags `bch_corrected` (pmt long: bits that were wrong, parity bits among them;
 * -1 if the word is not decoded) and `bch_ok` (pmt bool: the word is decoded);
 * bch_output_options::word_tags may leave them to failed words. A packet is any number of
 * whole words. Algorithm and sources: kernels/bch_decoder.h.
 *
 * With several codes (bch_block_options::codes) each packet names its own by a tag on its
 * first item. Packets are decoded together whatever their codes, in one launch a code,
 * and leave in order. A packet whose tag names no code, or whose length is no whole
 * number of its words, is passed over, as bch_encoder says.
 */
class CUDAPHY_API bch_decoder : virtual public gr::block
{
public:
    typedef std::shared_ptr<bch_decoder> sptr;

    //! \throws std::invalid_argument if a parameter is out of range or a name unknown;
    //! std::runtime_error if the backend can't be had.
    static sptr make(kernels::bch_code::sptr code,
                     const kernels::bch_packing& packing = {},
                     const bch_output_options& output = {},
                     const bch_block_options& block = {});

    virtual std::string backend() const = 0;     //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t frames() const = 0;         //!< words since the block was made
    virtual uint64_t frame_errors() const = 0;   //!< of these, how many are not decoded
    virtual uint64_t corrected_bits() const = 0; //!< in the others
    virtual uint64_t refused_packets() const = 0; //!< passed over, see above
};

} // namespace gr::cudaphy
