/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstddef>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <vector>

namespace gr::cudaphy::kernels {

//! Symbols of both headers of a VL-SNR frame.
constexpr int vl_snr_headers_symbols = pl_header_symbols + vl_snr_header_symbols;

//! What the headers of a VL-SNR frame look like at a place among symbols.
struct vl_snr_found {
    int pls = first_vl_snr; //!< the most likely one
    double frequency = 0;   //!< cycles a symbol
    //! |sum over the 990 symbols, the headers taken off|^2 / 990 / their mean energy: 990
    //! without noise, 1 on the average of noise alone.
    float score = 0;
};

/*!
 * \brief Finds the headers of VL-SNR frames at any frequency.
 *
 * The rows of the VL-SNR header are known but for their signs. First, within the rows,
 * the differences of phase between symbols that are some symbols apart: the frequency
 * turns those of a distance alike. Then, at the best places, the sums over the rows at
 * frequencies near that of the differences, and of these the likelihood of each header.
 */
class vl_snr_search
{
public:
    //! Frequencies to `most_frequency` cycles a symbol either way are found, at most 0.5.
    explicit vl_snr_search(double most_frequency);

    /*!
     * How likely VL-SNR frames begin at each of count - 989 symbols, by differences.
     * \param symbols  finite, of a mean energy near 1
     */
    void differences(const std::complex<float>* symbols, size_t count, float* out) const;

    //! The frequency of headers that begin at symbols[0] of 990, by their differences:
    //! off by 0.0035 cycles a symbol on the average at -9.9 dB.
    double rough_frequency(const std::complex<float>* symbols) const;

    //! The best header and frequency at symbols[0] of 990, near rough_frequency(). A
    //! header whose score is below `least` has it, and its frequency, roughly.
    vl_snr_found at(const std::complex<float>* symbols, float least = 0) const;
    //! The same at frequencies that differ from `centre` by `most_difference` or less.
    vl_snr_found near(const std::complex<float>* symbols,
                      double centre,
                      double most_difference,
                      float least = 0) const;

private:
    struct piece_sum;
    std::vector<piece_sum> pieces_of(const std::complex<float>* symbols,
                                     double centre) const;
    vl_snr_found
    refined(const std::complex<float>* symbols, vl_snr_found found, double energy) const;
    std::complex<double>
    sum(const std::complex<float>* symbols, int number, double frequency) const;

    double d_most_frequency;
    //! Conjugate: of the physical layer headers of both sets, and of the VL-SNR header
    //! whose rows are all upright.
    std::vector<std::complex<float>> d_pl_headers[2], d_upright;
    std::vector<int> d_numbers; //!< of VL-SNR headers
    //! What a step of the coarse frequencies turns each piece by.
    std::vector<std::complex<double>> d_coarse_steps;
};

} // namespace gr::cudaphy::kernels
