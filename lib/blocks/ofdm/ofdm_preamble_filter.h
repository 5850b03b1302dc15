/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/fourier/fourier_transform.h"
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
    //! The number of places at which the matched filter may find a preamble's energy.
    int window() const;

    //! \throws std::invalid_argument if something is out of range
    void check() const;
};

/*!
 * \brief Compares samples with a preamble, whose halves are alike, by Fourier transforms.
 *
 * The carrier offset is removed, and both halves are added. The quality of the sum is the
 * part of its energy, 0 to 1, that a matched filter finds at window() places. `samples`
 * points to the samples of each antenna from one place on.
 */
class ofdm_preamble_filter
{
public:
    using samples = std::vector<const std::complex<float>*>;

    //! The result of a comparison of fft_size samples at any place within a preamble.
    struct likeness {
        double quality = 0;
        double offset = 0; //!< of the carrier, in tone spacings
        double power = 0;  //!< of a folded sample, over the antennas
    };
    struct match {
        int64_t place = 0;
        double energy = 0; //!< of the matched filter from `place` on
    };
    explicit ofdm_preamble_filter(const ofdm_frame_shape& shape);

    //! The quality of fft_size samples as a preamble whose FFT window begins here. Costs
    //! two transforms of half a symbol an antenna.
    double quality(const samples& from, double offset);

    //! Tries all carrier offsets that differ from `fraction` by whole tones of half a
    //! symbol. Costs one transform of half a symbol an antenna, and one for each offset.
    likeness compare(const samples& from, double fraction);

    /*!
     * Finds the first sample of a preamble's FFT window: among `places`, up to
     * most_places(), the one from which window() places have the most energy. Reads
     * places + fft_size samples. Costs two transforms of a few symbols an antenna.
     * Samples are limited to 30 dB above the likeness's power.
     */
    match find(const samples& from, int places, const likeness& like);

    //! The first and the last place of a preamble that compare() found, relative to the
    //! sample where it began: it may have seen only a part of the preamble.
    int earliest() const { return -d_late; }
    int latest() const { return d_shape.fft_size + 2 * d_shape.cyclic_prefix; }
    int most_places() const { return latest() - earliest() + d_shape.window(); }

private:
    using complex = std::complex<double>;

    void fold(const samples& from, int count, double offset);
    double transform(const samples& from, double offset);
    void answer(int too_high);

    const ofdm_frame_shape d_shape;
    const int d_late, d_size;
    const kernels::fourier_transform d_half, d_half_back, d_long, d_long_back;
    std::vector<std::complex<float>> d_half_known, d_long_known; //!< spectra, conjugate
    std::vector<complex> d_folded;                               //!< of all antennas
    std::vector<std::complex<float>> d_spectra, d_work;
    std::vector<double> d_energy;
};

} // namespace gr::cudaphy
