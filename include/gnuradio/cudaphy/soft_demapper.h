/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>

namespace gr::cudaphy {

//! What a soft demapper lets its user set. Equations: kernels/soft_demapper.h.
struct CUDAPHY_API soft_demapper_options {
    kernels::constellation points; //!< of packets that name no other
    int vlen = 1;                  //!< symbols in one item, 1..65536
    bool max_log = true;      //!< the largest term of each sum alone, not the exact LLR
    int llr_positive = 0;     //!< the bit that a positive LLR means, 0 or 1
    bool noise_input = false; //!< take noise variances from input 1
    float noise_variance = 0.01f; //!< else this one for all, E|n|², linear
    //! Of the LLRs: "float"; "float16", saturated at 65504; or "int8", in steps of
    //! 1 / llr_steps, saturated at 127 steps, as the LDPC decoder takes them.
    std::string type = "float";
    float llr_steps = 12; //!< of int8, in a unit of LLR, above 0
    //! Undone, of packets that name neither a constellation nor an interleaver: a frame
    //! of that many symbols is then the least that the block works on.
    kernels::bit_interleaver interleaver = {};
    //! Names the tag on a packet's first item that says its constellation, a symbol. With
    //! it the tags bit_interleaver and noise_variance are heeded, too. Empty: no such tag
    //! is.
    std::string constellation_tag_key = "";
    //! What packets may name beside `points`; empty: all of DVB-S2 and S2X.
    std::vector<kernels::constellation> constellations = {};
    //! Names the tag with a packet's length in items; empty: a plain stream.
    std::string length_tag_key = "";
    std::string backend = "auto"; //!< "auto", "cuda", "cpu" or "reference"
    int device = 0;               //!< index of the GPU
    int max_batch = 0;      //!< items, or frames, in one launch at most; 0: automatic
    double max_latency = 0; //!< seconds that an item may wait for a fuller batch
};

/*!
 * \brief Turns symbols into log-likelihood ratios of their bits.
 * \ingroup cudaphy
 *
 * In 0: vectors of `vlen` complex. In 1 (with noise_input): their noise variances,
 * vectors of `vlen` floats. Out: floats, shorts that are float16 (IEEE 754 binary16), or
 * bytes that are int8, the LLRs of the first symbol's bits, first-sent bit first, then
 * those of the second. Convention: docs/conventions.md; positive means 0 unless
 * llr_positive is 1. Equation: kernels/soft_demapper.h.
 *
 * Message port noise_variance: a number, or a pair whose second is one, becomes the noise
 * variance from the next batch on, as by set_noise_variance(). Any other message is
 * ignored, with a warning.
 *
 * A noise variance that is not finite or not positive, or a symbol that is not finite,
 * gives LLRs of 0: erasures.
 *
 * With constellation_tag_key, tags on a packet's first item say how it is demapped:
 * - that tag, a symbol: the name of one of the constellations; without it, `points`
 * - bit_interleaver, a symbol: the block interleaver that is undone, as
 *   kernels::bit_interleaver has its columns. The packet is then one frame, of a size
 * that DVB-S2 or S2X has with this constellation and interleaver, and becomes the frame's
 *   16200 or 64800 LLRs. Empty, or without it beside the name of a constellation: none
 * - noise_variance, a number: the noise variance from this packet on
 *
 * A packet whose tags name no constellation, or no such frame, is passed over and
 * counted; its tags and a `reason` leave as a PDU by the message port fail.
 */
class CUDAPHY_API soft_demapper : virtual public gr::block
{
public:
    typedef std::shared_ptr<soft_demapper> sptr;

    //! \throws std::invalid_argument if an option is out of range; std::runtime_error if
    //! the backend can't be had.
    static sptr make(const soft_demapper_options& options);

    //! \param constellation  a name of constellation_names(): "qpsk", "qam16",
    //! "dvbs2_8psk" ...; the others as in soft_demapper_options
    static sptr make(const std::string& constellation,
                     int vlen = 1,
                     bool max_log = true,
                     int llr_positive = 0,
                     bool noise_input = false,
                     float noise_variance = 0.01f,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0,
                     const std::string& type = "float",
                     float llr_steps = 12);

    //! From the next batch on; with constellation_tag_key, from the next packet on.
    //! \throws std::invalid_argument if it is not positive and finite.
    virtual void set_noise_variance(float noise_variance) = 0;
    virtual float noise_variance() const = 0;

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t refused_packets() const = 0; //!< passed over
};

} // namespace gr::cudaphy
