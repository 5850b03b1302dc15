/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <gnuradio/cudaphy/kernels/view.h>
#include <vector>

namespace gr::cudaphy::kernels {

//! Real and imaginary parts apart.
struct split_complex {
    float* re;
    float* im;
    split_complex operator+(size_t by) const { return { re + by, im + by }; }
};

constexpr size_t most_lanes = 16; // of the longest vectors
//! Length of a stored row: an odd multiple of most_lanes, so that the values of a column
//! do not share a few places of a cache.
constexpr size_t padded(size_t count)
{
    return ((count + most_lanes - 1) / most_lanes | 1) * most_lanes;
}
//! The largest factor that a step computes by its definition.
constexpr size_t most_radix = 64;

//! One step of a transform: butterflies of `radix` points, `count` apart.
struct fourier_step {
    size_t radix, count;
    //! exp(-2 pi j p k / (radix · count)): re, im for k = 1 ... radix - 1 for each p.
    std::vector<float> twiddles;
    //! exp(-2 pi j k / radix), re and im, of a radix that has no code of its own.
    std::vector<float> roots;
};

//! A transform of `size` = rows · columns, forward: transforms of the columns, twiddles,
//! and transforms of the rows (Bailey, "FFTs in external or hierarchical memory", 1990).
struct fourier_steps {
    size_t rows, columns;
    std::vector<fourier_step> of_columns, of_rows;
    //! exp(-2 pi j row · column / size), rows as padded() has them.
    std::vector<float> twiddle_re, twiddle_im;
};

//! In place. Backward is forward with real and imaginary parts exchanged.
void run_steps(const fourier_steps& steps, bool forward, complex64* data);

} // namespace gr::cudaphy::kernels
