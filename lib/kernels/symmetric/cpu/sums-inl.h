/* SPDX-License-Identifier: GPL-3.0-or-later */
// Sums over the rows of a large matrix: norms, and products with vectors. Highway
// includes this file once for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_SUMS_INL_H
#undef CUDAPHY_SYMMETRIC_SUMS_INL_H
#else
#define CUDAPHY_SYMMETRIC_SUMS_INL_H
#endif

#include "kernels/symmetric/cpu_product/dense_product.h"
#include <algorithm>
#include <hwy/highway.h>
#include <mutex>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! Sums are taken in double for every element type.
using sum_tag = hn::ScalableTag<double>;
using sum_vec = hn::Vec<sum_tag>;
constexpr size_t sum_lanes = hn::MaxLanes(sum_tag());

//! A vector in double: real parts, then imaginary parts, each padded with zeros.
struct wide_vector {
    size_t size, stride;
    std::vector<double> values;

    wide_vector(size_t order, size_t parts)
        : size(order), stride((order + sum_lanes - 1) / sum_lanes * sum_lanes),
          values(stride * parts)
    {
    }
    double* part(size_t p) { return &values[p * stride]; }
    const double* part(size_t p) const { return &values[p * stride]; }
    double norm(size_t i) const
    {
        const double re = values[i];
        const double im = values.size() > stride ? values[stride + i] : 0;
        return re * re + im * im;
    }
};

//! The error x y - p of p, the rounded product x y.
template <class D, class V>
HWY_INLINE V product_error([[maybe_unused]] D d, V x, V y, V p)
{
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSE2 || HWY_TARGET == HWY_EMU128 || \
    HWY_TARGET == HWY_SCALAR
    // Without a fused multiply-add, halves of 26 bits give the error (Dekker, Numer.
    // Math. 18, 1971).
    const V split = hn::Set(d, 134217729.0);
    const V xs = hn::Mul(x, split), ys = hn::Mul(y, split);
    const V x1 = hn::Sub(xs, hn::Sub(xs, x)), y1 = hn::Sub(ys, hn::Sub(ys, y));
    const V x2 = hn::Sub(x, x1), y2 = hn::Sub(y, y1);
    const V rest =
        hn::Sub(hn::Sub(hn::Sub(p, hn::Mul(x1, y1)), hn::Mul(x2, y1)), hn::Mul(x1, y2));
    return hn::Sub(hn::Mul(x2, y2), rest);
#else
    return hn::MulSub(x, y, p);
#endif
}

//! A sum of products. Exact: with twice the digits (Ogita, Rump, Oishi, SIAM J. Sci.
//! Comput. 26(6), 2005).
template <bool Exact, class D = sum_tag>
struct running_sum {
    using vec = hn::Vec<D>;
    vec sum, rest;

    HWY_INLINE running_sum() : sum(hn::Zero(D())), rest(hn::Zero(D())) {}
    HWY_INLINE running_sum(vec s, vec r) : sum(s), rest(r) {}

    HWY_INLINE void add(vec x, vec y)
    {
        if constexpr (Exact) {
            const vec p = hn::Mul(x, y);
            rest = hn::Add(rest, product_error(D(), x, y, p));
            add(p);
        } else {
            sum = hn::MulAdd(x, y, sum);
        }
    }
    HWY_INLINE void subtract(vec x, vec y) { add(hn::Neg(x), y); }
    HWY_INLINE void add(vec p)
    {
        const vec next = hn::Add(sum, p);
        if constexpr (Exact) {
            const vec taken = hn::Sub(next, sum);
            rest = hn::Add(
                rest, hn::Add(hn::Sub(sum, hn::Sub(next, taken)), hn::Sub(p, taken)));
        }
        sum = next;
    }
};

//! A running sum in memory.
template <bool Exact>
struct stored_sum {
    double& sum;
    double& rest;

    void add(double value, double error)
    {
        const hn::CappedTag<double, 1> one;
        running_sum<Exact, decltype(one)> all{ hn::Set(one, sum), hn::Set(one, rest) };
        all.add(hn::Set(one, value));
        sum = hn::GetLane(all.sum);
        rest = hn::GetLane(all.rest) + error;
    }
    //! Adds all lanes of another sum.
    void add(const running_sum<Exact>& other)
    {
        const sum_tag d;
        double sums[sum_lanes], rests[sum_lanes];
        hn::StoreU(other.sum, d, sums);
        hn::StoreU(other.rest, d, rests);
        for (size_t l = 0; l < sum_lanes; ++l) {
            add(sums[l], rests[l]);
        }
    }
};

//! A vector of a row's elements; im is 0 for real ones.
struct row_piece {
    sum_vec re, im;
};

