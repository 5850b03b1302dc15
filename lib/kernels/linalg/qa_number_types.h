/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <boost/mpl/list.hpp>
#include <complex>
#include <limits>
#include <type_traits>

// The number types that the tests of this folder cover, and the wider types for checks.

namespace gr::cudaphy::testing {

using complex128 = std::complex<double>;
using number_types = boost::mpl::list<float, double, std::complex<float>, complex128>;

template <typename T>
struct real_type {
    using type = T;
};
template <typename R>
struct real_type<std::complex<R>> {
    using type = R;
};
template <typename T>
using real_of = typename real_type<T>::type;

template <typename T>
constexpr bool is_complex = !std::is_same_v<T, real_of<T>>;

//! At least twice the digits, or the longest there are. Floats in double, whose loops the
//! compiler turns into vectors.
template <typename T>
using wide_real =
    std::conditional_t<std::is_same_v<real_of<T>, float>, double, long double>;

//! The unit roundoff, as LAPACK counts eps: 2^-24 or 2^-53.
template <typename T>
constexpr real_of<T> eps = std::numeric_limits<real_of<T>>::epsilon() / 2;

} // namespace gr::cudaphy::testing
