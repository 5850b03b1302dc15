/* SPDX-License-Identifier: GPL-3.0-or-later */
// Passes over a whole matrix: copies of triangles, butterflies, probes. Included once an
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

/*!
 * X = S W S from W's lower triangle, whole and exactly Hermitian; scale may be null (1).
 * W may be X. Returns whether it is finite.
 */
template <typename T>
bool spread(const T* w,
            size_t ld,
            T* x,
            size_t n,
            size_t ldx,
            const decltype(std::abs(T()))* scale,
            const crew& by)
{
    using real = decltype(std::abs(T()));
    std::atomic<bool> finite{ true };
    for_each_lower_tile(n, by, [&](size_t i0, size_t i1, size_t j0, size_t j1) {
        T block[pass_tile][pass_tile];
        T zero = 0; // or NaN
        for (size_t i = i0; i < i1; ++i) {
            const real factor = scale ? scale[i] : 1;
            const size_t last = std::min(i + 1, j1);
            for (size_t j = j0; j < last; ++j) {
                T value = w[i * ld + j] * (scale ? factor * scale[j] : real(1));
                value = i == j ? T(std::real(value)) : value;
                zero += value * real(0);
                x[i * ldx + j] = value;
                block[j - j0][i - i0] = adjoint(value);
            }
        }
        for (size_t j = j0; j < j1; ++j) {
            for (size_t i = std::max(i0, j + 1); i < i1; ++i) {
                x[j * ldx + i] = block[j - j0][i - i0];
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

/*
 * Random butterflies of depth 2 (Parker 1995; Baboulin, Dongarra, Herrmann, Tomov, ACM
 * TOMS 39(2), 2013): U = diag(B', B'') B, where B = [R S; R -S] / sqrt(2) with random
 * diagonal R and S of half the order. Leading blocks of U^T A U are as good as those of a
 * random matrix. Factors of exp(-width / 2) to exp(width / 2) of either sign: for a width
 * of 1, U's condition stays below 8.
 */
template <typename Real>
class butterflies
{
public:
    //! For matrices of order 4 quarter whose elements have so many parts.
    butterflies(size_t quarter, size_t parts, double width, unsigned seed)
        : q(quarter * parts), d_parts(parts)
    {
        std::mt19937 engine(seed);
        for (auto& level : d_factors) {
            level.resize(4 * q);
            for (size_t i = 0; i < 4 * quarter; ++i) {
                const double u = engine() / 4294967296.0 - 0.5;
                const double sign = engine() & 1 ? std::sqrt(0.5) : -std::sqrt(0.5);
                std::fill_n(&level[i * parts], parts, Real(sign * std::exp(width * u)));
            }
        }
    }

    //! W = U^T W U of a whole matrix.
    void apply(Real* w, size_t ld, const crew& by) const { pass<true>(w, ld, by); }
    //! W = U W U^T.
    void apply_adjoint(Real* w, size_t ld, const crew& by) const
    {
        pass<false>(w, ld, by);
    }

private:
    template <bool Forward>
    static HWY_INLINE void four(Real& x0,
                                Real& x1,
                                Real& x2,
                                Real& x3,
                                const Real* f,
                                const Real* g,
                                size_t j,
                                size_t q)
    {
        if constexpr (Forward) {
            const Real a = (x0 + x1) * f[j], b = (x0 - x1) * f[q + j];
            const Real c = (x2 + x3) * f[2 * q + j], d = (x2 - x3) * f[3 * q + j];
            x0 = (a + c) * g[j];
            x1 = (b + d) * g[q + j];
            x2 = (a - c) * g[2 * q + j];
            x3 = (b - d) * g[3 * q + j];
        } else {
            const Real y0 = x0 * g[j], y1 = x1 * g[q + j];
            const Real y2 = x2 * g[2 * q + j], y3 = x3 * g[3 * q + j];
            const Real a = (y0 + y2) * f[j], b = (y1 + y3) * f[q + j];
            const Real c = (y0 - y2) * f[2 * q + j], d = (y1 - y3) * f[3 * q + j];
            x0 = a + b;
            x1 = a - b;
            x2 = c + d;
            x3 = c - d;
        }
    }

    template <bool Forward>
    void pass(Real* w, size_t ld, const crew& by) const
    {
        const Real* const f = d_factors[0].data();
        const Real* const g = d_factors[1].data();
        const size_t rows = q / d_parts, step = rows * ld * d_parts;
        by.each(rows, 4, [&](size_t first, size_t last) {
            for (size_t i = first; i < last; ++i) {
                Real* const r0 = w + i * ld * d_parts;
                Real* const r1 = r0 + step;
                Real* const r2 = r1 + step;
                Real* const r3 = r2 + step;
                // Factors of the four rows, in the order in which four() takes them.
                Real fi[4], gi[4];
                for (size_t l = 0; l < 4; ++l) {
                    fi[l] = f[(l * rows + i) * d_parts];
                    gi[l] = g[(l * rows + i) * d_parts];
                }
#ifndef __clang__
#pragma GCC ivdep
#endif
                for (size_t j = 0; j < q; ++j) {
                    Real x[4][4];
                    for (size_t c = 0; c < 4; ++c) {
                        x[0][c] = r0[c * q + j];
                        x[1][c] = r1[c * q + j];
                        x[2][c] = r2[c * q + j];
                        x[3][c] = r3[c * q + j];
                    }
                    for (size_t r = 0; r < 4; ++r) {
                        four<Forward>(x[r][0], x[r][1], x[r][2], x[r][3], f, g, j, q);
                    }
                    for (size_t c = 0; c < 4; ++c) {
                        four<Forward>(x[0][c], x[1][c], x[2][c], x[3][c], fi, gi, 0, 1);
                        r0[c * q + j] = x[0][c];
                        r1[c * q + j] = x[1][c];
                        r2[c * q + j] = x[2][c];
                        r3[c * q + j] = x[3][c];
                    }
                }
            }
        });
    }

    size_t q; //!< reals in a quarter of a row
    size_t d_parts;
    std::vector<Real> d_factors[2]; //!< of the halves, and of the whole
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
