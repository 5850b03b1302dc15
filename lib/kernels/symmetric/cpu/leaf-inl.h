/* SPDX-License-Identifier: GPL-3.0-or-later */
// The diagonal blocks of a factorisation, and the triangular solves with them. Highway
// includes this file once for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_LEAF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_LEAF_INL_H
#undef CUDAPHY_SYMMETRIC_LEAF_INL_H
#else
#define CUDAPHY_SYMMETRIC_LEAF_INL_H
#endif

#include "kernels/symmetric/cpu_product/dense_product.h"
#include "kernels/symmetric/cpu_product/transpose-inl.h"
#include <algorithm>
#include <hwy/highway.h>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int leaf_order = 64;

//! A Hermitian matrix of order up to leaf_order. Both triangles are kept, real and
//! imaginary parts apart.
template <typename T>
class leaf
{
public:
    using real = decltype(std::abs(T()));
    static constexpr bool is_complex = sizeof(T) != sizeof(real);

    leaf(const T* lower, size_t ld, int order) : n(order)
    {
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < i; ++j) {
                const T value = lower[i * ld + j];
                set(i, j, value);
                set(j, i, adjoint(value));
            }
            set(i, i, T(std::real(lower[i * ld + i])));
        }
    }

    //! A = L L^H. Writes L to `to`, with zeros above its diagonal. Returns 0, or the
    //! first pivot (from 1) that is not above 0, or -1 if that pivot is NaN.
    int cholesky(T* to, size_t ld)
    {
        for (int k = 0; k < n; ++k) {
            const real pivot = re[k][k];
            if (!(pivot > 0)) {
                return pivot <= 0 ? k + 1 : -1;
            }
            const real root = std::sqrt(pivot);
            scale_row(k, k, 1 / root);
            re[k][k] = root;
            for (int i = k + 1; i < n; ++i) {
                subtract_row(i, i, k, adjoint(at(k, i)));
            }
        }
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                to[i * ld + j] = j > i ? T(0) : j == i ? T(re[i][i]) : adjoint(at(j, i));
            }
        }
        return 0;
    }

private:
    T at(int i, int j) const
    {
        if constexpr (is_complex) {
            return T(re[i][j], im[i][j]);
        } else {
            return re[i][j];
        }
    }
    void set(int i, int j, T value)
    {
        re[i][j] = std::real(value);
        if constexpr (is_complex) {
            im[i][j] = value.imag();
        }
    }

    //! Row i -= factor * row k, from column `first` on.
    HWY_INLINE void subtract_row(int i, int first, int k, T factor)
    {
        const real* HWY_RESTRICT from = re[k];
        real* HWY_RESTRICT to = re[i];
        if constexpr (is_complex) {
            const real* HWY_RESTRICT from_im = im[k];
            real* HWY_RESTRICT to_im = im[i];
            const real f = factor.real(), g = factor.imag();
            for (int j = first; j < n; ++j) {
                to[j] = to[j] - f * from[j] + g * from_im[j];
                to_im[j] = to_im[j] - f * from_im[j] - g * from[j];
            }
        } else {
            for (int j = first; j < n; ++j) {
                to[j] -= factor * from[j];
            }
        }
    }

    void scale_row(int k, int first, real factor)
    {
        for (int j = first; j < n; ++j) {
            re[k][j] *= factor;
            if constexpr (is_complex) {
                im[k][j] *= factor;
            }
        }
    }

    int n;
    HWY_ALIGN real re[leaf_order][leaf_order];
    HWY_ALIGN real im[is_complex ? leaf_order : 1][leaf_order];
};

//! The equations that are solved with a triangular leaf L.
enum class solving {
    adjoint_from_right, //!< X L^H = B
    from_right,         //!< X L = B
    from_left           //!< L X = B
};

/*
 * Solves with a triangular leaf for a few vectors of right-hand sides at a time. These
 * stand side by side in a buffer, element after element. The buffer stays in the
 * first-level cache.
 */
