/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/estimator/makers.h"

namespace gr::cudaphy::kernels {

/*
 * \brief What an estimator over several tones works with: all of it follows from the
 * parameters, so that a slot costs two products with fixed numbers.
 *
 * 1. The pilots of one tone in one group of pilot symbols, received at one antenna, are
 *    turned by a unitary matrix Q^H, from P = Q R. Its first rows, as many as the rank of
 *    P, give observations z, which hold all that is known of the channel on that tone;
 * the others hold noise alone. The noise of all stays white. Where the layers' codes are
 *    orthogonal R is diagonal: an observation has one layer.
 * 2. An estimate is a weighted sum of observations that follow each other.
 *
 * Layers that share an observation belong together; the observations of such layers in
 * one group of pilot symbols follow each other in the order of tones.
 */
struct channel_filter_plan {
    using complex = std::complex<double>;

    int receive, layers, tones;
    int symbols; //!< pilot symbols of a slot
    int groups, group_symbols;

    //! What is made of the pilots of a tone: observations first, then what is noise
    //! alone.
    struct projection {
        int tone, first_symbol;
    };
    std::vector<projection> projections;
    //! Of each projection, one a symbol of its group; 0: not looked at.
    std::vector<complex> project;
    int observations;

    //! A weighted sum of `width` observations from `first` on, by a row of `weights`.
    //! What reaches beyond the last observation has weight 0.
    struct sum {
        int first, row;
    };
    int width;                    //!< a multiple of filter_ways
    std::vector<complex> weights; //!< (rows, width)
    std::vector<sum> estimates;   //!< (groups, layers, tones)
    std::vector<sum> noise_sums;  //!< in which the channel cancels, of norm 1

    std::vector<double> over_time; //!< (times, groups)
    int times;                     //!< estimates of a slot
    double noise_factor = 1; //!< n0 that run() gives, in units of the noise variance

    size_t noise_projections() const { return projections.size() - observations; }
    //! What energies of pure noise there are at one antenna.
    size_t energies() const
    {
        return noise_projections() ? noise_projections() : noise_sums.size();
    }
    //! The divisor that turns the sum of energies at all antennas into n0.
    double divisor() const { return double(energies()) * receive / noise_factor; }
    estimator_sizes sizes() const
    {
        const size_t grid = size_t(tones) * receive;
        return { symbols * grid, times * grid * layers, size_t(times) };
    }
    //! The rows of `weights`, or of `project`, in floats.
    static std::vector<complex64> rounded(const std::vector<complex>& from)
    {
        return { from.begin(), from.end() };
    }
    std::vector<float> time_weights() const
    {
        return { over_time.begin(), over_time.end() };
    }
};

/*
 * The order in which a weighted sum is added, the same on CPU and GPU: `filter_ways` sums
 * take every filter_ways-th observation in turn, and are added by halves. The energies of
 * the noise, as floats, (energy, antenna), are added in double by energy_ways sums alike.
 */
constexpr int filter_ways = 16;
constexpr int energy_ways = 256;
constexpr int most_groups = 16;

//! \throws std::invalid_argument as channel_estimator::make() does
channel_filter_plan make_channel_filter_plan(const channel_estimator::parameters&);

//! Where the delays end that a channel is taken to have: what the frequency correlation
//! of two tones so far apart is. E[H(k + d) H(k)*].
std::complex<double> tone_correlation(const channel_estimator::parameters&,
                                      double distance);

//! Weights of the groups' estimates, at their times, in the estimate at each wanted time.
//! `error` is the mean square error of a group's estimate.
std::vector<double> time_interpolation(const channel_estimator::parameters&,
                                       const std::vector<double>& group_times,
                                       double error);

} // namespace gr::cudaphy::kernels
