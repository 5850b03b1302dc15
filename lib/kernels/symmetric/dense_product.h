/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/parallel.h"
#include <cmath>
#include <complex>

// What dense_product-inl.h works on; the same for every instruction set.

//! Loops whose variables are to stand in registers.
#ifdef __clang__
#define CUDAPHY_UNROLL _Pragma("unroll")
#else
#define CUDAPHY_UNROLL _Pragma("GCC unroll 16")
#endif

namespace gr::cudaphy::kernels {

//! Who does a piece of work: all cores, or the calling thread alone.
struct crew {
    bool parallel;

    template <typename Part>
    void each(size_t count, size_t grain, const Part& part) const
    {
        if (parallel) {
            for_each_part(count, grain, part);
        } else if (count) {
            part(size_t{ 0 }, count);
        }
    }
};

//! a b, without the library's look for NaN.
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

//! A Hermitian matrix of blocks of order 1 and 2: its diagonal, and below[k], the element
//! (k + 1, k), which is 0 where no block of order 2 begins at k.
template <typename T>
struct block_diagonal {
    const decltype(std::abs(T()))* diagonal;
    const T* below;
};

//! C = or += or -= op(A) D op(B), where op is none or the adjoint (conjugate transpose).
//! Matrices are row-major. C may be B, where k is at most a slice and nothing is added.
template <typename T>
struct product {
    size_t m, n, k; //!< C is (m, n)
    const T* a;
    size_t lda;
    const T* b;
    size_t ldb;
    T* c;
    size_t ldc;
    bool a_adjoint = false;
    bool b_adjoint = false;
    bool negative = false;
    bool add = true;
    //! Only tiles of C that reach its lower triangle are written, each of them whole.
    bool lower = false;
    const block_diagonal<T>* between = nullptr; //!< D; none: 1
    size_t between_first = 0;                   //!< where in D op(A)'s columns begin
};

} // namespace gr::cudaphy::kernels
