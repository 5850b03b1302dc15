/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/mimo_receiver.h>

namespace gr::cudaphy {

//! Which intermediate results a receiver puts out, each on a port of its own.
struct mimo_receiver_outputs {
    bool channel = false;          //!< H
    bool layers = false;           //!< x
    bool noise = false;            //!< the noise variance of each layer
    std::string word_tags = "all"; //!< as ldpc_output_options::word_tags
};

/*!
 * \brief Tones in, bits out: estimates the channel, separates the layers, demaps and
 * decodes, slot by slot, all on the device.
 * \ingroup cudaphy
 *
 * In: received tones, vectors of Nr complex (one a receive antenna), all tones of a
 * symbol, then the next symbol: symbols · tones items a slot, pilots among them. Out 0:
 * bytes, the information bits of a slot's codewords, one bit each or packed, as
 * ldpc_decoder puts them out. On the first item of each word stand the tags `iterations`
 * (pmt long) and `ldpc_ok` (pmt bool). Then, each where it is wanted: channel matrices,
 * vectors of Nr·Nt complex, tones a slot (times the number of times); layers, vectors of
 * Nt complex, one for each place with data; and their noise variance after equalisation,
 * vectors of Nt floats.
 *
 * Where data stands in a slot, in which order its bits come, and what happens to samples
 * that are not finite: kernels/mimo_receiver.h.
 */
class CUDAPHY_API mimo_receiver : virtual public gr::block
{
public:
    typedef std::shared_ptr<mimo_receiver> sptr;

    /*!
     * \param receiver       the slot, its pilots, constellation, code and how to receive
     * \param outputs        intermediate results that are put out
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     *                       stream
     * \param backend        "auto", "cuda", "cpu" or "reference"
     * \param device         index of the GPU
     * \param max_batch      slots in one launch at most; 0: automatic
     * \param max_latency    seconds that a slot may wait for a fuller batch
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(const kernels::mimo_receiver::parameters& receiver,
                     const mimo_receiver_outputs& outputs = {},
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual int words() const = 0;           //!< codewords of a slot
    virtual uint64_t frames() const = 0; //!< codewords decoded since the block was made
    virtual uint64_t
    frame_errors() const = 0; //!< of these, how many did not become codewords
    virtual double average_iterations() const = 0; //!< over all of them
};

} // namespace gr::cudaphy
