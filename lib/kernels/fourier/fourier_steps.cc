/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fourier/fourier_steps.h"
#include "kernels/common/highway_targets.h"
#include <algorithm>
#include <hwy/aligned_allocator.h>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fourier/fourier_steps.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<float, most_lanes>;
using vec = hn::Vec<tag>;

struct number {
    vec re, im;
};

HWY_INLINE number load(split_complex from)
{
    const tag d;
    return { hn::LoadU(d, from.re), hn::LoadU(d, from.im) };
}

HWY_INLINE void store(number value, split_complex to)
{
    const tag d;
    hn::StoreU(value.re, d, to.re);
    hn::StoreU(value.im, d, to.im);
}

HWY_INLINE number operator+(number a, number b)
{
    return { hn::Add(a.re, b.re), hn::Add(a.im, b.im) };
}

HWY_INLINE number operator-(number a, number b)
{
    return { hn::Sub(a.re, b.re), hn::Sub(a.im, b.im) };
}

HWY_INLINE number product(number a, vec re, vec im)
{
    return { hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)),
             hn::MulAdd(a.im, re, hn::Mul(a.re, im)) };
}

//! a + b · by, for a real number.
HWY_INLINE number plus(number a, number b, vec by)
{
    return { hn::MulAdd(b.re, by, a.re), hn::MulAdd(b.im, by, a.im) };
}

HWY_INLINE number times(number a, vec by)
{
    return { hn::Mul(a.re, by), hn::Mul(a.im, by) };
}

//! -j a
HWY_INLINE number turned(number a) { return { a.im, hn::Neg(a.re) }; }

// The transform of radix points. C. S. Burrus, T. W. Parks, "DFT/FFT and Convolution
// Algorithms", 1985, has the short ones.
template <size_t radix>
HWY_INLINE void butterfly(number (&x)[radix]);

template <>
HWY_INLINE void butterfly<2>(number (&x)[2])
{
    const auto difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
}

template <>
HWY_INLINE void butterfly<3>(number (&x)[3])
{
    const tag d;
    const auto sum = x[1] + x[2];
    const auto across = turned(times(x[1] - x[2], hn::Set(d, 0.866025404f)));
    const auto middle = plus(x[0], sum, hn::Set(d, -0.5f));
    x[0] = x[0] + sum;
    x[1] = middle + across;
    x[2] = middle - across;
}

template <>
HWY_INLINE void butterfly<4>(number (&x)[4])
{
    const auto even = x[0] + x[2], even_turned = x[0] - x[2];
    const auto odd = x[1] + x[3], odd_turned = turned(x[1] - x[3]);
    x[0] = even + odd;
    x[1] = even_turned + odd_turned;
    x[2] = even - odd;
    x[3] = even_turned - odd_turned;
}

template <>
HWY_INLINE void butterfly<5>(number (&x)[5])
{
    const tag d;
    const auto c1 = hn::Set(d, 0.309016994f), c2 = hn::Set(d, -0.809016994f); // cosines
    const auto s1 = hn::Set(d, 0.951056516f), s2 = hn::Set(d, 0.587785252f);  // sines
    const auto outer = x[1] + x[4], inner = x[2] + x[3];
    const auto outer_across = x[1] - x[4], inner_across = x[2] - x[3];
    const auto a = plus(plus(x[0], outer, c1), inner, c2);
    const auto b = plus(plus(x[0], outer, c2), inner, c1);
    const auto a_across = turned(plus(times(outer_across, s1), inner_across, s2));
    const auto b_across =
        turned(plus(times(outer_across, s2), inner_across, hn::Neg(s1)));
    x[0] = x[0] + outer + inner;
    x[1] = a + a_across;
    x[4] = a - a_across;
    x[2] = b + b_across;
    x[3] = b - b_across;
}

template <>
HWY_INLINE void butterfly<8>(number (&x)[8])
{
    const tag d;
    number even[4] = { x[0], x[2], x[4], x[6] }, odd[4] = { x[1], x[3], x[5], x[7] };
    butterfly<4>(even);
    butterfly<4>(odd);
    const auto half = hn::Set(d, 0.707106781f);
    odd[1] = times(odd[1] + turned(odd[1]), half);
    odd[2] = turned(odd[2]);
    odd[3] = times(turned(odd[3]) - odd[3], half);
    for (size_t k = 0; k < 4; ++k) {
        x[k] = even[k] + odd[k];
        x[k + 4] = even[k] - odd[k];
    }
}

