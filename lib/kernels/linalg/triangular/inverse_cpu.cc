/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/common/memory/thread_memory.h"
#include "kernels/common/parallel.h"
#include "kernels/linalg/triangular/inverse_makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linalg/triangular/inverse_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <hwy/highway.h>
#include <vector>

#include "kernels/linalg/triangular/inverse_transpose-inl.h"

// A lane inverts a matrix. A tile holds only the triangle, row after row, with the lane
// as the last index: N (N + 1) / 2 vectors. For float and N = 32 a tile fits into a
// first-level cache.

#ifndef CUDAPHY_TRIANGLE_PLACES
#define CUDAPHY_TRIANGLE_PLACES
namespace gr::cudaphy::kernels {
namespace {

//! The vector of a tile that holds each number of a row-major matrix. An upper triangle
//! is the transpose of a lower one. All numbers outside the triangle share one vector,
//! behind the others.
struct triangle_places {
    triangle_places(int n, bool lower, bool unit_diagonal, int parts_of_element)
        : order(n), parts(parts_of_element), unit(unit_diagonal),
          outside(n * (n + 1) / 2 * parts), of(size_t(n) * n * parts, outside),
          run_outside(of.size())
    {
        for (int i = 0; i < n; ++i) {
            for (int e = 0; e < (i + 1) * parts; ++e) {
                const int j = e / parts, part = e % parts;
                const int place = lower ? i * n + j : j * n + i;
                of[place * parts + part] = i * (i + 1) / 2 * parts + e;
            }
        }
        size_t run = 0;
        for (size_t f = of.size(); f-- > 0;) {
            run = of[f] == outside ? run + 1 : 0;
            run_outside[f] = run;
        }
    }

    size_t size() const { return of.size(); } //!< of a matrix, in numbers

    int order;
    int parts; //!< numbers an element
    bool unit; //!< the diagonal is 1
    int outside;
    std::vector<int> of;
    std::vector<size_t> run_outside; //!< from each number on, how many follow
};

//! The status of a triangle whose inverse is not finite.
template <typename R>
int status_of_failed(const R* a, const triangle_places& places)
{
    const auto is_zero = [](R number) { return number == 0; };
    int zero = 0;
    for (size_t f = 0; f < places.size(); ++f) {
        const int i = int(f) / places.parts / places.order;
        const int j = int(f) / places.parts % places.order;
        if (places.of[f] == places.outside || (i == j && places.unit)) {
            continue;
        }
        if (!std::isfinite(a[f])) {
            return -1;
        }
        if (i == j && zero == 0 && f % places.parts == 0 &&
            std::all_of(a + f, a + f + places.parts, is_zero)) {
            zero = i + 1;
        }
    }
    return zero ? zero : -1;
}

} // namespace
} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename R>
using tag = hn::ScalableTag<R>;
template <typename R>
using vec = hn::Vec<tag<R>>;

//! An element of every lane: a number, or re and im.
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

//! NaN, not 0, for infinity, so that X shows it. The complex reciprocal is Smith's with
//! halves: the modulus is never squared, and can't overflow.
template <typename R, int Parts>
HWY_INLINE element<R, Parts> reciprocal(element<R, Parts> a)
{
    const tag<R> d;
    if constexpr (Parts == 1) {
        return { hn::MulAdd(a.re, hn::Zero(d), hn::Div(hn::Set(d, R(1)), a.re)), a.im };
    } else {
        const auto size = hn::Max(hn::Abs(a.re), hn::Abs(a.im));
        const auto one_half = hn::Set(d, R(0.5));
        const auto half_re = hn::Mul(one_half, hn::Div(a.re, size));
        const auto half_im = hn::Mul(one_half, hn::Div(a.im, size));
        const auto half = hn::MulAdd(half_re, a.re, hn::Mul(half_im, a.im));
        return { hn::Div(half_re, half), hn::Neg(hn::Div(half_im, half)) };
    }
}