template <typename T>
class leaf_solver
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    using tag = hn::ScalableTag<real>;
    using vec = hn::Vec<tag>;
    static constexpr size_t lanes = hn::MaxLanes(tag());
    static constexpr size_t vectors = 4 / parts;
    //! Elements of a right-hand side at a time: as many as registers hold.
    static constexpr size_t at_once =
        HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 2;
    //! Right-hand sides at a time.
    static constexpr size_t width = vectors * lanes;

    leaf_solver(const T* l, size_t ld, int order, solving how, bool unit)
        : n(order), d_how(how)
    {
        for (int k = 0; k < n; ++k) {
            const int row = position(k);
            d_reciprocal[k] = unit ? real(1) : 1 / std::real(l[row * ld + row]);
            for (int j = 0; j < k; ++j) {
                const int column = position(j);
                const T value = how == solving::from_right ? l[column * ld + row]
                                                           : l[row * ld + column];
                d_factors[k][j * parts] = std::real(value);
                if constexpr (parts == 2) {
                    d_factors[k][j * parts + 1] =
                        how == solving::adjoint_from_right ? -value.imag() : value.imag();
                }
            }
        }
    }

    /*!
     * Solves X L^H = B or X L = B in place; B is (count, n) at b. inverse: D^-1, for X D
     * L^H = B; null: D is 1.
     */
    void solve_rows(T* b, size_t ld, size_t count, const block_diagonal<T>* inverse) const
    {
        HWY_ALIGN real x[leaf_order * parts * width];
        for (size_t first = 0; first < count; first += width) {
            const size_t rows = std::min(width, count - first);
            if (rows < width) {
                std::fill_n(x, n * parts * width, real(0));
            }
            take_rows(b + first * ld, ld, rows, x);
            eliminate(x);
            if (inverse) {
                scale(*inverse, x);
            }
            give_rows(x, rows, b + first * ld, ld);
        }
    }

    //! Solves L X = B in place; B is (n, count) at b.
    void solve_columns(T* b, size_t ld, size_t count) const
    {
        HWY_ALIGN real x[leaf_order * parts * width];
        for (size_t first = 0; first < count; first += width) {
            const size_t columns = std::min(width, count - first);
            if (columns < width) {
                std::fill_n(x, n * parts * width, real(0));
            }
            for (int k = 0; k < n; ++k) {
                const T* from = b + k * ld + first;
                for (size_t j = 0; j < columns; ++j) {
                    put(x + size_t(k) * parts * width + j, from[j]);
                }
            }
            eliminate(x);
            for (int k = 0; k < n; ++k) {
                T* to = b + k * ld + first;
                for (size_t j = 0; j < columns; ++j) {
                    to[j] = get(x + size_t(k) * parts * width + j);
                }
            }
        }
    }

