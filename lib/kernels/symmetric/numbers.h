/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>

// Products and adjoints, the same for real and complex numbers.

namespace gr::cudaphy::kernels {

//! a b, without the test for NaN that the standard library's product makes.
inline float times(float a, float b) { return a * b; }
inline double times(double a, double b) { return a * b; }
inline long double times(long double a, long double b) { return a * b; }
template <typename R>
std::complex<R> times(std::complex<R> a, std::complex<R> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

inline float adjoint(float a) { return a; }
inline double adjoint(double a) { return a; }
inline long double adjoint(long double a) { return a; }
template <typename R>
std::complex<R> adjoint(std::complex<R> a)
{
    return { a.real(), -a.imag() };
}

//! a b^*
template <typename T>
T times_adjoint(T a, T b)
{
    return times(a, adjoint(b));
}

} // namespace gr::cudaphy::kernels