//! One step for `width` transforms side by side (T. G. Stockham's order). Points of the
//! input are `apart`, which is `width` but in the first step.
template <size_t radix, bool twiddled>
void short_step(const fourier_step& step,
                split_complex from,
                size_t apart,
                size_t width,
                split_complex to)
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    const float* HWY_RESTRICT twiddle = step.twiddles.data();
    for (size_t p = 0; p < step.count; ++p, twiddle += 2 * (radix - 1)) {
        const auto in = from + apart * p, out = to + width * radix * p;
        for (size_t q = 0; q < width; q += lanes) {
            number x[radix];
            for (size_t k = 0; k < radix; ++k) {
                x[k] = load(in + (apart * step.count * k + q));
            }
            butterfly<radix>(x);
            store(x[0], out + q);
            for (size_t k = 1; k < radix; ++k) {
                if (twiddled) {
                    x[k] = product(x[k],
                                   hn::Set(d, twiddle[2 * k - 2]),
                                   hn::Set(d, twiddle[2 * k - 1]));
                }
                store(x[k], out + (width * k + q));
            }
        }
    }
}

//! The same for any radix, by the transform's definition.
void long_step(const fourier_step& step,
               split_complex from,
               size_t apart,
               size_t width,
               split_complex to)
{
    const tag d;
    const size_t lanes = hn::Lanes(d), radix = step.radix;
    const float* twiddle = step.twiddles.data();
    for (size_t p = 0; p < step.count; ++p, twiddle += 2 * (radix - 1)) {
        const auto in = from + apart * p, out = to + width * radix * p;
        for (size_t q = 0; q < width; q += lanes) {
            for (size_t k = 0; k < radix; ++k) {
                auto sum = load(in + q);
                for (size_t j = 1, turn = k; j < radix; ++j) {
                    const auto term = product(load(in + (apart * step.count * j + q)),
                                              hn::Set(d, step.roots[2 * turn]),
                                              hn::Set(d, step.roots[2 * turn + 1]));
                    sum = sum + term;
                    turn += k;
                    turn -= turn >= radix ? radix : 0;
                }
                if (k && step.count > 1) {
                    sum = product(sum,
                                  hn::Set(d, twiddle[2 * k - 2]),
                                  hn::Set(d, twiddle[2 * k - 1]));
                }
                store(sum, out + (width * k + q));
            }
        }
    }
}

template <size_t radix>
void any_step(const fourier_step& step,
              split_complex from,
              size_t apart,
              size_t width,
              split_complex to)
{
    if (step.count > 1) {
        short_step<radix, true>(step, from, apart, width, to);
    } else {
        short_step<radix, false>(step, from, apart, width, to);
    }
}

//! Transforms of a vector's lanes each; \return where they are then: `from`, if there is
//! no step, or one of `work`.
split_complex transform(const std::vector<fourier_step>& steps,
                        split_complex from,
                        size_t apart,
                        split_complex (&work)[2])
{
    size_t width = hn::Lanes(tag());
    for (const auto& step : steps) {
        auto* const run = step.radix == 2   ? any_step<2>
                          : step.radix == 3 ? any_step<3>
                          : step.radix == 4 ? any_step<4>
                          : step.radix == 5 ? any_step<5>
                          : step.radix == 8 ? any_step<8>
                                            : long_step;
        run(step, from, apart, width, work[0]);
        width *= step.radix;
        apart = width;
        from = work[0];
        std::swap(work[0], work[1]);
    }
    return from;
}

//! Rows of a vector's length become columns of `to`, whose number is a multiple of four.
void transpose(const float* from, size_t rows, float* to, size_t to_apart)
{
    constexpr size_t square = block_elements<float>;
    const size_t lanes = hn::Lanes(tag());
    for (size_t row = 0; row < rows; row += square) {
        for (size_t i = 0; i < lanes; i += square) {
            const float* const in = from + lanes * row + i;
            float* const out = to + to_apart * i + row;
#if HWY_TARGET == HWY_SCALAR
            *out = *in;
#else
            const hn::FixedTag<float, square> d;
            hn::Vec<decltype(d)> v[square];
            for (size_t k = 0; k < square; ++k) {
                v[k] = hn::LoadU(d, in + lanes * k);
            }
            transpose_in_blocks(d, v);
            for (size_t k = 0; k < square; ++k) {
                hn::StoreU(v[k], d, out + to_apart * k);
            }
#endif
        }
    }
}

