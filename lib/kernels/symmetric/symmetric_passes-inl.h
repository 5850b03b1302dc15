/* SPDX-License-Identifier: GPL-3.0-or-later */
// Copies of a large matrix's triangles. Included once an instruction set, hence no
// #pragma once.
#if defined(CUDAPHY_SYMMETRIC_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_PASSES_INL_H
#undef CUDAPHY_SYMMETRIC_PASSES_INL_H
#else
#define CUDAPHY_SYMMETRIC_PASSES_INL_H
#endif

#include "kernels/symmetric/dense_product.h"
#include <algorithm>
#include <atomic>
#include <hwy/highway.h>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

//! Copies a lower triangle. Returns whether it is finite; a diagonal's imaginary part
//! becomes 0 unread.
template <typename T>
bool copy_lower(const T* from, T* to, size_t n, size_t ld, const crew& by)
{
    using real = decltype(std::abs(T()));
    constexpr size_t parts = sizeof(T) / sizeof(real);
    std::atomic<bool> finite{ true };
    by.each(n, 16, [&](size_t first, size_t last) {
        const hn::ScalableTag<real> d;
        auto nan = hn::Zero(d); // 0, or NaN once something was not finite
        real rest = 0;
        for (size_t i = first; i < last; ++i) {
            const real* a = reinterpret_cast<const real*>(from + i * n);
            real* b = reinterpret_cast<real*>(to + i * ld);
            size_t e = 0;
            for (; e + hn::Lanes(d) <= i * parts; e += hn::Lanes(d)) {
                const auto value = hn::LoadU(d, a + e);
                nan = hn::MulAdd(value, hn::Zero(d), nan);
                hn::StoreU(value, d, b + e);
            }
            for (; e <= i * parts; ++e) {
                rest += a[e] * 0;
                b[e] = a[e];
            }
            if (parts == 2) {
                b[e] = 0;
            }
        }
        if (!hn::AllTrue(d, hn::Eq(nan, nan)) || rest != rest) {
            finite = false;
        }
    });
    return finite;
}

//! S W S in the place of W's lower triangle.
template <typename T>
void scale_lower(
    T* w, size_t n, size_t ld, const decltype(std::abs(T()))* scale, const crew& by)
{
    by.each(n, 16, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            const auto factor = scale[i];
            for (size_t j = 0; j <= i; ++j) {
                w[i * ld + j] *= factor * scale[j];
            }
        }
    });
}

//! Whether all numbers that it looked at were finite.
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

//! Rows at a time of what is transposed, and elements of each of them: long stretches,
//! for a row is a page or more of its own.
constexpr size_t band_rows = 16;
constexpr size_t band_width = 128;

//! Calls put(i, j, value) for the elements behind the diagonal of rows first to last of a
//! Hermitian matrix, from its lower triangle.
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

//! Calls band(first, last, good) for all bands of rows, where good looks for what is not
//! finite. Returns whether all was.
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

//! A lower triangle becomes a whole matrix, exactly Hermitian. Returns whether it is
//! finite.
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

//! S P^T W P S, whole, of W's lower triangle, where row i of P A is row rows[i] of A.
//! Returns whether it is finite.
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
