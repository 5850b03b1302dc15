/* SPDX-License-Identifier: GPL-3.0-or-later */
// Source 2 (Huo, Wang, Peng, Fang: a large real symmetric matrix inverted by bordering)
// on vector units. symmetric_inverter calls it only for symmetric_algorithm::bordering.
// The file is included once for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_BORDERING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_BORDERING_INL_H
#undef CUDAPHY_SYMMETRIC_BORDERING_INL_H
#else
#define CUDAPHY_SYMMETRIC_BORDERING_INL_H
#endif

#include "kernels/symmetric/cpu_product/dense_product.h"
#include <algorithm>
#include <functional>
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>
#include <limits>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/*
 * Step t adds u u^H / s of step t - 1 to each row of W. The same pass multiplies that row
 * by r, so a step reads and writes the lower triangle once. All steps together move
 * n^3 / 3 elements; the memory's speed bounds them.
 */
template <typename T>
class bordering
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    using tag = hn::ScalableTag<real>;
    using vec = hn::Vec<tag>;

    //! w: A's lower triangle, (n, n) row by row; the inverse's comes in its place.
    bordering(T* w, size_t order, crew by)
        : d_w(w), n(order), d_by(by), d_stride((order + 63) / 64 * 64)
    {
        d_memory = hwy::AllocateAligned<real>((2 + most_pieces) * parts * d_stride);
        if (!d_memory) {
            throw std::bad_alloc();
        }
        std::fill_n(d_memory.get(), (2 + most_pieces) * parts * d_stride, real(0));
    }

    int run(bool positive, const std::function<void(double)>& progress)
    {
        constexpr real eps = std::numeric_limits<real>::epsilon() / 2;
        std::vector<T> u(n);
        real s = 0;
        for (size_t t = 0; t < n; ++t) {
            T* const row = d_w + t * n;
            const real rho = std::real(row[t]);
            // r is the column above the diagonal.
            for (size_t j = 0; j < t; ++j) {
                put(d_memory.get() + parts * d_stride, j, adjoint(row[j]));
            }
            for (size_t j = 0; j + 1 < t; ++j) {
                put(d_memory.get(), j, u[j]);
            }
            const size_t pieces = pass(t, t > 1 ? 1 / s : 0);
            double product = 0; // r^H u
            for (size_t j = 0; j < t; ++j) {
                T sum = 0;
                for (size_t p = 0; p < pieces; ++p) {
                    sum += get(d_memory.get() + (2 + p) * parts * d_stride, j);
                }
                u[j] = sum;
                product += std::real(times(row[j], sum)); // row[j] is r's conjugate
            }
            s = real(rho - product);
            if (!(std::abs(s) > eps * (std::abs(rho) + std::abs(product))) ||
                (positive && s < 0)) {
                return std::isfinite(s) ? int(t) + 1 : -1;
            }
            for (size_t j = 0; j < t; ++j) {
                row[j] = adjoint(-u[j] / s);
            }
            row[t] = 1 / s;
            if (progress && (t % 64 == 63 || t + 1 == n)) {
                const double share = double(t + 1) / n;
                progress(share * share * share);
            }
        }
        // The last step's outer product.
        std::fill_n(d_memory.get() + parts * d_stride, parts * d_stride, real(0));
        for (size_t j = 0; j + 1 < n; ++j) {
            put(d_memory.get(), j, u[j]);
        }
        pass(n, n > 1 ? 1 / s : 0);
        return 0;
    }

