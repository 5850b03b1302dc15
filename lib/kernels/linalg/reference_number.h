/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

// The types in which the reference backends calculate.

namespace gr::cudaphy::kernels {

//! A type with twice the digits, or with the most digits that the machine has.
template <typename T>
struct wider_type {
    using type = std::conditional_t<std::is_same_v<T, float>, double, long double>;
};
template <typename T>
struct wider_type<std::complex<T>> {
    using type = std::complex<typename wider_type<T>::type>;
};

//! a b without the library's test for NaN: where a part is not finite, neither is a part
//! of the library's product.
template <typename R>
R plain_product(R a, R b)
{
    return a * b;
}
template <typename R>
std::complex<R> plain_product(const std::complex<R>& a, const std::complex<R>& b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

template <typename T>
bool is_finite(const T& value)
{
    return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
}

} // namespace gr::cudaphy::kernels
