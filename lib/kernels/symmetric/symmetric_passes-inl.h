/* SPDX-License-Identifier: GPL-3.0-or-later */
// Passes over a whole matrix: copies of triangles, norms, probes. Included once an
// instruction set, hence no #pragma once.
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
#include <mutex>
#include <random>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr size_t pass_tile = 32;

//! Calls tile(i0, i1, j0, j1) for the tiles of the lower triangle of a matrix of order n.
template <typename Tile>
void for_each_lower_tile(size_t n, const crew& by, const Tile& tile)
{
    const size_t count = (n + pass_tile - 1) / pass_tile;
    by.each(count, 1, [&](size_t from, size_t to) {
        for (size_t block = from; block < to; ++block) {
            const size_t i = block * pass_tile, last = std::min(n, i + pass_tile);
            for (size_t j = 0; j < last; j += pass_tile) {
                tile(i, last, j, std::min(n, j + pass_tile));
            }
        }
    });
}

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

//! A lower triangle becomes a whole matrix, exactly Hermitian. Returns whether it is
//! finite.
template <typename T>
bool mirror(T* x, size_t ld, size_t n, const crew& by)
{
    using real = decltype(std::abs(T()));
    std::atomic<bool> finite{ true };
    for_each_lower_tile(n, by, [&](size_t i0, size_t i1, size_t j0, size_t j1) {
        T block[pass_tile][pass_tile];
        T zero = 0; // or NaN
        for (size_t i = i0; i < i1; ++i) {
            const size_t last = std::min(i, j1);
            for (size_t j = j0; j < last; ++j) {
                const T value = x[i * ld + j];
                zero += value * real(0);
                block[j - j0][i - i0] = adjoint(value);
            }
            if (i < j1) {
                x[i * ld + i] = std::real(x[i * ld + i]);
                zero += x[i * ld + i] * real(0);
            }
        }
        for (size_t j = j0; j < j1; ++j) {
            for (size_t i = std::max(i0, j + 1); i < i1; ++i) {
                x[j * ld + i] = block[j - j0][i - i0];
            }
        }
        if (zero != zero) {
            finite = false;
        }
    });
    return finite;
}

//! S P^T W P S of a whole matrix, where row i of P A is row rows[i] of A. Returns whether
//! it is finite.
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
    std::atomic<bool> finite{ true };
    by.each(n, 16, [&](size_t first, size_t last) {
        T zero = 0; // or NaN
        for (size_t i = first; i < last; ++i) {
            T* const to = x + rows[i] * n;
            const real factor = scale[rows[i]];
            for (size_t j = 0; j < n; ++j) {
                const T value = w[i * ld + j] * (factor * scale[rows[j]]);
                zero += value * real(0);
                to[rows[j]] = value;
            }
        }
        if (zero != zero) {
            finite = false;
        }
    });
    return finite;
}

//! Sums of the moduli of each row of a Hermitian matrix, by its lower triangle, and the
//! largest modulus of each row of S A S.
template <typename T>
void row_norms(const T* a,
               size_t n,
               const decltype(std::abs(T()))* scale,
               decltype(std::abs(T()))* sums,
               decltype(std::abs(T()))* largest,
               const crew& by)
{
    using real = decltype(std::abs(T()));
    std::mutex guard;
    std::fill_n(sums, n, real(0));
    std::fill_n(largest, n, real(0));
    by.each(n, std::max<size_t>(64, n / 16), [&](size_t first, size_t last) {
        std::vector<real> partial(2 * n);
        real* const sum = partial.data();
        real* const most = sum + n;
        for (size_t i = first; i < last; ++i) {
            real row_sum = 0, row_most = 0;
            for (size_t j = 0; j <= i; ++j) {
                const real size =
                    std::abs(i == j ? T(std::real(a[i * n + j])) : a[i * n + j]);
                const real scaled = size * scale[i] * scale[j];
                row_sum += size;
                row_most = std::max(row_most, scaled);
                sum[j] += i == j ? 0 : size;
                most[j] = std::max(most[j], scaled);
            }
            sum[i] += row_sum;
            most[i] = std::max(most[i], row_most);
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (size_t j = 0; j < last; ++j) {
            sums[j] += sum[j];
            largest[j] = std::max(largest[j], most[j]);
        }
    });
}

//! The largest sum of a row's moduli of a whole matrix.
template <typename T>
decltype(std::abs(T())) row_norm(const T* x, size_t n, const crew& by)
{
    using real = decltype(std::abs(T()));
    std::mutex guard;
    real norm = 0;
    by.each(n, 16, [&](size_t first, size_t last) {
        real most = 0;
        for (size_t i = first; i < last; ++i) {
            real sum = 0;
            for (size_t j = 0; j < n; ++j) {
                sum += std::abs(x[i * n + j]);
            }
            most = std::max(most, sum);
        }
        const std::lock_guard<std::mutex> lock(guard);
        norm = std::max(norm, most);
    });
    return norm;
}

//! y = A v, by A's lower triangle, summed up in Sum.
template <typename Sum, typename T>
std::vector<T> times_lower(const T* a, size_t n, const std::vector<T>& v, const crew& by)
{
    std::mutex guard;
    std::vector<Sum> y(n);
    by.each(n, std::max<size_t>(64, n / 16), [&](size_t first, size_t last) {
        std::vector<Sum> part(last);
        for (size_t i = first; i < last; ++i) {
            const T* row = a + i * n;
            Sum sum = Sum(v[i]) * Sum(std::real(row[i]));
            const Sum vi = v[i];
            for (size_t j = 0; j < i; ++j) {
                sum += times(Sum(row[j]), Sum(v[j]));
                part[j] += times(Sum(adjoint(row[j])), vi);
            }
            part[i] += sum;
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (size_t j = 0; j < last; ++j) {
            y[j] += part[j];
        }
    });
    return { y.begin(), y.end() };
}

//! X v for a whole X, summed up in Sum.
template <typename Sum, typename T>
std::vector<T> times_whole(const T* x, size_t n, const std::vector<T>& v, const crew& by)
{
    std::vector<T> y(n);
    by.each(n, 32, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            Sum sums[8] = {};
            const T* row = x + i * n;
            size_t j = 0;
            for (; j + 8 <= n; j += 8) {
                for (size_t l = 0; l < 8; ++l) {
                    sums[l] += times(Sum(row[j + l]), Sum(v[j + l]));
                }
            }
            for (; j < n; ++j) {
                sums[0] += times(Sum(row[j]), Sum(v[j]));
            }
            y[i] = T((sums[0] + sums[1]) + (sums[2] + sums[3]) +
                     ((sums[4] + sums[5]) + (sums[6] + sums[7])));
        }
    });
    return y;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
