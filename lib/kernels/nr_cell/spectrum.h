/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr_cell {

//! Samples, and what is done to them where they are used.
struct recording {
    view<const complex64> samples;
    double rate;                  //!< samples/s
    std::complex<double> carrier; //!< is subtracted: a mixer's direct current
    double scale;                 //!< then they are multiplied by this
    //! Of the samples' centre, Hz, if the transmitter compensates phases for its carrier
    //! (TS 38.211, section 5.4); 0 if it compensates none.
    double reference;

    double seconds() const { return double(samples.size()) / rate; }
};

//! A recording without its mean and of unit power. Its scale is 0 if nothing else is in
//! it.
recording levelled(view<const complex64> samples, double rate, double reference);

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
     * \param first  sample of the stretch; it may begin before the recording, and end
     * after it
     * \param count  samples of the stretch; some more may be taken
     */
    spectrum(const recording&, int64_t first, size_t count);

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
