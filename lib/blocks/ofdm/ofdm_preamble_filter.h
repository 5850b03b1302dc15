/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
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
    //! Places at which the matched filter may answer to a preamble.
    int window() const;

    //! \throws std::invalid_argument if something is out of range
    void check() const;
};

//! A Fourier transform of complex float from `in` to `out`, not scaled.
class fourier_transform
{
public:
    fourier_transform(int size, bool forward);
    ~fourier_transform();
    void run();

    const int size;
    std::complex<float>*const in, *const out;

private:
    struct plan;
    std::unique_ptr<plan> d_plan;
};

/*!
 * \brief Compares samples with a preamble, whose halves are alike, by Fourier transforms.
 *
 * Both halves are laid over each other without a carrier offset. What comes out is
 * measured by its quality: the part of its energy, 0 to 1, that a matched filter finds
 * at window() places. Samples are those of each antenna from one place on.
 */
class ofdm_preamble_filter
{
public:
    using samples = std::vector<const std::complex<float>*>;

    //! Of fft_size samples within a preamble, wherever there.
    struct likeness {
        double quality = 0;
        double offset = 0; //!< of the carrier, in tone spacings
        double power = 0;  //!< of a folded sample, over the antennas
    };
    struct match {
        int64_t place = 0;
        double energy = 0; //!< that the matched filter finds from there on
    };
    explicit ofdm_preamble_filter(const ofdm_frame_shape& shape);

    //! Of a preamble whose FFT window begins here: of fft_size samples. Takes two
    //! transforms of half a symbol an antenna.
    double quality(const samples& from, double offset);

    //! The best of the carrier offsets that are `fraction` and whole turns of half a
    //! symbol. Takes a transform of half a symbol an antenna, and one an offset more.
    likeness compare(const samples& from, double fraction);

    /*!
     * Where a preamble's FFT window begins: of `places`, up to most_places(), that from
     * which on window() of them have the most energy. Reads fft_size samples more. Takes
     * two transforms of a few symbols an antenna, of samples that stand out of the
     * likeness's power by 30 dB at most.
     */
    match find(const samples& from, int places, const likeness& like);

    //! The first and the last place, from that where a comparison began, of a preamble
    //! that it found: it may have seen a part of it alone.
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
    fourier_transform d_half, d_half_back, d_long, d_long_back;
    std::vector<std::complex<float>> d_half_known, d_long_known; //!< spectra, conjugate
    std::vector<complex> d_folded;                               //!< of all antennas
    std::vector<std::complex<float>> d_spectra;
    std::vector<double> d_energy;
};

} // namespace gr::cudaphy
