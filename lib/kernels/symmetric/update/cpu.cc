/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/symmetric/update/makers.h"
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/symmetric/update/cpu.cc"
#include <hwy/foreach_target.h>

#include "kernels/symmetric/cpu_product/dense_product.h"
#include <algorithm>
#include <cstring>
#include <hwy/highway.h>
#include <limits>

#ifndef CUDAPHY_INVERSE_UPDATE_CPU_ROWS
#define CUDAPHY_INVERSE_UPDATE_CPU_ROWS
namespace gr::cudaphy::kernels {
namespace {

//! Rows first .. last - 1 of X. V and W stand column after column: column c's real parts
//! begin at c * parts * stride, its imaginary parts a stride behind them.
template <typename T>
struct update_rows {
    using real = decltype(std::abs(T()));
    T* x;
    size_t n, columns, stride, first, last;
    real reciprocal;    //!< 1 / forgetting
    const real* v;      //!< V, or W = X V / forgetting
    const real* factor; //!< (n, columns) W G, row by row
    real* w;            //!< out: W
    real largest = 0;   //!< out: the largest part of an element of X
};

} // namespace
} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

//! W = X V / forgetting for the rows. All columns of V pass over a row while it is in the
//! first-level cache.
template <typename T>
void multiply(update_rows<T>& part)
{
    using real = typename update_rows<T>::real;
    constexpr size_t parts = sizeof(T) / sizeof(real);
    const hn::ScalableTag<real> d;
    const size_t lanes = hn::Lanes(d);
    auto largest = hn::Zero(d);
    real rest_largest = 0;
    for (size_t i = part.first; i < part.last; ++i) {
        const T* const row = part.x + i * part.n;
        const real* const reals = reinterpret_cast<const real*>(row);
        for (size_t c = 0; c < part.columns; ++c) {
            const real* const v = part.v + c * parts * part.stride;
            auto re = hn::Zero(d), im = hn::Zero(d);
            size_t j = 0;
            for (; j + lanes <= part.n; j += lanes) {
                if constexpr (parts == 1) {
                    const auto x = hn::LoadU(d, reals + j);
                    re = hn::MulAdd(x, hn::Load(d, v + j), re);
                    largest = hn::Max(largest, hn::Abs(x));
                } else {
                    hn::Vec<decltype(d)> a, b;
                    hn::LoadInterleaved2(d, reals + 2 * j, a, b);
                    const auto p = hn::Load(d, v + j);
                    const auto q = hn::Load(d, v + part.stride + j);
                    re = hn::NegMulAdd(b, q, hn::MulAdd(a, p, re));
                    im = hn::MulAdd(b, p, hn::MulAdd(a, q, im));
                    largest = hn::Max(largest, hn::Max(hn::Abs(a), hn::Abs(b)));
                }
            }
            T sum;
            if constexpr (parts == 1) {
                sum = hn::GetLane(hn::SumOfLanes(d, re));
            } else {
                sum = T(hn::GetLane(hn::SumOfLanes(d, re)),
                        hn::GetLane(hn::SumOfLanes(d, im)));
            }
            for (; j < part.n; ++j) {
                if constexpr (parts == 1) {
                    sum += row[j] * v[j];
                } else {
                    sum += times(row[j], T(v[j], v[part.stride + j]));
                    rest_largest = std::max(rest_largest, std::abs(row[j].imag()));
                }
                rest_largest = std::max(rest_largest, std::abs(std::real(row[j])));
            }
            sum *= part.reciprocal;
            real* const w = part.w + c * parts * part.stride + i;
            w[0] = std::real(sum);
            if constexpr (parts == 2) {
                w[part.stride] = sum.imag();
            }
        }
    }
    part.largest = std::max(rest_largest, hn::GetLane(hn::MaxOfLanes(d, largest)));
}

