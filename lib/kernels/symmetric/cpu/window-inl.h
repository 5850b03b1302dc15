/* SPDX-License-Identifier: GPL-3.0-or-later */
// Chooses pivots among the first rows of a Hermitian matrix. Highway includes this
// file once for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_WINDOW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_WINDOW_INL_H
#undef CUDAPHY_SYMMETRIC_WINDOW_INL_H
#else
#define CUDAPHY_SYMMETRIC_WINDOW_INL_H
#endif

#include "kernels/symmetric/cpu/inverse_cpu.h"
#include "kernels/symmetric/cpu_product/transpose-inl.h"
#include <algorithm>
#include <hwy/highway.h>
#include <limits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/*
 * P A P^T = L D L^H for the first pivots of a matrix of order up to window_order. The
 * pivots are those of bounded Bunch-Kaufman ("rook") pivoting (Ashcraft, Grimes, Lewis,
 * SIAM J. Matrix Anal. Appl. 20(2), 1998). The search for a pivot begins at the largest
 * element of the diagonal. Rows are not moved. A column is brought up to date only if the
 * search reads it, from L and L D, which the caches hold. Columns stand one after the
 * other, real and imaginary parts apart.
 */
template <typename T>
class pivot_window
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    using tag = hn::ScalableTag<real>;
    using vec = hn::Vec<tag>;

    //! most: the largest order. memory: pivot_window_reals() reals.
    pivot_window(size_t most, real* memory)
        : d_stride(pivot_window_stride(most)), d_matrix(memory),
          d_l(d_matrix + most * parts * d_stride),
          d_ld(d_l + pivots_at_a_time * parts * d_stride),
          d_columns{ d_ld + pivots_at_a_time * parts * d_stride,
                     d_ld + (pivots_at_a_time + 1) * parts * d_stride },
          d_alive(d_ld + (pivots_at_a_time + 2) * parts * d_stride),
          d_diagonal(d_alive + d_stride), d_sizes(d_diagonal + d_stride)
    {
    }

    //! Reads the lower triangle of the matrix. sizes: the largest that each element of
    //! the diagonal has been, because a pivot must not consist of rounding errors.
    void load(const T* a, size_t ld, size_t order, const real* sizes)
    {
        n = order;
        const size_t padded = pivot_window_stride(n);
        for (size_t i = 0; i < n; ++i) {
            std::fill(matrix(i) + n, matrix(i) + padded, real(0));
            if constexpr (parts == 2) {
                std::fill(
                    matrix(i) + d_stride + n, matrix(i) + d_stride + padded, real(0));
            }
            d_alive[i] = 1;
            d_diagonal[i] = std::real(a[i * ld + i]);
        }
        std::fill(d_alive + n, d_alive + padded, real(0));
        std::fill(d_diagonal + n, d_diagonal + padded, real(0));
        std::copy_n(sizes, n, d_sizes);
        std::fill(d_sizes + n, d_sizes + padded, real(0));
        constexpr size_t side = 32;
        for (size_t i0 = 0; i0 < n; i0 += side) {
            for (size_t j0 = 0; j0 <= i0; j0 += side) {
                if (parts == 1 && j0 < i0 && i0 + side <= n) {
                    load_block<side>(a + i0 * ld + j0, ld, i0, j0);
                    continue;
                }
                for (size_t i = i0; i < std::min(n, i0 + side); ++i) {
                    for (size_t j = j0; j < std::min(i + 1, j0 + side); ++j) {
                        const T value = i == j ? T(d_diagonal[i]) : a[i * ld + j];
                        put(matrix(j) + i, value);
                        put(matrix(i) + j, adjoint(value));
                    }
                }
            }
        }
    }

    /*!
     * Chooses up to pivots_at_a_time pivots, and returns their number. Writes D to
     * `diagonal` and `below`. Row i of P A is row order[i] of A; few rows but the pivots'
     * change places. A pivot below `tiny`, or of rounding errors alone, is replaced.
     */
    size_t factor(real* diagonal, T* below, size_t* order, real tiny)
    {
        size_t where[window_order];
        for (size_t i = 0; i < n; ++i) {
            order[i] = where[i] = i;
        }
        const size_t most = std::min(pivots_at_a_time, n);
        d_count = 0;
        while (d_count < most) {
            const size_t k = d_count;
            const auto [one, other] = choose();
            if (one == other) {
                diagonal[k] = eliminate(one, tiny);
                below[k] = 0;
            } else if (k + 1 < most) {
                eliminate(one, other, &diagonal[k], &below[k]);
                bring(order, where, k + 1, other, k, one);
                continue;
            } else {
                break;
            }
            bring(order, where, k, one, k, one);
        }
        return d_count;
    }

    //! An element of A.
    T at(size_t i, size_t j) const { return get(matrix(j) + i); }
    //! The element of L in column j that belongs to A's row i.
    T l(size_t i, size_t j) const { return get(d_l + j * parts * d_stride + i); }

