/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

/*!
 * \brief Separates the spatial layers of received vectors by zero forcing or MMSE.
 * \ingroup cudaphy
 *
 * In 0: received vectors y of Nr complex. In 1: channel matrices H, vectors of Nr·Nt
 * complex, row by row. In 2 (with noise_input): the noise variance, a float. Out 0:
 * layers x, vectors of Nt complex. Out 1: the noise variance of each layer after
 * equalisation, vectors of Nt floats, for a soft demapper.
 *
 * A slot is `symbols`·`tones` received vectors (all tones of a symbol, then the next
 * symbol), `tones` channel matrices that serve all its symbols, and one noise variance.
 * With symbols = tones = 1 each vector has its own matrix. Equations and sources:
 * kernels/equalizer.h.
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
     * \param receive_antennas Nr, 1..16
     * \param layers           Nt, 1..Nr
     * \param method           "zf" or "mmse"
     * \param unbiased         MMSE: scale each layer so that its signal has gain 1
     * \param symbols          received vectors that one channel matrix serves, 1..65536
     * \param tones            channel matrices in a slot, 1..65536
     * \param noise_input      take the noise variance from input 2, one a slot
     * \param noise_variance   else this one, E|n|² at a receive antenna, linear
     * \param length_tag_key   names the tag with a packet's length in items of input 0;
     * empty: a plain stream \param backend          "auto", "cuda", "cpu" or "reference"
     * \param device           index of the GPU
     * \param max_batch        slots in one launch at most; 0: automatic
     * \param max_latency      seconds that a slot may wait for a fuller batch
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
                     double max_latency = 0);

    //! From the next batch on. \throws std::invalid_argument if it is not positive and
    //! finite.
    virtual void set_noise_variance(float noise_variance) = 0;
    virtual float noise_variance() const = 0;

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t failures() const = 0;   //!< channel matrices that could not be used
};

} // namespace gr::cudaphy