HWY_INLINE row_piece load_wide(const double* from)
{
    return { hn::LoadU(sum_tag(), from), hn::Zero(sum_tag()) };
}
HWY_INLINE row_piece load_wide(const float* from)
{
    const sum_tag d;
    return { hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, sum_tag>(), from)),
             hn::Zero(d) };
}
HWY_INLINE row_piece load_wide(const std::complex<double>* from)
{
    row_piece piece;
    hn::LoadInterleaved2(
        sum_tag(), reinterpret_cast<const double*>(from), piece.re, piece.im);
    return piece;
}
HWY_INLINE row_piece load_wide(const std::complex<float>* from)
{
    const sum_tag d;
    const hn::Rebind<float, sum_tag> narrow;
    hn::Vec<decltype(narrow)> re, im;
    hn::LoadInterleaved2(narrow, reinterpret_cast<const float*>(from), re, im);
    return { hn::PromoteTo(d, re), hn::PromoteTo(d, im) };
}

//! Moduli. A modulus overflows only if the result does.
template <size_t parts>
HWY_INLINE sum_vec moduli(const row_piece& x)
{
    const sum_tag d;
    const sum_vec re = hn::Abs(x.re);
    if constexpr (parts == 1) {
        return re;
    }
    const sum_vec im = hn::Abs(x.im), more = hn::Max(re, im);
    const sum_vec divisor =
        hn::IfThenElse(hn::Eq(more, hn::Zero(d)), hn::Set(d, 1.0), more);
    const sum_vec ratio = hn::Div(hn::Min(re, im), divisor);
    return hn::Mul(more, hn::Sqrt(hn::MulAdd(ratio, ratio, hn::Set(d, 1.0))));
}

//! Calls part(j, elements) for each vector of a row's first `count` elements. j is its
//! first element; the last vector is padded with zeros.
template <typename T, typename Part>
HWY_INLINE void each_piece(const T* row, size_t count, const Part& part)
{
    size_t j = 0;
    for (; j + sum_lanes <= count; j += sum_lanes) {
        part(j, load_wide(row + j));
    }
    if (j < count) {
        T last[sum_lanes] = {};
        std::copy(row + j, row + count, last);
        part(j, load_wide(last));
    }
}

//! The value in the first lane, zeros in the others.
HWY_INLINE sum_vec lone(double value)
{
    const sum_tag d;
    return hn::IfThenElseZero(hn::FirstN(d, 1), hn::Set(d, value));
}

//! The rows of a triangle of order n that a core takes at a time. Each time costs a pass
//! over a vector.
inline size_t rows_at_a_time(size_t n) { return std::max<size_t>(64, n / 16); }