//! X = X / forgetting - (W G) W^H for the rows' part of the lower triangle.
template <typename T>
void subtract(update_rows<T>& part)
{
    using real = typename update_rows<T>::real;
    constexpr size_t parts = sizeof(T) / sizeof(real);
    const hn::ScalableTag<real> d;
    const size_t lanes = hn::Lanes(d);
    const auto scale = hn::Set(d, part.reciprocal);
    for (size_t i = part.first; i < part.last; ++i) {
        T* const row = part.x + i * part.n;
        real* const reals = reinterpret_cast<real*>(row);
        const real* const factor = part.factor + i * part.columns * parts;
        size_t j = 0;
        for (; j + lanes <= i + 1; j += lanes) {
            const real* w = part.v + j;
            if constexpr (parts == 1) {
                auto x = hn::Mul(hn::LoadU(d, reals + j), scale);
                for (size_t c = 0; c < part.columns; ++c, w += part.stride) {
                    x = hn::NegMulAdd(hn::Set(d, factor[c]), hn::Load(d, w), x);
                }
                hn::StoreU(x, d, reals + j);
            } else {
                hn::Vec<decltype(d)> a, b;
                hn::LoadInterleaved2(d, reals + 2 * j, a, b);
                a = hn::Mul(a, scale);
                b = hn::Mul(b, scale);
                for (size_t c = 0; c < part.columns; ++c, w += 2 * part.stride) {
                    const auto f = hn::Set(d, factor[2 * c]);
                    const auto g = hn::Set(d, factor[2 * c + 1]);
                    const auto p = hn::Load(d, w), q = hn::Load(d, w + part.stride);
                    a = hn::NegMulAdd(g, q, hn::NegMulAdd(f, p, a)); // f conj(w)
                    b = hn::NegMulAdd(g, p, hn::MulAdd(f, q, b));
                }
                hn::StoreInterleaved2(a, b, d, reals + 2 * j);
            }
        }
        for (; j <= i; ++j) {
            T x = row[j] * part.reciprocal;
            for (size_t c = 0; c < part.columns; ++c) {
                const real* w = part.v + c * parts * part.stride + j;
                if constexpr (parts == 1) {
                    x -= factor[c] * w[0];
                } else {
                    x -= times_adjoint(T(factor[2 * c], factor[2 * c + 1]),
                                       T(w[0], w[part.stride]));
                }
            }
            row[j] = x;
        }
        row[i] = T(std::real(row[i]));
    }
}

} // namespace

#define CUDAPHY_UPDATE(T, name)                                    \
    void multiply_##name(update_rows<T>& part) { multiply(part); } \
    void subtract_##name(update_rows<T>& part) { subtract(part); }
CUDAPHY_UPDATE(float, float)
CUDAPHY_UPDATE(double, double)
CUDAPHY_UPDATE(complex64, complex64)
CUDAPHY_UPDATE(complex128, complex128)
#undef CUDAPHY_UPDATE

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/symmetric/update/small.h"
#include <hwy/aligned_allocator.h>

