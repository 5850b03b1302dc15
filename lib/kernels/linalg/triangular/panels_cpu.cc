/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/common/memory/thread_memory.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/triangular/panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linalg/triangular/panels_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <complex>
#include <hwy/highway.h>

// A panel is one or two vectors of X's columns wide (complex: re and im) and stays in a
// first- or second-level cache. Four rows of a panel are computed together. A row of X
// that is loaded serves all four rows, and eight sums hide the latency of the
// multiply-add.

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename R>
using tag = hn::ScalableTag<R>;
template <typename R>
using vec = hn::Vec<tag<R>>;

//! The matrix in the order of substitution: an upper triangle is rotated by 180 degrees.
template <typename R, int Parts>
struct turned {
    const R* first;
    ptrdiff_t row, column;
    bool unit;

    turned(const R* l, int n, bool lower, bool unit_diagonal)
        : first(lower ? l : l + (size_t(n) * n - 1) * Parts),
          row(lower ? ptrdiff_t(n) * Parts : -ptrdiff_t(n) * Parts),
          column(lower ? Parts : -Parts), unit(unit_diagonal)
    {
    }
    HWY_INLINE const R* at(int r, int c) const { return first + r * row + c * column; }
};

//! Divides by the diagonal. The complex division is Smith's with halves, so that the
//! modulus can't overflow.
template <typename R, int Parts, int Vectors>
HWY_INLINE void divide(vec<R>* x, const R* diagonal)
{
    const tag<R> d;
    if constexpr (Parts == 1) {
        const auto divisor = hn::Set(d, *diagonal);
        for (int v = 0; v < Vectors; ++v) {
            x[v] = hn::Div(x[v], divisor);
        }
    } else {
        const R size = std::max(std::abs(diagonal[0]), std::abs(diagonal[Parts - 1]));
        const R half_re = R(0.5) * (diagonal[0] / size);
        const R half_im = R(0.5) * (diagonal[Parts - 1] / size);
        const R half = half_re * diagonal[0] + half_im * diagonal[Parts - 1];
        const auto re = hn::Set(d, half_re / half);
        const auto im = hn::Set(d, -half_im / half);
        for (int v = 0; v < Vectors; ++v) {
            const auto x_re = x[v], x_im = x[Vectors + v];
            x[v] = hn::NegMulAdd(x_im, im, hn::Mul(x_re, re));
            x[Vectors + v] = hn::MulAdd(x_im, re, hn::Mul(x_re, im));
        }
    }
}

//! x - l y
template <typename R, int Parts, int Vectors>
HWY_INLINE void subtract_product(vec<R>* x, const R* l, const vec<R>* y)
{
    const tag<R> d;
    const auto re = hn::Set(d, l[0]);
    for (int v = 0; v < Parts * Vectors; ++v) {
        x[v] = hn::NegMulAdd(re, y[v], x[v]);
    }
    if constexpr (Parts == 2) {
        const auto im = hn::Set(d, l[1]);
        for (int v = 0; v < Vectors; ++v) {
            x[v] = hn::MulAdd(im, y[Vectors + v], x[v]);
            x[Vectors + v] = hn::NegMulAdd(im, y[v], x[Vectors + v]);
        }
    }
}

template <typename R, int Parts, int Vectors>
class panel
{
public:
    panel(const turned<R, Parts>& l, R* rows) : d_l(l), d_rows(rows) {}

    R* row(int r) const { return d_rows + size_t(r) * Parts * Vectors * lanes(); }

    //! Turns right-hand sides into solutions, from row `top` down to row n - 1; the rows
    //! above are zero.
    void substitute(int top, int n) const
    {
        int r = top;
        for (; r + abreast <= n; r += abreast) {
            rows<abreast>(top, r);
        }
        for (; r < n; ++r) {
            rows<1>(top, r);
        }
    }

private:
    static constexpr int abreast = 4;
    static constexpr int vectors = Parts * Vectors;

    static size_t lanes() { return hn::Lanes(tag<R>()); }

    template <int Rows>
    HWY_INLINE void rows(int top, int r0) const
    {
        const tag<R> d;
        vec<R> x[Rows][vectors];
        for (int r = 0; r < Rows; ++r) {
            for (int v = 0; v < vectors; ++v) {
                x[r][v] = hn::Load(d, row(r0 + r) + v * lanes());
            }
        }
        for (int m = top; m < r0; ++m) {
            vec<R> y[vectors];
            for (int v = 0; v < vectors; ++v) {
                y[v] = hn::Load(d, row(m) + v * lanes());
            }
            for (int r = 0; r < Rows; ++r) {
                subtract_product<R, Parts, Vectors>(x[r], d_l.at(r0 + r, m), y);
            }
        }
        for (int r = 0; r < Rows; ++r) {
            for (int m = 0; m < r; ++m) {
                subtract_product<R, Parts, Vectors>(x[r], d_l.at(r0 + r, r0 + m), x[m]);
            }
            if (!d_l.unit) {
                divide<R, Parts, Vectors>(x[r], d_l.at(r0 + r, r0 + r));
            }
            for (int v = 0; v < vectors; ++v) {
                hn::Store(x[r][v], d, row(r0 + r) + v * lanes());
            }
        }
    }