private:
    //! Copies rows of B to columns of x; give_rows() copies them back.
    void take_rows(const T* b, size_t ld, size_t rows, real* x) const
    {
        int done = 0;
        if constexpr (parts == 1) {
            constexpr int step = block_elements<real>;
            for (; rows == width && done + step <= n; done += step) {
                for (size_t r = 0; r < width; r += lanes) {
                    transpose(tag(),
                              b + r * ld + done,
                              ld,
                              element(x, done) + r,
                              element_step());
                }
            }
        }
        for (size_t r = 0; r < rows; ++r) {
            for (int i = done; i < n; ++i) {
                put(element(x, i) + r, b[r * ld + i]);
            }
        }
    }
    void give_rows(real* x, size_t rows, T* b, size_t ld) const
    {
        int done = 0;
        if constexpr (parts == 1) {
            constexpr size_t step = block_elements<real>;
            for (; rows == width && done + int(lanes) <= n; done += lanes) {
                for (size_t r = 0; r < width; r += step) {
                    transpose(tag(),
                              element(x, done) + r,
                              element_step(),
                              b + r * ld + done,
                              ld);
                }
            }
        }
        for (size_t r = 0; r < rows; ++r) {
            for (int i = done; i < n; ++i) {
                b[r * ld + i] = get(element(x, i) + r);
            }
        }
    }
    //! Element i of all right-hand sides in x, and the step to the next element.
    real* element(real* x, int i) const
    {
        return x + size_t(position(i)) * parts * width;
    }
    ptrdiff_t element_step() const
    {
        return d_how == solving::from_right ? -ptrdiff_t(width) : ptrdiff_t(width);
    }

    //! X L = B is solved from the last element to the first.
    int position(int k) const { return d_how == solving::from_right ? n - 1 - k : k; }

    static void put(real* to, T value)
    {
        to[0] = std::real(value);
        if constexpr (parts == 2) {
            to[width] = value.imag();
        }
    }
    static T get(const real* from)
    {
        if constexpr (parts == 2) {
            return T(from[0], from[width]);
        } else {
            return from[0];
        }
    }

    //! Subtracts from Count elements, from k on, what elements before k contribute. A
    //! vector that is loaded serves all of them.
    template <size_t Count>
    HWY_INLINE void subtract_before(real* HWY_RESTRICT x, int k) const
    {
        const tag d;
        vec sum[Count][parts * vectors];
        CUDAPHY_UNROLL
        for (size_t c = 0; c < Count; ++c) {
            CUDAPHY_UNROLL
            for (size_t v = 0; v < parts * vectors; ++v) {
                sum[c][v] = hn::Load(d, x + (k + c) * parts * width + v * lanes);
            }
        }
        const real* from = x;
        for (int j = 0; j < k; ++j, from += parts * width) {
            vec value[parts * vectors];
            CUDAPHY_UNROLL
            for (size_t v = 0; v < parts * vectors; ++v) {
                value[v] = hn::Load(d, from + v * lanes);
            }
            CUDAPHY_UNROLL
            for (size_t c = 0; c < Count; ++c) {
                const real* const factor = &d_factors[k + c][j * parts];
                const vec f = hn::Set(d, factor[0]);
                CUDAPHY_UNROLL
                for (size_t v = 0; v < parts * vectors; ++v) {
                    sum[c][v] = hn::NegMulAdd(f, value[v], sum[c][v]);
                }
                if constexpr (parts == 2) {
                    const vec g = hn::Set(d, factor[1]);
                    CUDAPHY_UNROLL
                    for (size_t v = 0; v < vectors; ++v) {
                        sum[c][v] = hn::MulAdd(g, value[vectors + v], sum[c][v]);
                        sum[c][vectors + v] =
                            hn::NegMulAdd(g, value[v], sum[c][vectors + v]);
                    }
                }
            }
        }
        CUDAPHY_UNROLL
        for (size_t c = 0; c < Count; ++c) {
            CUDAPHY_UNROLL
            for (size_t v = 0; v < parts * vectors; ++v) {
                hn::Store(sum[c][v], d, x + (k + c) * parts * width + v * lanes);
            }
        }
    }

    //! Subtracts from element k what elements from `first` on contribute, and divides it
    //! by the diagonal's.
    HWY_INLINE void finish(real* HWY_RESTRICT x, int first, int k) const
    {
        const tag d;
        real* const target = x + size_t(k) * parts * width;
        vec sum[parts * vectors];
        for (size_t v = 0; v < parts * vectors; ++v) {
            sum[v] = hn::Load(d, target + v * lanes);
        }
        for (int j = first; j < k; ++j) {
            const real* const from = x + size_t(j) * parts * width;
            const vec f = hn::Set(d, d_factors[k][j * parts]);
            for (size_t v = 0; v < parts * vectors; ++v) {
                sum[v] = hn::NegMulAdd(f, hn::Load(d, from + v * lanes), sum[v]);
            }
            if constexpr (parts == 2) {
                const vec g = hn::Set(d, d_factors[k][j * parts + 1]);
                for (size_t v = 0; v < vectors; ++v) {
                    sum[v] = hn::MulAdd(g, hn::Load(d, from + width + v * lanes), sum[v]);
                    sum[vectors + v] =
                        hn::NegMulAdd(g, hn::Load(d, from + v * lanes), sum[vectors + v]);
                }
            }
        }
        const vec reciprocal = hn::Set(d, d_reciprocal[k]);
        for (size_t v = 0; v < parts * vectors; ++v) {
            hn::Store(hn::Mul(sum[v], reciprocal), d, target + v * lanes);
        }
    }

    void eliminate(real* HWY_RESTRICT x) const
    {
        int k = 0;
        for (; k + int(at_once) <= n; k += at_once) {
            subtract_before<at_once>(x, k);
            for (int c = 0; c < int(at_once); ++c) {
                finish(x, k, k + c);
            }
        }
        for (; k < n; ++k) {
            finish(x, 0, k);
        }
    }

    void scale(const block_diagonal<T>& inverse, real* x) const
    {
        for (int k = 0; k < n; ++k) {
            real* one = x + size_t(k) * parts * width;
            const T below = inverse.below[k];
            if (below == T(0)) {
                for (size_t i = 0; i < parts * width; ++i) {
                    one[i] *= inverse.diagonal[k];
                }
                continue;
            }
            real* other = one + parts * width;
            for (size_t i = 0; i < width; ++i) {
                const T p = get(one + i), q = get(other + i);
                put(one + i, p * inverse.diagonal[k] + times(q, below));
                put(other + i, q * inverse.diagonal[k + 1] + times_adjoint(p, below));
            }
            ++k;
        }
    }

    int n;
    solving d_how;
    real d_factors[leaf_order][leaf_order * parts];
    real d_reciprocal[leaf_order];
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
