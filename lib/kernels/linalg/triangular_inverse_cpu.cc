/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/triangular_inverse_makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linalg/triangular_inverse_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

// One matrix a lane. A tile holds the triangle alone, row after row, with the lane as the
// last index: N (N + 1) / 2 vectors, which for float and N = 32 fit a first-level cache.

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename R>
using tag = hn::ScalableTag<R>;
template <typename R>
using vec = hn::Vec<tag<R>>;

//! An element of every lane: a number, or re and im behind each other.
template <typename R, int Parts>
struct element {
    vec<R> re, im;

    static HWY_INLINE element load(const R* from)
    {
        const tag<R> d;
        const auto re = hn::Load(d, from);
        return { re, Parts == 2 ? hn::Load(d, from + (Parts - 1) * hn::Lanes(d)) : re };
    }
    HWY_INLINE void store(R* to) const
    {
        const tag<R> d;
        hn::Store(re, d, to);
        if constexpr (Parts == 2) {
            hn::Store(im, d, to + hn::Lanes(d));
        }
    }
    static HWY_INLINE element set(R value)
    {
        const tag<R> d;
        return { hn::Set(d, value), hn::Zero(d) };
    }
    HWY_INLINE element negative() const { return { hn::Neg(re), hn::Neg(im) }; }
    //! NaN where an element is not finite, else 0.
    HWY_INLINE vec<R> spoilt() const
    {
        const auto spoilt = hn::Sub(re, re);
        return Parts == 2 ? hn::Add(spoilt, hn::Sub(im, im)) : spoilt;
    }
};

//! sum + a b
template <typename R, int Parts>
HWY_INLINE element<R, Parts>
multiply_add(element<R, Parts> sum, element<R, Parts> a, element<R, Parts> b)
{
    if constexpr (Parts == 1) {
        return { hn::MulAdd(a.re, b.re, sum.re), sum.im };
    } else {
        return { hn::NegMulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, sum.re)),
                 hn::MulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, sum.im)) };
    }
}

//! Complex as Smith's: the modulus is never squared, and halved it can't overflow.
template <typename R, int Parts>
HWY_INLINE element<R, Parts> reciprocal(element<R, Parts> a)
{
    const tag<R> d;
    if constexpr (Parts == 1) {
        return { hn::Div(hn::Set(d, R(1)), a.re), a.im };
    } else {
        const auto size = hn::Max(hn::Abs(a.re), hn::Abs(a.im));
        const auto one_half = hn::Set(d, R(0.5));
        const auto half_re = hn::Mul(one_half, hn::Div(a.re, size));
        const auto half_im = hn::Mul(one_half, hn::Div(a.im, size));
        const auto half = hn::MulAdd(half_re, a.re, hn::Mul(half_im, a.im));
        return { hn::Div(half_re, half), hn::Neg(hn::Div(half_im, half)) };
    }
}

template <typename R, int Parts>
class lane_inverter
{
public:
    using number = element<R, Parts>;

    lane_inverter(R* tile, int order) : d_tile(tile), n(order) {}