//! Inverts a lane's triangle in place: X(i, j) = -X(i, i) sum over j <= m < i of L(i, m)
//! X(m, j). A panel has several rows, and takes several columns abreast, so that a step
//! loads its rows and columns once. For float and AVX-512, 16 fused multiply-adds take 8
//! loads; the core issues 2 of each a cycle.
template <typename R, int Parts>
class lane_inverter
{
public:
    using number = element<R, Parts>;

    lane_inverter(R* tile, int order) : d_tile(tile), n(order) {}

    //! The lanes whose X is finite. The last row decides that, because an element of A or
    //! X that is not finite spreads down its column.
    hn::Mask<tag<R>> run()
    {
        const tag<R> d;
        for (int i = 0; i < n; ++i) {
            reciprocal(number::load(at(i, i))).store(at(i, i));
        }
        int i = 0;
        for (; i + most_rows <= n; i += most_rows) {
            panel<most_rows>(i);
        }
        if (n - i == 3) {
            panel<std::min(3, most_rows)>(i);
        } else if (n - i == 2) {
            panel<2>(i);
        } else if (n - i == 1) {
            panel<1>(i);
        }
        auto sum = hn::Zero(d);
        for (int v = 0; v < n * Parts; ++v) {
            sum = hn::MulAdd(hn::Load(d, at(n - 1, 0) + v * lanes), hn::Zero(d), sum);
        }
        return hn::Eq(sum, hn::Zero(d));
    }

private:
    static constexpr size_t lanes = lanes_of<R>;
    static constexpr bool many_registers = lanes * sizeof(R) == 64;
    static constexpr int most_rows = many_registers || Parts == 1 ? 4 : 2;
    static constexpr int abreast = many_registers && Parts == 1 ? 4 : 2;

    R* at(int i, int j) const
    {
        return d_tile + size_t(i * (i + 1) / 2 + j) * Parts * lanes;
    }

    //! Rows i .. i + Rows - 1, whose reciprocals stand on the diagonal.
    template <int Rows>
    HWY_INLINE void panel(int i) const
    {
        for (int j = 0; j < i; j += abreast) {
            square<Rows>(i, j);
        }
        for (int r = 1; r < Rows; ++r) {
            for (int c = 0; c < r; ++c) {
                auto sum = number::set(0);
                for (int m = c; m < r; ++m) {
                    sum = multiply_add(sum,
                                       number::load(at(i + r, i + m)),
                                       number::load(at(i + m, i + c)));
                }
                const auto inverse = number::load(at(i + r, i + r));
                multiply_add(number::set(0), sum.negative(), inverse)
                    .store(at(i + r, i + c));
            }
        }
    }

    // Below, all indices of arrays are constants once the loops are unrolled. Otherwise
    // the sums would leave the registers.

    //! Adds the products of a column of a panel, at `rows`, and the first Used numbers of
    //! the row of X at `other`.
    template <int Used, int Rows>
    static HWY_INLINE void
    step(number (&sums)[Rows][abreast], const R* (&rows)[Rows], const R* other)
    {
        number factors[Rows];
        for (int r = 0; r < Rows; ++r) {
            factors[r] = number::load(rows[r]);
            rows[r] += Parts * lanes;
        }
        for (int c = 0; c < Used; ++c) {
            const auto value = number::load(other + c * Parts * lanes);
            for (int r = 0; r < Rows; ++r) {
                sums[r][c] = multiply_add(sums[r][c], factors[r], value);
            }
        }
    }

    //! The steps of the columns abreast, from the Used-th on.
    template <int Used, int Rows>
    HWY_INLINE void
    begin(number (&sums)[Rows][abreast], const R* (&rows)[Rows], int j) const
    {
        step<Used>(sums, rows, at(j + Used - 1, j));
        if constexpr (Used < abreast) {
            begin<Used + 1>(sums, rows, j);
        }
    }

