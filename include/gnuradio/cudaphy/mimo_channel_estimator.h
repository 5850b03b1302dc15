/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/channel_estimator.h>

namespace gr::cudaphy {

/*!
 * \brief Estimates MIMO channel matrices and the noise variance from pilots, by least
 * squares or MMSE.
 * \ingroup cudaphy
 *
 * In: received pilots, vectors of Nr complex (one a receive antenna); a slot is all tones
 * of the first pilot symbol, then all of the second, and so on: pilot symbols · tones
 * items. Out 0: channel matrices, vectors of Nr·Nt complex, row by row (a row is a
 * receive antenna), one a tone, and so for each of the times wanted. Out 1: the noise
 * variance (E|n|² of a complex sample, linear), one float a slot, or one for each of the
 * times; it need not be connected. Equations and sources: kernels/channel_estimator.h.
 *
 * A slot with NaN or infinity gives H = 0 (on that tone, or everywhere) and noise
 * variance NaN, which the equalizer turns into erasures.
 */
class CUDAPHY_API mimo_channel_estimator : virtual public gr::block
{
public:
    typedef std::shared_ptr<mimo_channel_estimator> sptr;

    /*!
     * \param pilots         of the estimator: antennas, layers, tones, pilots and the
     * rest \param length_tag_key names the tag with a packet's length in items; empty: a
     * plain stream \param backend        "auto", "cuda", "cpu" or "reference" \param
     * device         index of the GPU \param max_batch      slots in one launch at most;
     * 0: automatic \param max_latency    seconds that a slot may wait for a fuller batch
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(const kernels::channel_estimator::parameters& pilots,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t failures() const = 0;   //!< slots with pilots that were not finite
};

} // namespace gr::cudaphy