    //! Row after row in place: X(i, j) = -X(i, i) sum over j <= m < i of L(i, m) X(m, j).
    //! The state of each lane goes to `states`.
    void run(R* states)
    {
        const tag<R> d;
        auto state = hn::Zero(d);
        auto spoilt_in = hn::Zero(d);
        auto spoilt_out = hn::Zero(d);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                spoilt_in = hn::Add(spoilt_in, number::load(at(i, j)).spoilt());
            }
            const auto diagonal = number::load(at(i, i));
            auto zero = hn::Eq(diagonal.re, hn::Zero(d));
            if constexpr (Parts == 2) {
                zero = hn::And(zero, hn::Eq(diagonal.im, hn::Zero(d)));
            }
            zero = hn::And(zero, hn::Eq(state, hn::Zero(d)));
            state = hn::IfThenElse(zero, hn::Set(d, R(i + 1)), state);
            const auto inverse = reciprocal(diagonal);
            inverse.store(at(i, i));
            spoilt_out = hn::Add(spoilt_out, inverse.spoilt());
            for (int j = 0; j < i; j += abreast) {
                const int width = std::min(abreast, i - j);
                spoilt_out = hn::Add(spoilt_out,
                                     width == abreast ? row<abreast>(i, j, inverse)
                                     : width == 3     ? row<3>(i, j, inverse)
                                     : width == 2     ? row<2>(i, j, inverse)
                                                      : row<1>(i, j, inverse));
            }
        }
        const auto minus_one = hn::Set(d, R(-1));
        const auto no_step = hn::Eq(state, hn::Zero(d));
        state = hn::IfThenElse(hn::And(no_step, hn::IsNaN(spoilt_out)), minus_one, state);
        state = hn::IfThenElse(hn::IsNaN(spoilt_in), minus_one, state);
        hn::Store(state, d, states);
    }

private:
    static constexpr int abreast = 4; //!< columns that share a load of L(i, m)

    R* at(int i, int j) const
    {
        return d_tile + size_t(i * (i + 1) / 2 + j) * Parts * hn::Lanes(tag<R>());
    }

    //! X(i, j .. j + Width - 1); NaN where one of them is not finite.
    template <int Width>
    HWY_INLINE vec<R> row(int i, int j, number inverse) const
    {
        number sums[Width];
        for (auto& sum : sums) {
            sum = number::set(0);
        }
        for (int m = j; m < j + Width; ++m) {
            const auto factor = number::load(at(i, m));
            for (int c = 0; c <= m - j; ++c) {
                sums[c] = multiply_add(sums[c], factor, number::load(at(m, j + c)));
            }
        }
        for (int m = j + Width; m < i; ++m) {
            const auto factor = number::load(at(i, m));
            const R* other = at(m, j);
            for (int c = 0; c < Width; ++c) {
                sums[c] =
                    multiply_add(sums[c],
                                 factor,
                                 number::load(other + c * Parts * hn::Lanes(tag<R>())));
            }
        }
        auto spoilt = hn::Zero(tag<R>());
        for (int c = 0; c < Width; ++c) {
            const auto result = multiply_add(number::set(0), sums[c].negative(), inverse);
            result.store(at(i, j + c));
            spoilt = hn::Add(spoilt, result.spoilt());
        }
        return spoilt;
    }

    R* d_tile;
    int n;
};

//! Matrices as runs of R, re and im side by side.
template <typename R, int Parts>
void invert_part(
    const R* a, R* x, int* status, size_t batch, int n, bool lower, bool unit)
{
    const size_t lanes = hn::Lanes(tag<R>());
    const size_t matrix = size_t(Parts) * n * n;
    const size_t needed = size_t(n) * (n + 1) / 2 * Parts * lanes;
    thread_local hwy::AlignedFreeUniquePtr<R[]> memory;
    thread_local size_t allocated = 0;
    if (allocated < needed) {
        memory = hwy::AllocateAligned<R>(needed);
        allocated = needed;
    }
    R* tile = memory.get();
    HWY_ALIGN R states[HWY_MAX_BYTES / sizeof(R)];
    const size_t row_step = size_t(Parts) * (lower ? n : 1);
    const size_t column_step = size_t(Parts) * (lower ? 1 : n);

    for (size_t first = 0; first < batch; first += lanes) {
        const size_t count = std::min(lanes, batch - first);
        for (size_t lane = 0; lane < lanes; ++lane) {
            // Lanes beyond the batch repeat its last matrix.
            const R* from = a + (first + std::min(lane, count - 1)) * matrix;
            R* to = tile + lane;
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j <= i; ++j) {
                    const R* source = from + i * row_step + j * column_step;
                    const bool given = !(unit && i == j);
                    for (int part = 0; part < Parts; ++part, to += lanes) {
                        *to = given ? source[part] : R(1 - part);
                    }
                }
            }
        }
        lane_inverter<R, Parts>(tile, n).run(states);
        for (size_t lane = 0; lane < count; ++lane) {
            R* to = x + (first + lane) * matrix;
            status[first + lane] = int(states[lane]);
            std::fill_n(to, matrix, R(0));
            if (states[lane] != 0) {
                continue;
            }
            const R* from = tile + lane;
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j <= i; ++j) {
                    R* target = to + i * row_step + j * column_step;
                    for (int part = 0; part < Parts; ++part, from += lanes) {
                        target[part] = *from;
                    }
                }
            }
        }
    }
}

} // namespace

