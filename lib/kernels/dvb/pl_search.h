/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/pl_likelihood.h"
#include <complex>
#include <cstddef>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <vector>

namespace gr::cudaphy::kernels {

//! What a physical layer header looks like at a place among symbols.
struct pl_found {
    size_t at = 0;                 //!< of its first symbol
    int pls = 0;                   //!< the most likely PLS code
    float frequency = 0;           //!< cycles a symbol
    std::complex<float> amplitude; //!< of the carrier at the first symbol
    //! |sum over the 90 symbols, the header taken off|^2 / 90 / the symbols' mean energy:
    //! 90 without noise, 1 on the average of noise alone, at a given code and frequency.
    float score = 0;
};

/*!
 * \brief Finds physical layer headers of any PLS code at any frequency.
 *
 * First the differences of phase from symbol to symbol, which no frequency changes: those
 * of the start of frame are known, and so are those within each pair of the PLS code, but
 * for the sign that says pilots. Then, at the best places, the likelihood of every code
 * at every frequency: a Hadamard transform a frequency.
 */
class pl_search
{
public:
    //! Frequencies to `most_frequency` cycles a symbol either way are tried, at most 0.5.
    explicit pl_search(float most_frequency, const pl_codes& allowed = all_pl_codes());

    /*!
     * |sum of differences| for a header that begins at each of count - 89 symbols.
     * \param symbols  of any amplitude, finite
     */
    static void differences(const std::complex<float>* symbols, size_t count, float* out);

    //! The frequency of a header that begins at symbols[0] of 90, by its differences: off
    //! by 0.04 cycles a symbol on the average at -2.35 dB.
    static double rough_frequency(const std::complex<float>* symbols);

    //! The best code and frequency of a header that begins at symbols[0] of 90.
    pl_found at(const std::complex<float>* symbols) const;

    //! The same at frequencies that differ from `centre` by `most_difference` or less. A
    //! header whose score is below `least` has it roughly, and no frequency.
    pl_found near(const std::complex<float>* symbols,
                  double centre,
                  double most_difference,
                  float least = 0) const;

    /*!
     * The most likely headers among `count` symbols.
     * \param candidates  places whose likelihood is computed
     * \param least       of the score of what is returned
     * \return by place
     */
    std::vector<pl_found> find(const std::complex<float>* symbols,
                               size_t count,
                               size_t candidates,
                               float least) const;

private:
    double d_most_frequency;
    pl_codes d_allowed;
};

} // namespace gr::cudaphy::kernels