private:
    static constexpr size_t most_pieces = 16;

    void put(real* to, size_t j, T value)
    {
        to[j] = std::real(value);
        if constexpr (parts == 2) {
            to[d_stride + j] = value.imag();
        }
    }
    T get(const real* from, size_t j) const
    {
        if constexpr (parts == 2) {
            return T(from[j], from[d_stride + j]);
        } else {
            return from[j];
        }
    }

    //! W += u u^H / s for all but row t - 1, and W r into as many sums as it returns.
    size_t pass(size_t t, real reciprocal)
    {
        const size_t pieces = t < 256 || !d_by.parallel ? 1 : most_pieces;
        const crew by{ pieces > 1 };
        by.each(pieces, 1, [&](size_t from, size_t to) {
            for (size_t p = from; p < to; ++p) {
                real* y = d_memory.get() + (2 + p) * parts * d_stride;
                std::fill_n(y, t, real(0));
                if (parts == 2) {
                    std::fill_n(y + d_stride, t, real(0));
                }
                // Pieces of the same area.
                const auto edge = [&](size_t piece) {
                    return size_t(std::sqrt(double(piece) / pieces) * t + 0.5);
                };
                const size_t last = edge(p + 1);
                for (size_t i = edge(p); i < last; ++i) {
                    update_row(i, i + 1 < t ? reciprocal : 0, y);
                }
            }
        });
        return pieces;
    }

    void update_row(size_t i, real reciprocal, real* HWY_RESTRICT y)
    {
        const tag d;
        const size_t lanes = hn::Lanes(d);
        const real* HWY_RESTRICT u = d_memory.get();
        const real* HWY_RESTRICT r = u + parts * d_stride;
        T* const row = d_w + i * n;
        real* const w = reinterpret_cast<real*>(row);
        const T scaled = get(u, i) * reciprocal, ri = get(r, i);
        const vec f = hn::Set(d, std::real(scaled)), q = hn::Set(d, std::real(ri));
        vec sum = hn::Zero(d), sum_im = hn::Zero(d);
        size_t j = 0;
        if constexpr (parts == 1) {
            for (; j + lanes <= i; j += lanes) {
                const vec x = hn::MulAdd(f, hn::Load(d, u + j), hn::LoadU(d, w + j));
                hn::StoreU(x, d, w + j);
                sum = hn::MulAdd(x, hn::Load(d, r + j), sum);
                hn::Store(hn::MulAdd(x, q, hn::Load(d, y + j)), d, y + j);
            }
        } else {
            const vec g = hn::Set(d, scaled.imag()), p = hn::Set(d, ri.imag());
            for (; j + lanes <= i; j += lanes) {
                vec re, im;
                hn::LoadInterleaved2(d, w + 2 * j, re, im);
                const vec ur = hn::Load(d, u + j), ui = hn::Load(d, u + d_stride + j);
                re = hn::MulAdd(g, ui, hn::MulAdd(f, ur, re));
                im = hn::NegMulAdd(f, ui, hn::MulAdd(g, ur, im));
                hn::StoreInterleaved2(re, im, d, w + 2 * j);
                const vec rr = hn::Load(d, r + j), rim = hn::Load(d, r + d_stride + j);
                sum = hn::NegMulAdd(im, rim, hn::MulAdd(re, rr, sum));
                sum_im = hn::MulAdd(im, rr, hn::MulAdd(re, rim, sum_im));
                // y += conj(w) r_i
                real* const yi = y + d_stride;
                hn::Store(
                    hn::MulAdd(im, p, hn::MulAdd(re, q, hn::Load(d, y + j))), d, y + j);
                hn::Store(hn::NegMulAdd(im, q, hn::MulAdd(re, p, hn::Load(d, yi + j))),
                          d,
                          yi + j);
            }
        }
        T rest = 0;
        for (; j < i; ++j) {
            row[j] += times_adjoint(scaled, get(u, j));
            rest += times(row[j], get(r, j));
            put(y, j, get(y, j) + times(adjoint(row[j]), ri));
        }
        row[i] += times_adjoint(scaled, get(u, i));
        rest += times(row[i], ri);
        T total;
        if constexpr (parts == 1) {
            total = hn::GetLane(hn::SumOfLanes(d, sum));
        } else {
            total = T(hn::GetLane(hn::SumOfLanes(d, sum)),
                      hn::GetLane(hn::SumOfLanes(d, sum_im)));
        }
        put(y, i, get(y, i) + total + rest);
    }

    T* d_w;
    size_t n;
    crew d_by;
    size_t d_stride;
    hwy::AlignedFreeUniquePtr<real[]> d_memory; //!< u, r, and the pieces' sums
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