    //! Rows Row .. Rows - 1 of X.
    template <int Row, int Rows>
    HWY_INLINE void finish(number (&sums)[Rows][abreast], int i, int j) const
    {
        for (int q = 0; q < Row; ++q) {
            const auto factor = number::load(at(i + Row, i + q));
            for (int c = 0; c < abreast; ++c) {
                sums[Row][c] = multiply_add(sums[Row][c], factor, sums[q][c]);
            }
        }
        const auto inverse = number::load(at(i + Row, i + Row));
        for (int c = 0; c < abreast; ++c) {
            sums[Row][c] = multiply_add(number::set(0), sums[Row][c].negative(), inverse);
            sums[Row][c].store(at(i + Row, j + c));
        }
        if constexpr (Row + 1 < Rows) {
            finish<Row + 1>(sums, i, j);
        }
    }

    //! Columns j .. j + abreast - 1 of a panel.
    template <int Rows>
    HWY_INLINE void square(int i, int j) const
    {
        number sums[Rows][abreast];
        const R* rows[Rows];
        for (int r = 0; r < Rows; ++r) {
            rows[r] = at(i + r, j);
            for (int c = 0; c < abreast; ++c) {
                sums[r][c] = number::set(0);
            }
        }
        begin<1>(sums, rows, j);
        const R* other = at(j + abreast, j);
        for (int m = j + abreast; m < i; ++m) {
            step<abreast>(sums, rows, other);
            other += (m + 1) * Parts * lanes;
        }
        finish<0>(sums, i, j);
    }

    R* d_tile;
    int n;
};

//! Moves `count` matrices, a lane each, between memory and a tile, a vector's length of
//! every one at a time.
template <typename R>
class lane_mover
{
public:
    lane_mover(R* tile, const triangle_places& places) : d_tile(tile), d_places(places) {}

    void load(const R* from, size_t count) const
    {
        const tag<R> d;
        const size_t matrix = d_places.size();
        const R* sources[lanes];
        for (size_t lane = 0; lane < lanes; ++lane) {
            // Lanes beyond the batch repeat its last matrix.
            sources[lane] = from + std::min(lane, count - 1) * matrix;
        }
        for (size_t block = 0; block < blocks(); ++block) {
            const size_t f = first_of(block);
            if (d_places.run_outside[f] >= lanes) {
                continue;
            }
            vec<R> v[lanes];
            HWY_UNROLL(16)
            for (size_t lane = 0; lane < lanes; ++lane) {
                v[lane] = hn::LoadU(d, sources[lane] + f);
            }
            transpose_lanes<R>(v);
            const int* to = d_places.of.data() + f;
            HWY_UNROLL(16)
            for (size_t c = 0; c < lanes; ++c) {
                hn::Store(v[c], d, d_tile + to[c] * lanes);
            }
        }
        for (size_t lane = 0; lane < lanes && matrix < lanes; ++lane) {
            for (size_t f = 0; f < matrix; ++f) {
                d_tile[d_places.of[f] * lanes + lane] = sources[lane][f];
            }
        }
        hn::Store(hn::Zero(d), d, d_tile + d_places.outside * lanes);
    }

    void store(R* to, size_t count) const
    {
        const tag<R> d;
        const size_t matrix = d_places.size();
        for (size_t block = 0; block < blocks(); ++block) {
            const size_t f = first_of(block);
            R* const target = to + f;
            if (d_places.run_outside[f] >= lanes) {
                for (size_t lane = 0; lane < count; ++lane) {
                    hn::StoreU(hn::Zero(d), d, target + lane * matrix);
                }
                continue;
            }
            vec<R> v[lanes];
            const int* from = d_places.of.data() + f;
            HWY_UNROLL(16)
            for (size_t c = 0; c < lanes; ++c) {
                v[c] = hn::Load(d, d_tile + from[c] * lanes);
            }
            transpose_lanes<R>(v);
            if (count == lanes) {
                HWY_UNROLL(16)
                for (size_t lane = 0; lane < lanes; ++lane) {
                    hn::StoreU(v[lane], d, target + lane * matrix);
                }
            } else {
                // Unrolled, for an array with a variable index would leave the registers.
                HWY_UNROLL(16)
                for (size_t lane = 0; lane < lanes; ++lane) {
                    if (lane < count) {
                        hn::StoreU(v[lane], d, target + lane * matrix);
                    }
                }
            }
        }
        for (size_t lane = 0; lane < count && matrix < lanes; ++lane) {
            for (size_t f = 0; f < matrix; ++f) {
                to[lane * matrix + f] = d_tile[d_places.of[f] * lanes + lane];
            }
        }
    }

private:
    static constexpr size_t lanes = lanes_of<R>;