    turned<R, Parts> d_l;
    R* d_rows;
};

//! Columns first .. first + count - 1 of X, at most as many as a panel has.
template <typename R, int Parts, int Vectors>
void solve_panel(const triangular_panels<R>& p,
                 const R* l,
                 const R* b,
                 R* x,
                 R* memory,
                 size_t first,
                 size_t count)
{
    const size_t width = Vectors * hn::Lanes(tag<R>());
    const int n = p.order;
    const panel<R, Parts, Vectors> rows({ l, n, p.lower, p.unit_diagonal }, memory);
    const auto place = [&](int r) {
        return (size_t(p.lower ? r : n - 1 - r) * p.columns + first) * Parts;
    };
    // Columns of the inverse begin at their diagonal elements.
    const int top = b ? 0 : p.lower ? int(first) : n - int(first + count);
    for (int r = top; r < n; ++r) {
        R* row = rows.row(r);
        std::fill_n(row, Parts * width, R(0));
        if (b) {
            const R* from = b + place(r);
            for (size_t c = 0; c < count; ++c) {
                for (int part = 0; part < Parts; ++part) {
                    row[part * width + c] = from[c * Parts + part];
                }
            }
        } else {
            const size_t one = size_t(p.lower ? r : n - 1 - r) - first;
            if (one < count) {
                row[one] = 1;
            }
        }
    }
    rows.substitute(top, n);
    for (int r = 0; r < n; ++r) {
        R* to = x + place(r);
        if (r < top) {
            std::fill_n(to, count * Parts, R(0));
            continue;
        }
        const R* row = rows.row(r);
        for (size_t c = 0; c < count; ++c) {
            for (int part = 0; part < Parts; ++part) {
                to[c * Parts + part] = row[part * width + c];
            }
        }
    }
}

//! Columns first .. last - 1. In place, no later panel may read what a panel overwrites.
//! Therefore a lower L goes from left to right, and an upper L from right to left.
template <typename R, int Parts>
void solve_columns(const triangular_panels<R>& p,
                   const R* l,
                   const R* b,
                   R* x,
                   size_t first,
                   size_t last)
{
    const size_t lanes = hn::Lanes(tag<R>());
    constexpr int most = 2 / Parts;
    const bool narrow = last - first <= lanes;
    const size_t width = (narrow ? 1 : most) * lanes;
    const size_t needed = size_t(p.order) * most * Parts * lanes;
    thread_local thread_memory<R> memory;
    R* const own = memory.get(needed);
    const size_t panels = (last - first + width - 1) / width;
    for (size_t i = 0; i < panels; ++i) {
        const size_t from = first + (p.lower ? i : panels - 1 - i) * width;
        const size_t count = std::min(width, last - from);
        const auto solve =
            narrow ? solve_panel<R, Parts, 1> : solve_panel<R, Parts, most>;
        solve(p, l, b, x, own, from, count);
    }
}

template <typename R>
bool all_finite(const R* from, size_t count)
{
    const tag<R> d;
    const size_t lanes = hn::Lanes(d);
    auto spoilt = hn::Zero(d); // NaN once an element is not finite
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto value = hn::LoadU(d, from + i);
        spoilt = hn::Add(spoilt, hn::Sub(value, value));
    }
    R rest = 0;
    for (; i < count; ++i) {
        rest += from[i] - from[i];
    }
    return hn::AllFalse(d, hn::IsNaN(spoilt)) && rest == 0;
}

} // namespace

void solve_float(const triangular_panels<float>& p,
                 const float* l,
                 const float* b,
                 float* x,
                 size_t first,
                 size_t last,
                 bool is_complex)
{
    (is_complex ? solve_columns<float, 2>
                : solve_columns<float, 1>)(p, l, b, x, first, last);
}
void solve_double(const triangular_panels<double>& p,
                  const double* l,
                  const double* b,
                  double* x,
                  size_t first,
                  size_t last,
                  bool is_complex)
{
    (is_complex ? solve_columns<double, 2>
                : solve_columns<double, 1>)(p, l, b, x, first, last);
}
bool finite_floats(const float* from, size_t count) { return all_finite(from, count); }
bool finite_doubles(const double* from, size_t count) { return all_finite(from, count); }

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(solve_float);
HWY_EXPORT(solve_double);
HWY_EXPORT(finite_floats);
HWY_EXPORT(finite_doubles);

template <typename T>
struct real_of {
    using type = T;
};
template <typename R>
struct real_of<std::complex<R>> {
    using type = R;
};

