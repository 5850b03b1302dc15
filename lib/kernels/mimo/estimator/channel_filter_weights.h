/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/estimator/channel_filter.h"
#include "kernels/mimo/estimator/channel_filter_matrix.h"
#include <map>

namespace gr::cudaphy::kernels {

struct observation {
    int tone;                                //!< its number
    std::vector<std::complex<double>> gains; //!< of the layers of its set
};

//! Layers that belong together, in one group of pilot symbols.
struct layer_set {
    int group;
    int first; //!< of all observations
    std::vector<int> layers;
    std::vector<observation> observations; //!< by ascending tone
};

/*!
 * \brief Finds the weights of observations in estimates. Weights that were found before,
 * for observations that lie alike to each other, are taken again: patterns repeat, so
 * that a few rows serve thousands of tones.
 */
class filter_weights
{
public:
    using complex = std::complex<double>;
    using sum = channel_filter_plan::sum;

    filter_weights(const channel_estimator::parameters& p,
                   const std::vector<int>& numbers)
        : d_p(p), d_numbers(numbers)
    {
    }

    //! A layer's estimate on every tone; leaves them as they are where it has none.
    void estimates(const layer_set& set, int layer, sum* to);

    //! Appends sums in which the channel cancels.
    void noise_sums(const layer_set& set, std::vector<sum>& to);
    int least_for_noise(const layer_set& set) const
    {
        return 2 * int(set.layers.size()) + 1;
    }

    int width() const;
    std::vector<complex> rows() const; //!< (rows, width)

    //! The mean square error of the estimates for a noise variance of 1.
    double noise_gain(const std::vector<sum>& estimates) const;
    double noise_ratio() const; //!< 1 / snr

private:
    //! Observations `first` to `first + count` of a set.
    struct window {
        const layer_set& set;
        int first, count;
        const observation& operator[](int i) const { return set.observations[first + i]; }
    };
    //! An estimate from the consecutive observations that tell the layers apart.
    struct cell {
        int first, count;
        double centre;
        dense_matrix inverse; //!< (layers, count)
    };

    void by_mmse(const layer_set& set, int layer, sum* to);
    void by_lines(const layer_set& set, int layer, sum* to);
    std::vector<cell> cells(const layer_set& set) const;
    std::vector<complex> mmse(const window& from, int layer, int tone);
    std::vector<complex> cancelling(const window& from) const;
    dense_matrix covariance(const window& from) const;

    std::vector<double> likeness(const window& from) const;
    int row(const std::vector<complex>& weights);

    const channel_estimator::parameters& d_p;
    const std::vector<int>& d_numbers;
    std::vector<std::vector<complex>> d_rows;
    std::map<std::vector<double>, int> d_known;            // rows, by likeness
    std::map<std::vector<double>, dense_matrix> d_factors; // of covariances
};

} // namespace gr::cudaphy::kernels
