/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy::kernels::nr {

//! Complex rows of equal length, real and imaginary parts apart, so that vectors of
//! numbers are loaded whole.
struct planes {
    size_t columns = 0;
    std::vector<float> re, im;

    planes() = default;
    planes(size_t rows, size_t the_columns)
        : columns(the_columns), re(rows * the_columns), im(rows * the_columns)
    {
    }
    float* re_of(size_t row) { return re.data() + row * columns; }
    float* im_of(size_t row) { return im.data() + row * columns; }
    const float* re_of(size_t row) const { return re.data() + row * columns; }
    const float* im_of(size_t row) const { return im.data() + row * columns; }
    complex64 at(size_t row, size_t column) const
    {
        return { re_of(row)[column], im_of(row)[column] };
    }
};

//! A product without the care for infinities that std::complex takes.
inline complex64 product(complex64 a, complex64 b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}
inline complex64 product_conj(complex64 a, complex64 b)
{
    return product(a, { b.real(), -b.imag() });
}
inline float energy(complex64 a) { return a.real() * a.real() + a.imag() * a.imag(); }

} // namespace gr::cudaphy::kernels::nr
