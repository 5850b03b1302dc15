/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <limits>

namespace gr::cudaphy::kernels {

/*
 * When a column of H counts as dependent on those before it, for zero forcing: what is
 * left of it outside their span is no longer than `per_antenna` Nr times the column
 * itself. That is 16 units in the last place of a float for each antenna, between 4e-6
 * (Nr = 2) and 3e-5 (Nr = 16): what rounding alone leaves of a dependent column lies
 * below, and what lies below would leave x with a digit or two. It is relative to the
 * column, so neither the scale of H nor a weak layer beside a strong one matters.
 */
constexpr float rank_tolerance_per_antenna = 16 * 1.1920929e-7f;

/*
 * The least noise that MMSE reckons with: sqrt(N0) is taken as no smaller than 2^-22 of
 * the largest power of two in H (-132 dB), because rounding H to floats is itself a noise
 * of that order, and an H without full rank would otherwise be inverted in it.
 */
constexpr float least_noise_amplitude = 2.3841858e-7f;

constexpr float float_max = std::numeric_limits<float>::max();
constexpr float float_min = std::numeric_limits<float>::min();
constexpr float float_infinity = std::numeric_limits<float>::infinity();

/*
 * How the work is cut: an item is one channel matrix with up to `chunk` of the vectors
 * that it serves. A matrix that serves more makes several items, each of which computes
 * the weights anew: at 4 Nt vectors, and 16 at least, that costs less than applying them.
 */
struct equalizer_items {
    equalizer_items(const equalizer::parameters& p, size_t groups);

    size_t matrices; //!< groups * tones
    int chunk;       //!< vectors an item, the last of a matrix excepted
    size_t items;    //!< matrices * chunks; item i has matrix i % matrices
};

//! The number of groups. \throws std::invalid_argument if the sizes do not fit each
//! other.
size_t equalizer_groups(const equalizer::parameters& p,
                        size_t y,
                        size_t h,
                        size_t n0,
                        size_t x,
                        size_t noise,
                        size_t status);

std::unique_ptr<equalizer> make_equalizer_reference(const equalizer::parameters&);
std::unique_ptr<equalizer> make_equalizer_cpu(const equalizer::parameters&);
std::unique_ptr<equalizer> make_equalizer_cuda(const equalizer::parameters&, int device);

} // namespace gr::cudaphy::kernels
