/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/ofdm/ofdm_preamble_filter.h"
#include <complex>
#include <cstdint>
#include <vector>

namespace gr::cudaphy {

//! A frame: the first sample of its preamble's FFT window, and its carrier offset.
struct ofdm_frame {
    int64_t window;        //!< sample of the stream
    double carrier_offset; //!< in tone spacings
};

/*!
 * \brief Finds frames in the samples of several antennas, without GNU Radio's streams.
 * ofdm_synchronizer.h describes the algorithm. Keeps the samples that it may still need.
 *
 * The number of operations a sample is bounded. The metric is summed up without
 * subtractions. A signal that repeats without end is compared with the preamble once in a
 * quarter of a symbol, or once in a prefix if that is longer.
 */
class ofdm_frame_finder
{
public:
    //! \throws std::invalid_argument if something is out of range
    explicit ofdm_frame_finder(const ofdm_frame_shape& shape);

    //! Forgets all samples. The next sample that is appended is sample 0.
    void restart();

    //! Appends samples of each antenna.
    void append(const std::vector<const std::complex<float>*>& samples, int count);

    //! Finds the next complete frame. Its samples stay until the next call.
    bool next(ofdm_frame& found);

    //! fft_size samples of a symbol at an antenna, without the carrier offset.
    //! \param symbol  from 0; the preamble does not count
    void symbol(const ofdm_frame& frame,
                int symbol,
                int antenna,
                std::complex<float>* to) const;

    //! The number of samples that are kept. It is bounded if next() is called until it
    //! finds nothing.
    size_t kept() const { return d_samples.front().size(); }
    int64_t first_kept() const { return d_first; }
    //! Whether a frame has begun and is not complete.
    bool within_frame() const { return d_located; }
    uint64_t false_alarms() const { return d_false_alarms; }

private:
    using complex = std::complex<double>;

    int64_t end() const { return d_first + int64_t(kept()); }
    complex sample(int antenna, int64_t at) const
    {
        return complex(d_samples[antenna][at - d_first]);
    }
    ofdm_preamble_filter::samples samples_from(int64_t at) const;
    bool measure();
    void energies(int64_t at, std::vector<double>& to) const;
    void products(int64_t at, std::vector<complex>& to) const;
    bool detect();
    int64_t plateau(complex& repeated) const;
    ofdm_preamble_filter::match strongest(int64_t begin,
                                          const ofdm_preamble_filter::likeness& like);
    bool locate();
    double refined(int64_t window, double offset) const;
    void forget(int64_t before);

    const ofdm_frame_shape d_shape;
    const double d_threshold;
    ofdm_preamble_filter d_filter;
    std::vector<std::vector<std::complex<float>>> d_samples; //!< of each antenna
    int64_t d_first = 0;  //!< the first sample that is kept
    int64_t d_search = 0; //!< the sample whose metric is compared next

    // The metric up to d_measured, from d_search or before, and its numerators: sums of
    // the samples' products with those half a symbol later.
    std::vector<double> d_metrics;
    std::vector<complex> d_repeated;
    int64_t d_measured = -1; //!< -1: measure() begins anew
    // For the half symbol that measure() takes next: products, energies half a symbol
    // later, and energies summed up over half a symbol.
    std::vector<complex> d_products;
    std::vector<double> d_energies, d_sums;

    bool d_detected = false;
    ofdm_frame d_frame{};
    bool d_located = false;
    uint64_t d_false_alarms = 0;
};

} // namespace gr::cudaphy