namespace gr::cudaphy::kernels {
namespace {

#define CUDAPHY_UPDATE(T, name)                                                          \
    HWY_EXPORT(multiply_##name);                                                         \
    HWY_EXPORT(subtract_##name);                                                         \
    void multiply(update_rows<T>& part) { HWY_DYNAMIC_DISPATCH(multiply_##name)(part); } \
    void subtract(update_rows<T>& part) { HWY_DYNAMIC_DISPATCH(subtract_##name)(part); }
CUDAPHY_UPDATE(float, float)
CUDAPHY_UPDATE(double, double)
CUDAPHY_UPDATE(complex64, complex64)
CUDAPHY_UPDATE(complex128, complex128)
#undef CUDAPHY_UPDATE

template <typename T>
class inverse_update_cpu : public inverse_update<T>
{
public:
    using real = typename inverse_update<T>::real;
    static constexpr size_t parts = sizeof(T) / sizeof(real);

    explicit inverse_update_cpu(const typename inverse_update<T>::parameters& p)
        : d_parameters(p), n(p.order), k(p.rank), d_stride((n + 63) / 64 * 64)
    {
    }

    //! V and W by columns, and W G, for each matrix.
    size_t workspace_bytes() const override
    {
        return d_parameters.batch * item_reals() * sizeof(real);
    }

    void run(view<T> x,
             view<const T> v,
             view<const real> d,
             real forgetting,
             view<int> status,
             view<unsigned char> workspace,
             queue& queue) override
    {
        const size_t batch = inverse_update_batch(*this,
                                                  d_parameters,
                                                  x,
                                                  v,
                                                  d,
                                                  forgetting,
                                                  status,
                                                  workspace,
                                                  queue,
                                                  backend::cpu);
        real* const memory = reinterpret_cast<real*>(workspace.data());
        const crew across{ batch > 1 }, within{ batch == 1 && n >= 256 };
        across.each(batch, 1, [&](size_t first, size_t last) {
            for (size_t item = first; item < last; ++item) {
                status[item] = update(x.data() + item * n * n,
                                      v.data() + item * n * k,
                                      d.data() + item * k,
                                      forgetting,
                                      memory + item * item_reals(),
                                      within);
            }
        });
    }

private:
    size_t item_reals() const { return 3 * k * parts * d_stride; }

    int update(T* x,
               const T* v,
               const real* d,
               real forgetting,
               real* memory,
               const crew& by) const
    {
        real* const columns = memory;
        real* const w = columns + k * parts * d_stride;
        real* const factor = w + k * parts * d_stride;
        // V sqrt |d| makes small_inverse's matrix Hermitian; that class adds the signs of
        // d.
        for (size_t c = 0; c < k; ++c) {
            const real root = std::sqrt(std::abs(d[c]));
            for (size_t i = 0; i < n; ++i) {
                const T value = v[i * k + c] * root;
                real* const to = columns + c * parts * d_stride + i;
                to[0] = std::real(value);
                if constexpr (parts == 2) {
                    to[d_stride] = value.imag();
                }
            }
        }
        const real reciprocal = 1 / forgetting;
        std::atomic<bool> in_range{ true };
        by.each(n, 32, [&](size_t first, size_t last) {
            update_rows<T> rows{ x,    n,          k,       d_stride, first,
                                 last, reciprocal, columns, nullptr,  w };
            multiply(rows);
            if (!(rows.largest * std::max<real>(reciprocal, 1) <
                  std::numeric_limits<real>::max() / 4)) {
                in_range = false;
            }
        });
        small_inverse<T> small(n, k, d_stride);
        const int status = small.invert(columns, w, d);
        if (status || !in_range || !small.factor(w, factor)) {
            return status ? status : -1;
        }
        by.each(n, 32, [&](size_t first, size_t last) {
            update_rows<T> rows{ x,    n,          k, d_stride, first,
                                 last, reciprocal, w, factor,   nullptr };
            subtract(rows);
        });
        mirror(x, by);
        return 0;
    }

    void mirror(T* x, const crew& by) const
    {
        constexpr size_t tile = 32;
        by.each((n + tile - 1) / tile, 1, [&](size_t from, size_t to) {
            for (size_t i0 = from * tile; i0 < std::min(n, to * tile); i0 += tile) {
                const size_t i1 = std::min(n, i0 + tile);
                for (size_t j0 = 0; j0 < i1; j0 += tile) {
                    for (size_t j = j0; j < std::min(j0 + tile, i1); ++j) {
                        for (size_t i = std::max(i0, j + 1); i < i1; ++i) {
                            x[j * n + i] = adjoint(x[i * n + j]);
                        }
                    }
                }
            }
        });
    }

    typename inverse_update<T>::parameters d_parameters;
    size_t n, k, d_stride;
};

} // namespace

CUDAPHY_HOST_MAKERS(cpu, inverse_update, inverse_update_cpu)

} // namespace gr::cudaphy::kernels
#endif
