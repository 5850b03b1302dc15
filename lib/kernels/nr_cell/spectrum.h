/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr_cell {

//! A part of the spectrum, seen at another sample rate.
struct band {
    double centre; //!< Hz above the samples' centre
    double rate;   //!< samples/s that come out
    double pass;   //!< Hz to both sides that pass unchanged; less than rate / 2
    double stop;   //!< Hz to both sides where nothing passes; at most rate / 2
};

/*!
 * \brief A stretch of samples as its spectrum, from which bands are cut at any sample
 * rate, frequency and fraction of a sample.
 *
 * A band is a part of the transform, under a window of raised-cosine edges, transformed
 * back. It is circular: some samples at the ends are wrong, about rate / (stop - pass)
 * of each.
 */
class spectrum
{
public:
    /*!
     * \param samples  a whole recording
     * \param rate     samples/s
     * \param first    of the stretch; it may begin before the recording, and end after it
     * \param count    samples of the stretch; some more may be taken
     */
    spectrum(view<const complex64> samples, double rate, int64_t first, size_t count);

    /*!
     * \param start  of the first sample that comes out, in seconds of the recording
     * \returns `count` samples of x(t) exp(-j 2 pi centre t)
     */
    std::vector<complex64> cut(const band&, double start, size_t count) const;

private:
    double d_rate, d_first; // seconds
    std::vector<complex64> d_bins;
};

} // namespace gr::cudaphy::kernels::nr_cell
