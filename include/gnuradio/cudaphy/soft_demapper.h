/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

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
 */
class CUDAPHY_API soft_demapper : virtual public gr::block
{
public:
    typedef std::shared_ptr<soft_demapper> sptr;

    /*!
     * \param constellation  a name of constellation_names(): "bpsk" "qpsk" "qam16"
     *                       "qam64" "qam256" (3GPP), the same with "wifi_" (IEEE 802.11),
     *                       "dvbs2_qpsk" "dvbs2_8psk" "dvbs2_16apsk_2/3" ... (ETSI EN
     *                       302 307)
     * \param vlen           symbols in one item, 1..65536
     * \param max_log        the largest term of each sum alone, instead of the exact LLR
     * \param llr_positive   the bit that a positive LLR means, 0 or 1
     * \param noise_input    take noise variances from input 1
     * \param noise_variance else this one for all, E|n|², linear
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     *                       stream
     * \param backend        "auto", "cuda", "cpu" or "reference"
     * \param device         index of the GPU
     * \param max_batch      items in one launch at most; 0: automatic
     * \param max_latency    seconds that an item may wait for a fuller batch
     * \param type           of the LLRs: "float"; "float16", saturated at 65504; or
     * "int8", in steps of 1 / llr_steps, saturated at 127 steps, as the LDPC decoder
     * takes them \param llr_steps      of int8, in a unit of LLR, above 0 \throws
     * std::invalid_argument if a parameter is out of range; std::runtime_error if the
     * backend can't be had.
     */
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

    //! From the next batch on. \throws std::invalid_argument if it is not positive and
    //! finite.
    virtual void set_noise_variance(float noise_variance) = 0;
    virtual float noise_variance() const = 0;

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
};

} // namespace gr::cudaphy