bool finite(const float* from, size_t count)
{
    return HWY_DYNAMIC_DISPATCH(finite_floats)(from, count);
}
bool finite(const double* from, size_t count)
{
    return HWY_DYNAMIC_DISPATCH(finite_doubles)(from, count);
}

//! One run, in numbers of type R.
template <typename T>
class panel_run
{
public:
    using real = typename real_of<T>::type;

    explicit panel_run(const triangular_panels<T>& given) : p(given)
    {
        d_numbers.order = p.order;
        d_numbers.lower = p.lower;
        d_numbers.unit_diagonal = p.unit_diagonal;
        d_numbers.columns = p.columns;
    }

    int state_of_l(size_t item) const
    {
        const int n = p.order;
        const T* l = l_of(item);
        int zero = 0;
        for (int i = 0; i < n; ++i) {
            const int first = p.lower ? 0 : i + p.unit_diagonal;
            const int last = p.lower ? i + 1 - p.unit_diagonal : n;
            const T* row = l + size_t(i) * n;
            if (!finite(reinterpret_cast<const real*>(row + first),
                        (last - first) * parts)) {
                return -1;
            }
            if (zero == 0 && !p.unit_diagonal && row[i] == T(0)) {
                zero = i + 1;
            }
        }
        return zero;
    }
    bool b_is_finite(size_t item) const
    {
        return !p.b || finite(reinterpret_cast<const real*>(p.b + item * elements()),
                              elements() * parts);
    }
    void solve(size_t item, size_t first, size_t last) const
    {
        const auto* l = reinterpret_cast<const real*>(l_of(item));
        const auto* b =
            p.b ? reinterpret_cast<const real*>(p.b + item * elements()) : nullptr;
        auto* x = reinterpret_cast<real*>(p.x + item * elements());
        if constexpr (std::is_same_v<real, float>) {
            HWY_DYNAMIC_DISPATCH(solve_float)
            (d_numbers, l, b, x, first, last, parts == 2);
        } else {
            HWY_DYNAMIC_DISPATCH(solve_double)
            (d_numbers, l, b, x, first, last, parts == 2);
        }
    }
    void finish(size_t item) const
    {
        T* x = p.x + item * elements();
        int& state = p.status[item];
        if (state == 0 && !finite(reinterpret_cast<const real*>(x), elements() * parts)) {
            state = -1;
        }
        if (state != 0) {
            std::fill_n(x, elements(), T(0));
        }
    }

private:
    static constexpr size_t parts = sizeof(T) / sizeof(real);

    size_t elements() const { return size_t(p.order) * p.columns; }
    const T* l_of(size_t item) const
    {
        return p.l + (p.same_l ? 0 : item) * p.order * p.order;
    }

    const triangular_panels<T>& p;
    triangular_panels<real> d_numbers{}; //!< the argument of the vector code
};

} // namespace

template <typename T>
void triangular_panels<T>::run(size_t batch) const
{
    if (batch == 0 || columns == 0) {
        std::fill_n(status, batch, 0);
        return;
    }
    const panel_run<T> all(*this);
    const int common = same_l ? all.state_of_l(0) : 0;
    const auto begin = [&](size_t item) {
        const int of_l = same_l ? common : all.state_of_l(item);
        status[item] = all.b_is_finite(item) ? of_l : -1;
    };
    const auto solve = [&](size_t item, size_t first, size_t last) {
        if (status[item] == 0) {
            all.solve(item, first, std::min<size_t>(last, columns));
        }
    };
    // A piece has at least about 100,000 multiply-adds. Its columns are whole vectors on
    // every instruction set.
    constexpr size_t piece = 64;
    const size_t wide = std::min<size_t>(piece, columns);
    const size_t grain = std::max<size_t>(1, 200000 / (size_t(order) * order * wide));
    const size_t pieces = (columns + piece - 1) / piece;
    if (pieces == 1 || batch >= 64 || (!b && x == l)) {
        for_each_part(batch, grain, [&](size_t first, size_t last) {
            for (size_t item = first; item < last; ++item) {
                begin(item);
                solve(item, 0, columns);
                all.finish(item);
            }
        });
        return;
    }
    const auto each = [&](size_t count, size_t least, const auto& step) {
        for_each_part(count, least, [&](size_t first, size_t last) {
            for (size_t i = first; i < last; ++i) {
                step(i);
            }
        });
    };
    each(batch, 1, begin);
    each(batch * pieces, grain, [&](size_t i) {
        solve(i / pieces, i % pieces * piece, (i % pieces + 1) * piece);
    });
    each(batch, 1, [&](size_t item) { all.finish(item); });
}

template struct triangular_panels<float>;
template struct triangular_panels<double>;
template struct triangular_panels<std::complex<float>>;
template struct triangular_panels<std::complex<double>>;

} // namespace gr::cudaphy::kernels
#endif
