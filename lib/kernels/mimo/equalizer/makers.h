/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/kernel_entry.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <limits>

namespace gr::cudaphy::kernels {

/*
 * For zero forcing, a column of H depends on those before it if its part outside their
 * span is no longer than this tolerance times Nr times the column itself. That is 16
 * units in the last place of a float for each antenna: 4e-6 (Nr = 2) to 3e-5 (Nr = 16).
 * Rounding leaves less than that of a dependent column. A column at the limit would leave
 * x with one or two digits. The tolerance is relative to the column, so neither the scale
 * of H nor a weak layer beside a strong one matters.
 */
constexpr float rank_tolerance_per_antenna = 16 * 1.1920929e-7f;

/*
 * The least noise that MMSE assumes: sqrt(N0) is at least 2^-22 of the largest power of
 * two in H (-132 dB). Rounding H to floats is itself a noise of that order, and without
 * this bound an H without full rank would be inverted in that noise.
 */
constexpr float least_noise_amplitude = 2.3841858e-7f;

/*
 * A covariance is positive definite if each pivot of its Cholesky factorisation keeps
 * more than this share of its diagonal element. Less is rounding (an interferer 60 dB
 * above the noise leaves 1e-6).
 */
constexpr float least_pivot = 2 * 1.1920929e-7f;

/*
 * More antennas than this go by Gram matrices: G = H^H H is of the order of the layers,
 * whatever the number of antennas. Its sums round, and so the limits are others:
 * - zero forcing: a column depends on those before it if its part outside their span has
 *   no more than 2^-18 of its energy;
 * - MMSE: N0 is at least 2^-20 of the largest layer's energy over all antennas (a signal
 *   60 dB above the noise after combining);
 * - the covariance's pivots: least_pivot for each 16 antennas, because as many more
 *   products are subtracted.
 */
constexpr int most_solved_antennas = 16;
constexpr int most_antennas = 128;
constexpr float gram_rank_tolerance = 3.8146973e-6f;
constexpr float gram_least_noise = 9.5367432e-7f;

//! Products over antennas are summed in blocks of so many, and the blocks then, which
//! keeps the error of 128 antennas at that of about 24.
constexpr int gram_block = 16;

//! least_pivot for a number of antennas.
inline float least_pivot_of(int receive)
{
    return receive <= most_solved_antennas
               ? least_pivot
               : least_pivot * float(receive) / float(most_solved_antennas);
}

constexpr float float_max = std::numeric_limits<float>::max();
constexpr float float_min = std::numeric_limits<float>::min();
constexpr float float_infinity = std::numeric_limits<float>::infinity();

//! The arguments of one call of run(), in memory of the queue.
struct equalizer_run {
    view<const complex64> y, h;
    view<const float> n0;             //!< empty if a covariance is given
    view<const complex64> covariance; //!< empty if a noise variance is given
    view<complex64> x;
    view<float> noise;
    view<int> status;
};

/*
 * The shape of the arrays of one call. One channel for all groups is one group with the
 * symbols of all.
 */
struct equalizer_shape {
    int receive, layers, tones;
    size_t symbols, groups;
    //! Items of n0 or matrices of the covariance: 1, groups or groups * tones.
    size_t variances;

    size_t matrices() const { return groups * tones; }
    size_t vectors() const { return matrices() * symbols; }
    //! The number of the variance that serves a matrix.
    size_t variance_of(size_t matrix) const
    {
        return variances == matrices() ? matrix : variances == 1 ? 0 : matrix / tones;
    }
    //! Matrices in a row that one variance serves; 0: one serves all.
    size_t matrices_a_variance() const
    {
        return variances == 1 ? 0 : variances == matrices() ? 1 : size_t(tones);
    }
};

//! \throws std::invalid_argument if the sizes do not fit each other.
equalizer_shape shape_of(const equalizer::parameters& p, const equalizer_run& given);

/*
 * The items of work: an item is one channel matrix with up to `chunk` of the vectors that
 * it serves. A matrix that serves more vectors makes several items, and each computes the
 * weights anew. With 4 Nt vectors, and 16 at least, that costs less than applying them.
 */
struct equalizer_items {
    explicit equalizer_items(const equalizer_shape& shape);

    size_t matrices;
    size_t chunk; //!< vectors an item, except the last item of a matrix
    size_t items; //!< matrices * chunks; item i has matrix i % matrices

    struct place {
        size_t matrix;
        size_t vector;  //!< its first; the next one is `tones` further
        size_t vectors; //!< how many
    };
    place place_of(size_t item, const equalizer_shape& shape) const
    {
        const size_t matrix = item % matrices, begin = item / matrices * chunk;
        const auto tones = size_t(shape.tones);
        const size_t first = (matrix / tones * shape.symbols + begin) * tones;
        return { matrix, first + matrix % tones, std::min(chunk, shape.symbols - begin) };
    }
};

//! The base of the backends: one equalize() for both public run()s.
class equalizer_backend : public equalizer
{
public:
    explicit equalizer_backend(const parameters& p) : d_p(p) {}

    void run(view<const complex64> y,
             view<const complex64> h,
             view<const float> n0,
             view<complex64> x,
             view<float> noise,
             view<int> status,
             queue& queue) final;
    void run(view<const complex64> y,
             view<const complex64> h,
             view<const complex64> covariance,
             view<complex64> x,
             view<float> noise,
             view<int> status,
             queue& queue) final;

protected:
    virtual void
    equalize(const equalizer_shape& shape, const equalizer_run& given, queue& queue) = 0;

    const parameters d_p;
};

//! The route `inverse`, on every backend.
std::unique_ptr<equalizer>
make_equalizer_by_inverse(const equalizer::parameters&, backend where, int device);

//! More than most_solved_antennas, on CUDA.
std::unique_ptr<equalizer> make_equalizer_by_gram_cuda(const equalizer::parameters&,
                                                       int device);

} // namespace gr::cudaphy::kernels
