/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <gnuradio/cudaphy/kernels/channel_estimator.h>

namespace gr::cudaphy::kernels {

//! Elements of run()'s arrays that one item of a batch takes; its status is one more.
struct estimator_sizes {
    size_t received, h, n0;
};

//! The arrays of a run, or of some items of it.
struct estimator_arrays {
    view<const complex64> received;
    view<complex64> h;
    view<float> n0;
    view<int> status;

    estimator_arrays part(const estimator_sizes& item, size_t first, size_t count) const
    {
        return { received.part(first * item.received, count * item.received),
                 h.part(first * item.h, count * item.h),
                 n0.part(first * item.n0, count * item.n0),
                 status.part(first, count) };
    }
};

//! The plan that make() derives from the pilots.
struct channel_estimator_plan {
    int receive, layers, tones, symbols;       //!< symbols: pilot symbols
    std::vector<std::complex<double>> pilots;  //!< P, (symbols, layers)
    std::vector<std::complex<double>> inverse; //!< (P^H P)^-1 P^H, (layers, symbols)
    //! Variance of a layer's estimate for a noise variance of 1: ((P^H P)^-1)_tt.
    std::vector<double> spread;
    double noise_factor; //!< n0 that run() gives, in units of the noise variance

    size_t elements() const { return size_t(tones) * receive; }
    estimator_sizes sizes() const
    {
        return { symbols * elements(), layers * elements(), 1 };
    }
    //! Whether the noise variance comes from the residual, else from second differences.
    bool residual() const { return symbols > layers; }
    //! What the sum of |residual|^2, or of |second difference|^2 / (6 spread), is divided
    //! by.
    double degrees_of_freedom() const
    {
        return residual() ? double(elements()) * (symbols - layers)
                          : double(tones - 2) * receive * layers;
    }
    //! The divisor that turns the sum of energies into n0.
    double divisor() const { return degrees_of_freedom() / noise_factor; }
    //! The factors of the received pilots, (symbols, layers), and the pilots after them.
    std::vector<complex64> rounded() const;
    //! 1 / (6 spread): a second difference a - 2 b + c has 1 + 4 + 1 times the variance.
    std::vector<float> difference_weights() const;
};

/*
 * The order in which a group's energies are added, the same on every backend, so that the
 * noise variance is. An element is one tone at one receive antenna, in the order of
 * memory; each has an energy, a float. Elements are cut into segments of whole tones, up
 * to 4096 elements; of a segment, `ways` sums, in double, take every 256th element in
 * turn, and are then added by halves: 128 to 128, 64 to 64, ... The segments' sums follow
 * each other.
 */
constexpr int segment_ways = 256;

struct segments {
    explicit segments(const channel_estimator_plan& plan)
        : tones(4096 / plan.receive), elements(tones * plan.receive),
          count((plan.tones + tones - 1) / tones)
    {
    }
    int tones, elements; //!< of one segment, the last one excepted
    int count;           //!< of one group
};

//! The number of items of a run.
//! \throws std::invalid_argument if the arrays do not fit each other.
size_t channel_estimator_batch(const estimator_sizes& item, const estimator_arrays& run);

} // namespace gr::cudaphy::kernels
