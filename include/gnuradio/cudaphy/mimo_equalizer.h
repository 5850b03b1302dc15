/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

/*!
 * \brief Separates the spatial layers of received vectors: zero forcing, MMSE, MMSE with
 * interference rejection, or max-ratio combining.
 * \ingroup cudaphy
 *
 * In 0: received vectors y of Nr complex. Then, each where it comes by a port: channel
 * matrices H, vectors of Nr·Nt complex, row by row; the noise variance, a float a slot;
 * the covariance of interference and noise, a vector of Nr² complex a slot, of which the
 * lower triangle is read. Out 0: layers x, vectors of Nt complex. Out 1: the noise
 * variance of each layer after equalisation, vectors of Nt floats, for a soft demapper;
 * it need not be connected.
 *
 * A slot is `symbols`·`tones` received vectors (all tones of a symbol, then the next
 * symbol), `tones` channel matrices that serve all its symbols, and one noise variance.
 * With symbols = tones = 1 each vector has its own matrix. Equations and sources:
 * kernels/equalizer.h.
 *
 * H may come instead by tags `channel` on y (a c32vector of Nr·Nt values for all tones,
 * or one after the other for each; it applies from the first slot that begins at its item
 * or later), or by messages on port `channel` (the same vector, or a PDU with it), which
 * apply from the next packet, or without packets from the next batch; until the first one
 * comes, layers are erased. The noise variance, where it has no port, is also set by tags
 * `noise_var` on y and by messages on port `noise_var`, both real numbers; the covariance
 * by messages on port `covariance` (a c32vector of Nr²), until which the noise variance
 * is taken.
 *
 * A channel matrix that can't be used (rank-deficient for zero forcing, NaN or infinity,
 * noise variance not positive) gives x = 0 and noise = +inf, so LLRs of 0, and a tag
 * `singular` on the first vector it serves: a pmt long, the step that failed, from 1; -1
 * for what is not finite.
 */
class CUDAPHY_API mimo_equalizer : virtual public gr::block
{
public:
    typedef std::shared_ptr<mimo_equalizer> sptr;

    /*!
     * \param receive_antennas Nr, 1..128
     * \param layers           Nt, 1..16; "zf": 1..min(16, Nr)
     * \param method           "zf", "mmse", "mmse_irc" or "mrc"
     * \param unbiased         MMSE: scale each layer so that its signal has gain 1
     * \param symbols          received vectors that one channel matrix serves, 1..65536
     * \param tones            channel matrices in a slot, 1..65536
     * \param noise_input      take the noise variance from input 2, one a slot
     * \param noise_variance   else this one, E|n|² at a receive antenna, linear
     * \param length_tag_key   names the tag with a packet's length in items of input 0;
     * empty: a plain stream
     * \param backend          "auto", "cuda", "cpu" or "reference"
     * \param device           index of the GPU
     * \param max_batch        slots in one launch at most; 0: automatic
     * \param max_latency      seconds that a slot may wait for a fuller batch
     * \param channel_from     "port", "tag" or "message"
     * \param covariance_from  "none", "port" or "message", the latter two for "mmse_irc"
     * \param route            "solve", or for "zf" and "mmse" "inverse"
     * (kernels/equalizer.h)
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(int receive_antennas,
                     int layers,
                     const std::string& method = "mmse",
                     bool unbiased = true,
                     int symbols = 1,
                     int tones = 1,
                     bool noise_input = false,
                     float noise_variance = 0.01f,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0,
                     const std::string& channel_from = "port",
                     const std::string& covariance_from = "none",
                     const std::string& route = "solve");

    //! From the next batch on. \throws std::invalid_argument if it is not positive and
    //! finite.
    virtual void set_noise_variance(float noise_variance) = 0;
    virtual float noise_variance() const = 0;

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t failures() const = 0;   //!< channel matrices that could not be used
};

} // namespace gr::cudaphy