    size_t blocks() const
    {
        return d_places.size() < lanes ? 0 : (d_places.size() + lanes - 1) / lanes;
    }
    //! The last block may overlap the one before.
    size_t first_of(size_t block) const
    {
        return std::min(block * lanes, d_places.size() - lanes);
    }

    R* d_tile;
    const triangle_places& d_places;
};

//! Matrices as runs of R, re and im side by side.
template <typename R, int Parts>
void invert_part(
    const R* a, R* x, int* status, size_t batch, const triangle_places& places)
{
    constexpr size_t lanes = lanes_of<R>;
    const tag<R> d;
    const int n = places.order;
    const size_t matrix = places.size();
    const size_t needed = size_t(places.outside + 1) * lanes;
    thread_local thread_memory<R> memory;
    R* tile = memory.get(needed);
    HWY_ALIGN R is_finite[lanes];
    const lane_mover<R> mover(tile, places);
    for (size_t first = 0; first < batch; first += lanes) {
        const size_t count = std::min(lanes, batch - first);
        mover.load(a + first * matrix, count);
        for (int i = 0; places.unit && i < n; ++i) {
            R* diagonal = tile + size_t(i * (i + 1) / 2 + i) * Parts * lanes;
            element<R, Parts>{ hn::Set(d, R(1)), hn::Zero(d) }.store(diagonal);
        }
        const auto finite = lane_inverter<R, Parts>(tile, n).run();
        std::fill_n(status + first, count, 0);
        if (hn::AllTrue(d, finite)) {
            mover.store(x + first * matrix, count);
            continue;
        }
        // Before X is stored, because X may overwrite A, which explains the failure.
        hn::Store(hn::IfThenElseZero(finite, hn::Set(d, R(1))), d, is_finite);
        for (size_t lane = 0; lane < count; ++lane) {
            if (is_finite[lane] == 0) {
                status[first + lane] =
                    status_of_failed(a + (first + lane) * matrix, places);
            }
        }
        mover.store(x + first * matrix, count);
        for (size_t lane = 0; lane < count; ++lane) {
            if (is_finite[lane] == 0) {
                std::fill_n(x + (first + lane) * matrix, matrix, R(0));
            }
        }
    }
}

} // namespace

void invert_triangles(
    const float* a, float* x, int* status, size_t batch, const triangle_places& places)
{
    const auto invert = places.parts == 2 ? invert_part<float, 2> : invert_part<float, 1>;
    invert(a, x, status, batch, places);
}

void invert_double_triangles(
    const double* a, double* x, int* status, size_t batch, const triangle_places& places)
{
    const auto invert =
        places.parts == 2 ? invert_part<double, 2> : invert_part<double, 1>;
    invert(a, x, status, batch, places);
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
    using real = typename real_of<T>::type;

public:
    explicit triangular_inverse_cpu(const typename triangular_inverse<T>::parameters& p)
        : d_places(p.order, p.lower, p.unit_diagonal, sizeof(T) / sizeof(real))
    {
    }

    void run(view<const T> a, view<T> x, view<int> status, queue& queue) override
    {
        const int n = d_places.order;
        const size_t batch = triangular_inverse_batch(
            n, a.size(), x.size(), status.size(), queue, backend::cpu);
        const size_t elements = size_t(n) * n;
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
            invert(from, to, status.data() + first, last - first, d_places);
        });
    }

private:
    triangle_places d_places;
};

} // namespace

CUDAPHY_HOST_MAKERS(cpu, triangular_inverse, triangular_inverse_cpu)

} // namespace gr::cudaphy::kernels
#endif