void invert_triangles(const float* a,
                      float* x,
                      int* status,
                      size_t batch,
                      int n,
                      bool lower,
                      bool unit,
                      bool is_complex)
{
    const auto invert = is_complex ? invert_part<float, 2> : invert_part<float, 1>;
    invert(a, x, status, batch, n, lower, unit);
}

void invert_double_triangles(const double* a,
                             double* x,
                             int* status,
                             size_t batch,
                             int n,
                             bool lower,
                             bool unit,
                             bool is_complex)
{
    const auto invert = is_complex ? invert_part<double, 2> : invert_part<double, 1>;
    invert(a, x, status, batch, n, lower, unit);
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(invert_triangles);
HWY_EXPORT(invert_double_triangles);

template <typename T>
struct real_of {
    using type = T;
};
template <typename R>
struct real_of<std::complex<R>> {
    using type = R;
};

template <typename T>
class triangular_inverse_cpu : public triangular_inverse<T>
{
public:
    explicit triangular_inverse_cpu(const typename triangular_inverse<T>::parameters& p)
        : d_parameters(p)
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        using real = typename real_of<T>::type;
        const auto& p = d_parameters;
        const size_t batch = triangular_inverse_batch(
            p.order, a.size(), x.size(), status.size(), queue, backend::cpu);
        const size_t elements = size_t(p.order) * p.order;
        const bool is_complex = !std::is_same_v<T, real>;
        // Some 32 KB a piece, in whole vectors of the widest instruction set.
        constexpr size_t widest = 16;
        const size_t grain = widest * std::max<size_t>(1, 512 / elements);
        for_each_part(batch, grain, [&](size_t first, size_t last) {
            const auto* from = reinterpret_cast<const real*>(a.data() + first * elements);
            auto* to = reinterpret_cast<real*>(x.data() + first * elements);
            const auto invert = [&] {
                if constexpr (std::is_same_v<real, float>) {
                    return HWY_DYNAMIC_DISPATCH(invert_triangles);
                } else {
                    return HWY_DYNAMIC_DISPATCH(invert_double_triangles);
                }
            }();
            invert(from,
                   to,
                   status.data() + first,
                   last - first,
                   p.order,
                   p.lower,
                   p.unit_diagonal,
                   is_complex);
        });
    }

private:
    typename triangular_inverse<T>::parameters d_parameters;
};

} // namespace

template <typename T>
std::unique_ptr<triangular_inverse<T>>
make_triangular_inverse_cpu(const typename triangular_inverse<T>::parameters& p)
{
    return std::make_unique<triangular_inverse_cpu<T>>(p);
}

template std::unique_ptr<triangular_inverse<float>>
make_triangular_inverse_cpu<float>(const triangular_inverse<float>::parameters&);
template std::unique_ptr<triangular_inverse<double>>
make_triangular_inverse_cpu<double>(const triangular_inverse<double>::parameters&);
template std::unique_ptr<triangular_inverse<std::complex<float>>>
make_triangular_inverse_cpu<std::complex<float>>(
    const triangular_inverse<std::complex<float>>::parameters&);
template std::unique_ptr<triangular_inverse<std::complex<double>>>
make_triangular_inverse_cpu<std::complex<double>>(
    const triangular_inverse<std::complex<double>>::parameters&);

} // namespace gr::cudaphy::kernels
#endif
