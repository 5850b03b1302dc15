/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/dispatch.h"
#include "kernels/common/run_checks.h"
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>

/*
 * What the entries of all kernels share: the makers of the backends, the choice among
 * them, and checks of parameters and sizes. A kernel x is a class template or a class
 * with a type `parameters`.
 *
 * - x.cc:          make() checks the parameters p, and ends with
 *                  return make_kernel<x<T>>(where, device, p);
 * - reference.cc:  CUDAPHY_HOST_MAKERS(reference, x, x_reference)
 * - cpu.cc:        CUDAPHY_HOST_MAKERS(cpu, x, x_cpu)
 * - cuda.cu:       CUDAPHY_CUDA_MAKERS(x, x_cuda)
 *
 * Use the macros in namespace gr::cudaphy::kernels. A kernel that is made of more than
 * its parameters (a code, a matrix) specialises make_on_<backend> itself; the types of
 * the arguments are then those of the specialisation, without const and reference.
 */

namespace gr::cudaphy::kernels {

// Specialised by the backend's source file, never defined in general.
template <typename Kernel, typename... Arguments>
std::unique_ptr<Kernel> make_on_reference(const Arguments&...);
template <typename Kernel, typename... Arguments>
std::unique_ptr<Kernel> make_on_cpu(const Arguments&...);
template <typename Kernel, typename... Arguments>
std::unique_ptr<Kernel> make_on_cuda(int device, const Arguments&...);

//! The kernel on the backend that `where` comes to on this machine.
//! \throws backend_unavailable if CUDA is wanted and can't be had
template <typename Kernel, typename... Arguments>
std::unique_ptr<Kernel> make_kernel(backend where, int device, const Arguments&... of)
{
    return dispatch(
        where,
        device,
        [&] { return make_on_reference<Kernel>(of...); },
        [&] { return make_on_cpu<Kernel>(of...); },
        [&](int index) { return make_on_cuda<Kernel>(index, of...); });
}

//! Calls the macro for each element type of the linear algebra kernels.
#define CUDAPHY_FOR_NUMBER_TYPES(MACRO) \
    MACRO(float) MACRO(double) MACRO(complex64) MACRO(complex128)

//! As CUDAPHY_FOR_NUMBER_TYPES, for macros with three arguments more.
#define CUDAPHY_FOR_NUMBER_TYPES_WITH(MACRO, A, B, C) \
    MACRO(A, B, C, float)                             \
    MACRO(A, B, C, double)                            \
    MACRO(A, B, C, complex64)                         \
    MACRO(A, B, C, complex128)

#define CUDAPHY_HOST_MAKER(WHERE, KERNEL, MADE, T)                                \
    template <>                                                                   \
    std::unique_ptr<KERNEL<T>> make_on_##WHERE<KERNEL<T>, KERNEL<T>::parameters>( \
        const KERNEL<T>::parameters& p)                                           \
    {                                                                             \
        return std::make_unique<MADE<T>>(p);                                      \
    }

#define CUDAPHY_CUDA_MAKER(WHERE, KERNEL, MADE, T)                                \
    template <>                                                                   \
    std::unique_ptr<KERNEL<T>> make_on_##WHERE<KERNEL<T>, KERNEL<T>::parameters>( \
        int device, const KERNEL<T>::parameters& p)                               \
    {                                                                             \
        return std::make_unique<MADE<T>>(p, device);                              \
    }

//! Defines the makers of KERNEL<T> for each number type: MADE<T>(parameters).
#define CUDAPHY_HOST_MAKERS(WHERE, KERNEL, MADE) \
    CUDAPHY_FOR_NUMBER_TYPES_WITH(CUDAPHY_HOST_MAKER, WHERE, KERNEL, MADE)

//! The same on CUDA: MADE<T>(parameters, device).
#define CUDAPHY_CUDA_MAKERS(KERNEL, MADE) \
    CUDAPHY_FOR_NUMBER_TYPES_WITH(CUDAPHY_CUDA_MAKER, cuda, KERNEL, MADE)

// The makers of one KERNEL, by its number of arguments, a plan or a code and parameters:
// MADE(A) or MADE(A, B), on CUDA with the device as last argument.
#define CUDAPHY_HOST_MAKER_1(WHERE, KERNEL, MADE, A)                      \
    template <>                                                           \
    std::unique_ptr<KERNEL> make_on_##WHERE<KERNEL, A>(const A& argument) \
    {                                                                     \
        return std::make_unique<MADE>(argument);                          \
    }

#define CUDAPHY_CUDA_MAKER_1(KERNEL, MADE, A)                                      \
    template <>                                                                    \
    std::unique_ptr<KERNEL> make_on_cuda<KERNEL, A>(int device, const A& argument) \
    {                                                                              \
        return std::make_unique<MADE>(argument, device);                           \
    }

#define CUDAPHY_HOST_MAKER_2(WHERE, KERNEL, MADE, A, B)                           \
    template <>                                                                   \
    std::unique_ptr<KERNEL> make_on_##WHERE<KERNEL, A, B>(const A& a, const B& b) \
    {                                                                             \
        return std::make_unique<MADE>(a, b);                                      \
    }

#define CUDAPHY_CUDA_MAKER_2(KERNEL, MADE, A, B)        \
    template <>                                         \
    std::unique_ptr<KERNEL> make_on_cuda<KERNEL, A, B>( \
        int device, const A& a, const B& b)             \
    {                                                   \
        return std::make_unique<MADE>(a, b, device);    \
    }

//! The value with this name. \throws std::invalid_argument that lists all names
template <typename Value>
Value value_of_name(const char* what,
                    const std::string& name,
                    std::initializer_list<std::pair<const char*, Value>> values)
{
    std::string names;
    for (const auto& [known, value] : values) {
        if (name == known) {
            return value;
        }
        names += (names.empty() ? "'" : ", '") + std::string(known) + "'";
    }
    throw std::invalid_argument(std::string(what) + " is '" + name +
                                "', must be one of " + names);
}

//! \throws std::invalid_argument unless 1 <= value <= most
inline void check_range(const char* name, int value, int most)
{
    if (value < 1 || value > most) {
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                                    ", must be 1.." + std::to_string(most));
    }
}

//! \throws std::invalid_argument if the value is not in first .. last
template <typename Enum>
void check_enum(const char* name, const char* type, Enum value, Enum first, Enum last)
{
    if (value < first || value > last) {
        throw std::invalid_argument(std::string(name) + " is " +
                                    std::to_string(int(value)) +
                                    ", must be a value of enum " + type);
    }
}

//! \param sizes  of the views that run() was given, by their names
//! \param rule   what the sizes must be
//! \throws std::invalid_argument that names all of these, unless `fit`
inline void check_sizes(const char* kernel,
                        bool fit,
                        std::initializer_list<std::pair<const char*, size_t>> sizes,
                        const std::string& rule)
{
    if (fit) {
        return;
    }
    std::string text;
    for (const auto& [name, size] : sizes) {
        text += text.empty()
                    ? std::string(name) + " has " + std::to_string(size) + " elements"
                    : ", " + std::string(name) + " " + std::to_string(size);
    }
    throw std::invalid_argument(std::string(kernel) + ": " + text + "; " + rule);
}

} // namespace gr::cudaphy::kernels