private:
    real* matrix(size_t column) const { return d_matrix + column * parts * d_stride; }

    //! Reads a square of real elements below the diagonal, and writes the square and its
    //! mirror image.
    template <size_t side>
    void load_block(const T* a, size_t ld, size_t i0, size_t j0)
    {
        if constexpr (parts == 1) {
            for (size_t i = 0; i < side; ++i) {
                std::copy_n(a + i * ld, side, matrix(i0 + i) + j0);
            }
            constexpr size_t lanes = hn::MaxLanes(tag());
            for (size_t i = 0; i < side; i += lanes) {
                for (size_t j = 0; j < side; j += block_elements<real>) {
                    transpose(
                        tag(), a + i * ld + j, ld, matrix(j0 + j) + i0 + i, d_stride);
                }
            }
        }
    }

    void put(real* to, T value) const
    {
        to[0] = std::real(value);
        if constexpr (parts == 2) {
            to[d_stride] = value.imag();
        }
    }
    T get(const real* from) const
    {
        if constexpr (parts == 2) {
            return T(from[0], from[d_stride]);
        } else {
            return from[0];
        }
    }

    //! Exchanges rows, so that row `one` stands at k and row `other` at l. Both may be
    //! the same.
    static void
    bring(size_t* order, size_t* where, size_t l, size_t other, size_t k, size_t one)
    {
        for (const auto& [place, row] : { std::pair{ k, one }, std::pair{ l, other } }) {
            const size_t from = where[row], left = order[place];
            std::swap(order[place], order[from]);
            where[row] = place;
            where[left] = from;
        }
    }

    //! Calls part(i, vectors) for all rows, four vectors or one at a time.
    template <typename Part>
    HWY_INLINE void each_row(const Part& part) const
    {
        constexpr size_t lanes = hn::MaxLanes(tag());
        const size_t padded = pivot_window_stride(n);
        size_t i = 0;
        for (; i + 4 * lanes <= padded; i += 4 * lanes) {
            part(i, std::integral_constant<size_t, 4>());
        }
        for (; i < padded; i += lanes) {
            part(i, std::integral_constant<size_t, 1>());
        }
    }

    //! Writes column r of what is left of A, with zeros in the rows of pivots.
    void fetch(size_t r, real* to)
    {
        real factors[pivots_at_a_time * parts];
        for (size_t j = 0; j < d_count; ++j) {
            for (size_t p = 0; p < parts; ++p) {
                factors[j * parts + p] = d_ld[(j * parts + p) * d_stride + r];
            }
        }
        each_row([&](size_t i, auto vectors) {
            const tag d;
            constexpr size_t lanes = hn::MaxLanes(tag());
            constexpr size_t count = decltype(vectors)::value;
            vec sum[parts * count];
            for (size_t v = 0; v < count; ++v) {
                for (size_t p = 0; p < parts; ++p) {
                    sum[p * count + v] =
                        hn::Load(d, matrix(r) + p * d_stride + i + v * lanes);
                }
            }
            const real* l = d_l + i;
            for (size_t j = 0; j < d_count; ++j, l += parts * d_stride) {
                const vec f = hn::Set(d, factors[j * parts]);
                for (size_t v = 0; v < count; ++v) {
                    const vec re = hn::Load(d, l + v * lanes);
                    sum[v] = hn::NegMulAdd(re, f, sum[v]);
                    if constexpr (parts == 2) {
                        const vec im = hn::Load(d, l + d_stride + v * lanes);
                        const vec g = hn::Set(d, factors[j * parts + 1]);
                        sum[v] = hn::NegMulAdd(im, g, sum[v]);
                        sum[count + v] = hn::NegMulAdd(im, f, sum[count + v]);
                        sum[count + v] = hn::MulAdd(re, g, sum[count + v]);
                    }
                }
            }
            for (size_t v = 0; v < count; ++v) {
                const vec alive = hn::Load(d, d_alive + i + v * lanes);
                for (size_t p = 0; p < parts; ++p) {
                    hn::Store(hn::Mul(sum[p * count + v], alive),
                              d,
                              to + p * d_stride + i + v * lanes);
                }
            }
        });
        if constexpr (parts == 2) {
            to[d_stride + r] = 0;
        }
    }

    //! The row and the size of a column's largest element outside row `but`. The size is
    //! the sum of the parts' moduli. The row is `but` if all others are 0.
    std::pair<size_t, real> largest(real* column, size_t but) const
    {
        const tag d;
        const size_t padded = pivot_window_stride(n), lanes = hn::MaxLanes(tag());
        const auto size = [&](size_t i) HWY_ATTR {
            vec moduli = hn::Abs(hn::Load(d, column + i));
            if constexpr (parts == 2) {
                moduli = hn::Add(moduli, hn::Abs(hn::Load(d, column + d_stride + i)));
            }
            return moduli;
        };
        const real left_out = std::exchange(column[but], real(0));
        vec most = hn::Zero(d);
        for (size_t i = 0; i < padded; i += lanes) {
            most = hn::Max(size(i), most);
        }
        most = hn::MaxOfLanes(d, most);
        size_t row = but;
        const real value = hn::GetLane(most);
        for (size_t i = 0; value > 0 && i < padded; i += lanes) {
            const auto lane = hn::FindFirstTrue(d, hn::Eq(size(i), most));
            if (lane >= 0) {
                row = i + lane;
                break;
            }
        }
        column[but] = left_out;
        return { row, row == but ? 0 : value };
    }

    //! The rows of the next pivot, both the same if its order is 1. Writes their columns
    //! to d_columns.
    std::pair<size_t, size_t> choose()
    {
        const real alpha = real(0.6403882032022076); // (1 + sqrt(17)) / 8
        size_t p = largest_of_diagonal();
        fetch(p, d_columns[0]);
        auto [r, before] = largest(d_columns[0], p);
        if (!(std::abs(d_columns[0][p]) < alpha * before)) {
            return { p, p }; // also if the column is 0
        }
        while (true) {
            fetch(r, d_columns[1]);
            const auto [next, most] = largest(d_columns[1], r);
            if (std::abs(d_columns[1][r]) >= alpha * most) {
                std::swap(d_columns[0], d_columns[1]);
                return { r, r };
            }
            if (next == p || !(most > before)) {
                return { p, r };
            }
            p = r;
            r = next;
            before = most;
            std::swap(d_columns[0], d_columns[1]);
        }
    }

    //! The row of the diagonal's largest element among the rows that are left.
    size_t largest_of_diagonal() const
    {
        size_t best = n;
        real most = 0;
        for (size_t i = 0; i < n; ++i) {
            const real size = std::abs(d_diagonal[i]);
            if (d_alive[i] != 0 && (best == n || size > most)) {
                best = i;
                most = size;
            }
        }
        return best;
    }

    real eliminate(size_t row, real tiny)
    {
        const real* const column = d_columns[0];
        real pivot = column[row];
        constexpr real eps = std::numeric_limits<real>::epsilon() / 2;
        const real least = std::max(tiny, eps * d_sizes[row]);
        if (!(std::abs(pivot) >= least)) {
            pivot = pivot < 0 ? -least : least;
        }
        real* const l = d_l + d_count * parts * d_stride;
        std::copy_n(column, parts * d_stride, d_ld + d_count * parts * d_stride);
        each_row([&](size_t at, auto vectors) {
            const tag d;
            constexpr size_t lanes = hn::MaxLanes(tag());
            const vec divisor = hn::Set(d, pivot);
            for (size_t i = at; i < at + vectors * lanes; i += lanes) {
                vec left = hn::Load(d, d_diagonal + i), size = hn::Load(d, d_sizes + i);
                for (size_t p = 0; p < parts; ++p) {
                    const vec x = hn::Load(d, column + p * d_stride + i);
                    const vec factor = hn::Div(x, divisor);
                    hn::Store(factor, d, l + p * d_stride + i);
                    left = hn::NegMulAdd(x, factor, left);
                    size = hn::Add(size, hn::Abs(hn::Mul(x, factor)));
                }
                hn::Store(left, d, d_diagonal + i);
                hn::Store(size, d, d_sizes + i);
            }
        });
        d_alive[row] = 0;
        ++d_count;
        return pivot;
    }

    void eliminate(size_t row, size_t second, real* diagonal, T* below)
    {
        real* const one = d_columns[0];
        real* const other = d_columns[1];
        const real a = one[row], b = other[second];
        const T e = get(one + second);
        // All is divided by e's modulus, so that nothing over- or underflows.
        const real modulus = std::abs(e);
        const T unit = e / modulus;
        const real p = a / modulus, q = b / modulus;
        const real scale = 1 / ((p * q - 1) * modulus);
        diagonal[0] = a;
        diagonal[1] = b;
        below[0] = e;
        below[1] = 0;
        real* const l = d_l + d_count * parts * d_stride;
        real* const l2 = l + parts * d_stride;
        std::copy_n(one, parts * d_stride, d_ld + d_count * parts * d_stride);
        std::copy_n(other, parts * d_stride, d_ld + (d_count + 1) * parts * d_stride);
        for (size_t i = 0; i < n; ++i) {
            const T x = get(one + i), y = get(other + i);
            const T f = (x * q - times(y, unit)) * scale;
            const T g = (y * p - times_adjoint(x, unit)) * scale;
            put(l + i, f);
            put(l2 + i, g);
            const real change =
                std::real(times_adjoint(x, f)) + std::real(times_adjoint(y, g));
            d_diagonal[i] -= change;
            d_sizes[i] += std::abs(change);
        }
        for (size_t i = n; i < pivot_window_stride(n); ++i) {
            put(l + i, T(0));
            put(l2 + i, T(0));
        }
        d_alive[row] = d_alive[second] = 0;
        d_count += 2;
    }

    size_t d_stride;
    size_t n = 0;
    size_t d_count = 0;
    real *d_matrix, *d_l, *d_ld;
    real* d_columns[2];
    real *d_alive, *d_diagonal, *d_sizes;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
