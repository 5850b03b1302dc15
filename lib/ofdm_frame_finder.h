/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace gr::cudaphy {

struct ofdm_frame_shape {
    int antennas, fft_size, cyclic_prefix, symbols;
    std::vector<std::complex<float>> preamble; //!< half a symbol
    std::vector<int> shifts;
    int advance;
    double most_offset, threshold;

    int half() const { return fft_size / 2; }
    int symbol() const { return fft_size + cyclic_prefix; }
    int64_t frame() const { return int64_t(symbols + 1) * symbol(); }
};

//! A frame found: where its preamble's FFT window begins, and its carrier offset.
struct ofdm_frame {
    int64_t window;        //!< sample of the stream
    double carrier_offset; //!< in tone spacings
};

/*!
 * \brief Finds frames in the samples of several antennas; see ofdm_synchronizer.h for
 * how. Knows nothing of GNU Radio. Keeps the samples that it may still need.
 */
class ofdm_frame_finder
{
public:
    //! \throws std::invalid_argument if something is out of range
    explicit ofdm_frame_finder(const ofdm_frame_shape& shape);

    //! Appends samples of each antenna.
    void append(const std::vector<const std::complex<float>*>& samples, int count);

    //! Looks for the next frame that has come as a whole. Once it was given, its samples
    //! stay until the next call.
    bool next(ofdm_frame& found);

    //! A symbol of the frame, the preamble not counted, from 0: fft_size samples of an
    //! antenna, without carrier offset.
    void symbol(const ofdm_frame& frame,
                int symbol,
                int antenna,
                std::complex<float>* to) const;

    //! Samples appended and not thrown away yet; bounded, if next() is called until it
    //! finds nothing.
    size_t kept() const { return d_samples.front().size(); }
    int64_t first_kept() const { return d_first; }
    //! Whether a frame has begun whose end has not come.
    bool within_frame() const { return d_located; }
    uint64_t false_alarms() const { return d_false_alarms; }

private:
    using complex = std::complex<double>;

    struct metric {
        complex repeated;
        double energy; //!< mean of both halves
        double value() const
        {
            return energy > 0 ? std::norm(repeated) / (energy * energy) : 0;
        }
    };
    //! The matched filter's answer to one hypothesis of the carrier offset.
    struct match {
        double quality = 0; //!< part of the energy that is the known preamble
        int64_t window = 0;
        double offset = 0;
    };

    int64_t end() const { return d_first + int64_t(kept()); }
    complex sample(int antenna, int64_t at) const
    {
        return complex(d_samples[antenna][at - d_first]);
    }
    bool detect();
    metric metric_at(int64_t at) const;
    void slide(int64_t at);
    bool locate();
    match matched(int64_t around, double offset) const;
    double refined(int64_t window, double offset) const;
    void forget(int64_t before);

    const ofdm_frame_shape d_shape;
    const double d_threshold;
    std::vector<std::vector<std::complex<float>>> d_samples; //!< of each antenna
    //! Of each sample, over the antennas: its energy, and its product with the sample
    //! half a symbol later.
    std::vector<double> d_energy;
    std::vector<complex> d_repeated;
    int64_t d_first = 0;  //!< of the stream: the first sample kept
    int64_t d_search = 0; //!< where the metric is looked at next
    metric d_metric{};    //!< there, kept up by differences
    int64_t d_exact = -1; //!< where it was last summed up anew
    bool d_detected = false;
    ofdm_frame d_frame{};
    bool d_located = false;
    uint64_t d_false_alarms = 0;
};

} // namespace gr::cudaphy
