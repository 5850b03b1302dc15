/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <utility>
#include <vector>

namespace gr::cudaphy::kernels {

//! The sum of some symbols, their values taken off.
struct partial_sum {
    double at; //!< their middle
    std::complex<double> sum;
};

//! Known symbols side by side, in parts.
struct known_block {
    int symbols;
    std::vector<partial_sum> parts;
};

/*!
 * \brief Finds the carrier's frequency over several frames, near one that is known
 * roughly.
 *
 * The likelihood of each frequency of a grid is summed up over frames. That of known
 * blocks is the likelihood of every two neighbours, whose common phase is unknown: their
 * distances differ, so that frequencies that turn one of them by a whole cycle differ in
 * the others. That of data is the likelihood of the harmonics of their phase over
 * stretches of a frame, whose phases are unknown. The frequency counts as found when no
 * other one is nearly as likely.
 */
class frequency_search
{
public:
    //! \param centre  cycles a symbol
    explicit frequency_search(double centre);

    //! In order of time: a frame's, from its own header to the next one, which is the
    //! first block of the next call. `energy`: E|n|^2 of a symbol's noise.
    void add_known(const std::vector<known_block>& blocks, double energy);

    //! Sums of a harmonic, as phase_sums() gives them: sums[i * stride] is that of part
    //! i, of `symbols` symbols; the centre was taken off about each part's middle only.
    void add_data(const std::complex<float>* sums,
                  size_t count,
                  size_t stride,
                  double symbols,
                  int order);

    //! Older frames count less from here on, by the symbols of a frame.
    void forget(double symbols);

    bool is_found() const { return lead() > enough; }
    double centre() const { return d_centre; }
    //! The most likely one.
    double frequency() const;
    //! By how much it is likelier than those that are not its neighbours (logarithm).
    double lead() const;

private:
    static constexpr double enough = 10;
    std::pair<double, double> peak(size_t point) const;
    size_t best() const;
    std::vector<double> data_likelihood(const std::complex<float>* sums,
                                        size_t count,
                                        size_t stride,
                                        double distance,
                                        double stretch) const;

    double d_centre;
    bool d_has_known = false;
    double d_neighbours; //!< points of the same peak, either way
    std::vector<double> d_likelihood;
};

} // namespace gr::cudaphy::kernels
