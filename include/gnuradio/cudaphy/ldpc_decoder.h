/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

/*!
 * \brief Decodes codewords of an LDPC code from soft bits, by layered scaled min-sum.
 * \ingroup cudaphy
 *
 * In: floats, n LLRs a codeword (docs/conventions.md). Out: bytes, one bit each: the k
 * information bits of a codeword, or all n. On the first bit of each word stand the tags
 * `iterations` (pmt long) and `ldpc_ok` (pmt bool: every parity check holds). A packet is
 * any number of whole codewords. Algorithm and sources: kernels/ldpc_decoder.h.
 */
class CUDAPHY_API ldpc_decoder : virtual public gr::block
{
public:
    typedef std::shared_ptr<ldpc_decoder> sptr;

    /*!
     * \param code           from ldpc_code
     * \param max_iterations 1..1000
     * \param scale          fixed factor of min-sum, above 0 to 1; 0: rising from the
     * code's own
     * \param early_stop     stop each codeword as soon as its parity checks hold
     * \param output         "info": the k information bits; "codeword": all n
     * \param on_failure     "mark": put out hard decisions, tag ldpc_ok false; "drop":
     * put out nothing, and make each word that is put out a packet of its own \param
     * llr_positive   the bit that a positive LLR means, 0 or 1 \param length_tag_key
     * names the tag with a packet's length in items; empty: a plain stream \param backend
     * "auto", "cuda", "cpu" or "reference" \param device         index of the GPU \param
     * max_batch      codewords in one launch at most; 0: automatic \param max_latency
     * seconds that a word may wait for a fuller batch \throws std::invalid_argument if a
     * parameter is out of range; std::runtime_error if the backend can't be had.
     */
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
};

} // namespace gr::cudaphy
