/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/ldpc_options.h>

namespace gr::cudaphy {

/*!
 * \brief Decodes codewords of LDPC codes from soft bits.
 * \ingroup cudaphy
 *
 * In: floats, shorts that are float16 (IEEE 754 binary16), or int8, n LLRs a codeword
 * (docs/conventions.md). Out 0: bytes, one bit
 * each: the k information bits of a codeword, or all n; packed, eight bits a byte, each
 * word's last byte filled with zeros. Out 1, with soft_output: floats, the LLR of each of
 * these bits after decoding. On the first item of each word stand the tags `iterations`
 * (pmt long) and `ldpc_ok` (pmt bool: the word is decoded, every telling parity check
 * holds, or stop_crc), and, if the word came with NaN, `nan_llrs` (pmt long: how many;
 * each is an erasure); ldpc_output_options::word_tags may leave them to failed words. A
 * packet is any number of whole codewords. Algorithm and sources:
 * kernels/ldpc_decoder.h.
 *
 * With several codes (ldpc_block_options::codes) each packet names its own by a tag on
 * its first item. Packets are decoded together whatever their codes, as far as max_batch
 * and the room for a batch go, in one launch if the codes' sizes allow
 * (kernels::ldpc_mixed_decoder), and leave in order. A packet whose tag names no code, or
 * whose length is no whole number of its codewords, is passed over: message port `fail`
 * gets a PDU, its metadata the packet's tags and `reason` (a symbol, one of a few), and,
 * where the length is wrong, `received` and `expected` (longs: the packet's items, those
 * of a word).
 */
class CUDAPHY_API ldpc_decoder : virtual public gr::block
{
public:
    typedef std::shared_ptr<ldpc_decoder> sptr;

    //! \throws std::invalid_argument if a parameter is out of range or a name unknown;
    //! std::runtime_error if the backend can't be had.
    static sptr make(kernels::ldpc_code::sptr code,
                     const ldpc_decoder_options& decoding,
                     const ldpc_output_options& output = {},
                     const ldpc_block_options& block = {});

    //! The same with the most common options one by one.
    static sptr make(kernels::ldpc_code::sptr code,
                     int max_iterations = 20,
                     float scale = 0,
                     bool early_stop = true,
                     const std::string& output = "info",
                     const std::string& on_failure = "mark",
                     int llr_positive = 0,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t frames() const = 0; //!< codewords decoded since the block was made
    virtual uint64_t
    frame_errors() const = 0; //!< of these, how many did not become codewords
    virtual double average_iterations() const = 0; //!< over all of them
    virtual uint64_t nan_llrs() const = 0;         //!< taken for erasures
    virtual uint64_t refused_packets() const = 0;  //!< passed over, see above
};

} // namespace gr::cudaphy
