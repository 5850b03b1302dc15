/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cuda_runtime_api.h>

namespace gr::cudaphy::kernels {

//! The type that stands for T in a CUDA kernel: itself, or float2 and double2 for complex
//! numbers.
template <typename T>
struct device_type {
    using type = T;
};
template <>
struct device_type<std::complex<float>> {
    using type = float2;
};
template <>
struct device_type<std::complex<double>> {
    using type = double2;
};
template <typename T>
using device_type_of = typename device_type<T>::type;

} // namespace gr::cudaphy::kernels