//! A vector of `row`, whose numbers from `size` on are zero.
void load_columns(const float* row, size_t first, size_t size, split_complex to)
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    if (first + lanes <= size) {
        vec re, im;
        hn::LoadInterleaved2(d, row + 2 * first, re, im);
        store({ re, im }, to);
        return;
    }
    for (size_t i = 0; i < lanes; ++i) {
        const bool there = first + i < size;
        to.re[i] = there ? row[2 * (first + i)] : 0;
        to.im[i] = there ? row[2 * (first + i) + 1] : 0;
    }
}

void store_columns(split_complex from, float* row, size_t first, size_t size)
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    if (first + lanes <= size) {
        const auto value = load(from);
        hn::StoreInterleaved2(value.re, value.im, d, row + 2 * first);
        return;
    }
    for (size_t i = 0; first + i < size; ++i) {
        row[2 * (first + i)] = from.re[i];
        row[2 * (first + i) + 1] = from.im[i];
    }
}

//! `turned_over` has columns · padded rows, `work` a vector for each row or column.
void all_steps(const fourier_steps& steps,
               bool forward,
               float* data,
               split_complex turned_over,
               const split_complex (&work)[3])
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    const size_t rows = steps.rows, columns = steps.columns;
    const size_t padded_rows = padded(rows);
    const size_t padded_columns = padded(columns);
    const auto exchanged = [forward](split_complex x) {
        return forward ? x : split_complex{ x.im, x.re };
    };
    for (size_t first = 0; first < columns; first += lanes) {
        for (size_t row = 0; row < rows; ++row) {
            load_columns(data + 2 * columns * row,
                         first,
                         columns,
                         exchanged(work[2] + lanes * row));
        }
        split_complex two[2] = { work[0], work[1] };
        const auto done = transform(steps.of_columns, work[2], lanes, two);
        for (size_t row = 0; row < rows; ++row) {
            const size_t at = padded_columns * row + first;
            store(product(load(done + lanes * row),
                          hn::LoadU(d, steps.twiddle_re.data() + at),
                          hn::LoadU(d, steps.twiddle_im.data() + at)),
                  done + lanes * row);
        }
        const size_t to = padded_rows * first;
        transpose(done.re, rows, turned_over.re + to, padded_rows);
        transpose(done.im, rows, turned_over.im + to, padded_rows);
    }
    for (size_t first = 0; first < rows; first += lanes) {
        split_complex two[2] = { work[0], work[1] };
        const auto done = transform(steps.of_rows, turned_over + first, padded_rows, two);
        const size_t apart = steps.of_rows.empty() ? padded_rows : lanes;
        for (size_t column = 0; column < columns; ++column) {
            store_columns(
                exchanged(done + apart * column), data + 2 * rows * column, first, rows);
        }
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(all_steps);

} // namespace

void run_steps(const fourier_steps& steps, bool forward, complex64* data)
{
    const size_t padded_rows = padded(steps.rows);
    const size_t padded_columns = padded(steps.columns);
    const size_t turned_over = padded_columns * padded_rows;
    const size_t a_part = most_lanes * std::max(padded_rows, padded_columns);
    const size_t all = 2 * turned_over + 6 * a_part;
    const auto memory = hwy::AllocateAligned<float>(all);
    if (!memory) {
        throw std::bad_alloc();
    }
    float* const at = memory.get();
    // What stands behind the last row is computed, too, and then dropped.
    const auto part = [&](size_t i) {
        float* const start = at + 2 * turned_over + 2 * i * a_part;
        return split_complex{ start, start + a_part };
    };
    HWY_DYNAMIC_DISPATCH(all_steps)
    (steps,
     forward,
     reinterpret_cast<float*>(data),
     { at, at + turned_over },
     { part(0), part(1), part(2) });
}

} // namespace gr::cudaphy::kernels
#endif
