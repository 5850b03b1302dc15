/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy {

/*!
 * \brief Encodes information words into codewords of an LDPC code.
 * \ingroup cudaphy
 *
 * In: bytes, one bit each, k an information word. Out: bytes, n a codeword. A packet is
 * any number of whole words.
 */
class CUDAPHY_API ldpc_encoder : virtual public gr::block
{
public:
    typedef std::shared_ptr<ldpc_encoder> sptr;

    /*!
     * \param code           from ldpc_code
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     * stream \param backend        "auto", "cuda", "cpu" or "reference" \param device
     * index of the GPU \param max_batch      codewords in one launch at most; 0:
     * automatic \param max_latency    seconds that a word may wait for a fuller batch
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(kernels::ldpc_code::sptr code,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
};

} // namespace gr::cudaphy