//! The sum and the largest of the moduli in each row of S A S. A is Hermitian, and its
//! lower triangle is read.
template <typename T, typename Real>
void row_norms(
    const T* a, size_t n, const Real* scale, Real* sums, Real* largest, const crew& by)
{
    using real = decltype(std::abs(T()));
    constexpr size_t parts = sizeof(T) / sizeof(real);
    wide_vector factors(n, 1), sum(n, 1), most(n, 1);
    std::copy_n(scale, n, factors.part(0));
    std::mutex guard;
    by.each(n, rows_at_a_time(n), [&](size_t first, size_t last) {
        const sum_tag d;
        wide_vector some(last, 1), larger(last, 1);
        const double* const factor = factors.part(0);
        double* const to = some.part(0);
        double* const to_larger = larger.part(0);
        for (size_t i = first; i < last; ++i) {
            const double diagonal = std::abs(std::real(a[i * n + i]));
            const sum_vec row_factor = hn::Set(d, factor[i]);
            sum_vec row_sum = lone(diagonal * factor[i] * factor[i]);
            sum_vec row_most = row_sum;
            each_piece(a + i * n, i, [&](size_t j, const row_piece& x) HWY_ATTR {
                const sum_vec scaled = hn::Mul(hn::Mul(moduli<parts>(x), row_factor),
                                               hn::LoadU(d, factor + j));
                row_sum = hn::Add(row_sum, scaled);
                row_most = hn::Max(row_most, scaled);
                hn::StoreU(hn::Add(hn::LoadU(d, to + j), scaled), d, to + j);
                hn::StoreU(
                    hn::Max(hn::LoadU(d, to_larger + j), scaled), d, to_larger + j);
            });
            to[i] += hn::GetLane(hn::SumOfLanes(d, row_sum));
            to_larger[i] =
                std::max(to_larger[i], hn::GetLane(hn::MaxOfLanes(d, row_most)));
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (size_t j = 0; j < last; ++j) {
            sum.part(0)[j] += to[j];
            most.part(0)[j] = std::max(most.part(0)[j], to_larger[j]);
        }
    });
    std::copy_n(sum.part(0), n, sums);
    std::copy_n(most.part(0), n, largest);
}

//! A v. A is Hermitian, and its lower triangle is read.
template <bool Exact, typename T>
wide_vector times_lower(const T* a, size_t n, const wide_vector& v, const crew& by)
{
    constexpr size_t parts = sizeof(T) / sizeof(std::abs(T()));
    std::mutex guard;
    wide_vector y(n, parts), rest(n, parts);
    by.each(n, rows_at_a_time(n), [&](size_t first, size_t last) {
        const sum_tag d;
        using sum = running_sum<Exact>;
        wide_vector some(last, parts), errors(last, parts);
        const auto load = [&](size_t p, size_t j) HWY_ATTR {
            return sum{ hn::LoadU(d, some.part(p) + j),
                        hn::LoadU(d, errors.part(p) + j) };
        };
        const auto store = [&](const sum& s, size_t p, size_t j) HWY_ATTR {
            hn::StoreU(s.sum, d, some.part(p) + j);
            if (Exact) {
                hn::StoreU(s.rest, d, errors.part(p) + j);
            }
        };
        for (size_t i = first; i < last; ++i) {
            const sum_vec vi = hn::Set(d, v.part(0)[i]);
            const sum_vec wi = hn::Set(d, parts == 2 ? v.part(parts - 1)[i] : 0);
            const sum_vec diagonal = lone(std::real(a[i * n + i]));
            sum re, im;
            re.add(diagonal, vi);
            im.add(diagonal, wi);
            each_piece(a + i * n, i, [&](size_t j, const row_piece& x) HWY_ATTR {
                const sum_vec vj = hn::LoadU(d, v.part(0) + j);
                sum column = load(0, j);
                re.add(x.re, vj);
                column.add(x.re, vi);
                if constexpr (parts == 2) {
                    const sum_vec wj = hn::LoadU(d, v.part(1) + j);
                    sum column_im = load(1, j);
                    re.subtract(x.im, wj);
                    im.add(x.re, wj);
                    im.add(x.im, vj);
                    column.add(x.im, wi);
                    column_im.add(x.re, wi);
                    column_im.subtract(x.im, vi);
                    store(column_im, 1, j);
                }
                store(column, 0, j);
            });
            for (size_t p = 0; p < parts; ++p) {
                stored_sum<Exact>{ some.part(p)[i], errors.part(p)[i] }.add(p ? im : re);
            }
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (size_t p = 0; p < parts; ++p) {
            for (size_t j = 0; j < last; ++j) {
                stored_sum<Exact>{ y.part(p)[j], rest.part(p)[j] }.add(some.part(p)[j],
                                                                       errors.part(p)[j]);
            }
        }
    });
    for (size_t j = 0; j < y.values.size(); ++j) {
        y.values[j] += rest.values[j];
    }
    return y;
}

//! y = X v for each v; all of X is read. Returns the largest sum of moduli in a row of X.
template <size_t Count, typename T>
double times_whole(const T* x,
                   size_t n,
                   const wide_vector (&v)[Count],
                   wide_vector (&y)[Count],
                   const crew& by)
{
    constexpr size_t parts = sizeof(T) / sizeof(std::abs(T()));
    std::mutex guard;
    double norm = 0;
    by.each(n, 16, [&](size_t first, size_t last) {
        const sum_tag d;
        double most = 0;
        for (size_t i = first; i < last; ++i) {
            sum_vec size = hn::Zero(d), sum[Count][parts];
            for (size_t c = 0; c < Count; ++c) {
                for (size_t p = 0; p < parts; ++p) {
                    sum[c][p] = hn::Zero(d);
                }
            }
            each_piece(x + i * n, n, [&](size_t j, const row_piece& row) HWY_ATTR {
                size = hn::Add(size, moduli<parts>(row));
                for (size_t c = 0; c < Count; ++c) {
                    const sum_vec re = hn::LoadU(d, v[c].part(0) + j);
                    sum[c][0] = hn::MulAdd(row.re, re, sum[c][0]);
                    if constexpr (parts == 2) {
                        const sum_vec im = hn::LoadU(d, v[c].part(1) + j);
                        sum[c][0] = hn::NegMulAdd(row.im, im, sum[c][0]);
                        sum[c][1] = hn::MulAdd(row.re, im, sum[c][1]);
                        sum[c][1] = hn::MulAdd(row.im, re, sum[c][1]);
                    }
                }
            });
            most = std::max(most, hn::GetLane(hn::SumOfLanes(d, size)));
            for (size_t c = 0; c < Count; ++c) {
                for (size_t p = 0; p < parts; ++p) {
                    y[c].part(p)[i] = hn::GetLane(hn::SumOfLanes(d, sum[c][p]));
                }
            }
        }
        const std::lock_guard<std::mutex> lock(guard);
        norm = std::max(norm, most);
    });
    return norm;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
