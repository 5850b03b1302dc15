/* SPDX-License-Identifier: GPL-3.0-or-later */
// Copies the triangles of a large matrix. Highway includes this file once for each
// instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_PASSES_INL_H
#undef CUDAPHY_SYMMETRIC_PASSES_INL_H
#else
#define CUDAPHY_SYMMETRIC_PASSES_INL_H
#endif

#include "kernels/symmetric/cpu_product/dense_product.h"
#include <algorithm>
#include <atomic>
#include <hwy/highway.h>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! Tells whether all numbers given to look() were finite.
template <typename R>
class finiteness
{
public:
    static constexpr size_t lanes = hn::MaxLanes(hn::ScalableTag<R>());

    finiteness() : d_vector(hn::Zero(hn::ScalableTag<R>())) {}

    void look(const R* values, size_t count)
    {
        const hn::ScalableTag<R> d;
        size_t e = 0;
        for (; e + lanes <= count; e += lanes) {
            d_vector = hn::MulAdd(hn::LoadU(d, values + e), hn::Zero(d), d_vector);
        }
        for (; e < count; ++e) {
            d_rest += values[e] * 0;
        }
    }
    explicit operator bool() const
    {
        const hn::ScalableTag<R> d;
        return hn::AllTrue(d, hn::Eq(d_vector, d_vector)) && d_rest == d_rest;
    }

private:
    hn::Vec<hn::ScalableTag<R>> d_vector;
    R d_rest = 0;
};

//! Copies the lower triangle of S A S, or of A if `scale` is null. Returns whether A is
//! finite. The diagonal's imaginary part is not read, and becomes 0.
template <typename T>
bool copy_lower(const T* a,
                T* to,
                size_t n,
                size_t ld,
                const decltype(std::abs(T()))* scale,
                const crew& by)
{
    using real = decltype(std::abs(T()));
    constexpr size_t parts = sizeof(T) / sizeof(real);
    std::atomic<bool> finite{ true };
    by.each(n, 16, [&](size_t first, size_t last) {
        finiteness<real> good;
        for (size_t i = first; i < last; ++i) {
            const T* HWY_RESTRICT from = a + i * n;
            T* HWY_RESTRICT row = to + i * ld;
            good.look(reinterpret_cast<const real*>(from), i * parts + 1);
            if (scale) {
                const real factor = scale[i];
                for (size_t j = 0; j < i; ++j) {
                    row[j] = from[j] * (factor * scale[j]);
                }
                row[i] = std::real(from[i]) * (factor * factor);
            } else {
                std::copy_n(from, i, row);
                row[i] = std::real(from[i]);
            }
        }
        if (!good) {
            finite = false;
        }
    });
    return finite;
}

//! Rows that are transposed at a time, and elements of a row. The stretches are long,
//! because each row has pages of its own.
constexpr size_t band_rows = 16;
constexpr size_t band_width = 128;

//! Calls put(i, j, value) for the elements right of the diagonal in rows first to last.
//! The matrix is Hermitian, and its lower triangle is read.
template <typename T, typename Put>
HWY_INLINE void mirror_band(
    const T* lower, size_t ld, size_t n, size_t first, size_t last, const Put& put)
{
    for (size_t j0 = first; j0 < n; j0 += band_width) {
        const size_t j1 = std::min(n, j0 + band_width);
        for (size_t i = first; i < std::min(last, j1); ++i) {
            for (size_t j = std::max(j0, i + 1); j < j1; ++j) {
                put(i, j, adjoint(lower[j * ld + i]));
            }
        }
    }
}

//! Calls band(first, last, good) for all bands of rows. Returns whether all numbers that
//! good looked at were finite.
template <typename R, typename Band>
bool each_band(size_t n, const crew& by, const Band& band)
{
    std::atomic<bool> finite{ true };
    by.each((n + band_rows - 1) / band_rows, 1, [&](size_t from, size_t to) {
        finiteness<R> good;
        for (size_t b = from; b < to; ++b) {
            band(b * band_rows, std::min(n, (b + 1) * band_rows), good);
        }
        if (!good) {
            finite = false;
        }
    });
    return finite;
}

//! Mirrors the lower triangle, so that the matrix is exactly Hermitian. Returns whether
//! the triangle is finite.
template <typename T>
bool mirror(T* x, size_t n, const crew& by)
{
    using real = decltype(std::abs(T()));
    return each_band<real>(n, by, [&](size_t first, size_t last, auto& good) {
        for (size_t i = first; i < last; ++i) {
            x[i * n + i] = std::real(x[i * n + i]);
            good.look(reinterpret_cast<real*>(x + i * n),
                      (i + 1) * (sizeof(T) / sizeof(real)));
        }
        mirror_band(x, n, n, first, last, [&](size_t i, size_t j, T value) {
            x[i * n + j] = value;
        });
    });
}

//! X = S P^T W P S, both triangles, from W's lower triangle. Row i of P A is row rows[i]
//! of A. Returns whether X is finite.
template <typename T>
bool restore_rows(const T* w,
                  size_t ld,
                  T* x,
                  size_t n,
                  const size_t* rows,
                  const decltype(std::abs(T()))* scale,
                  const crew& by)
{
    using real = decltype(std::abs(T()));
    std::vector<real> factors(n);
    for (size_t j = 0; j < n; ++j) {
        factors[j] = scale[rows[j]];
    }
    const real* const factor = factors.data();
    const auto put = [=](size_t i, size_t j, T value) {
        x[rows[i] * n + rows[j]] = value * (factor[i] * factor[j]);
    };
    return each_band<real>(n, by, [&](size_t first, size_t last, auto& good) {
        mirror_band(w, ld, n, first, last, put);
        for (size_t i = first; i < last; ++i) {
            for (size_t j = 0; j < i; ++j) {
                put(i, j, w[i * ld + j]);
            }
            put(i, i, std::real(w[i * ld + i]));
            good.look(reinterpret_cast<real*>(x + rows[i] * n),
                      n * (sizeof(T) / sizeof(real)));
        }
    });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
