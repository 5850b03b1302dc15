/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cpu_product/dense_product.h"
#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace gr::cudaphy::kernels {

/*
 * The small matrix of an update, of order k: G = (J + V^H W)^-1. The columns of V are
 * scaled by sqrt |d|, and J has the signs of d. G is computed in double by Gauss-Jordan
 * elimination with partial pivoting.
 */
template <typename T>
class small_inverse
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    using number = std::conditional_t<parts == 2, std::complex<double>, double>;

    //! V and W have `order` rows and `rank` columns, stored as in update_rows.
    small_inverse(size_t order, size_t rank, size_t stride)
        : n(order), k(rank), d_stride(stride), d_rows(rank * 2 * rank)
    {
    }

    //! Returns 0, or 1 if the matrix is singular to T's precision, or -1 if it is not
    //! finite.
    int invert(const real* v, const real* w, const real* d)
    {
        // The size of an element's terms, whose rounding errors an element may consist
        // of.
        double noise = 1;
        for (size_t p = 0; p < k; ++p) {
            for (size_t q = 0; q < k; ++q) {
                number sum = 0;
                double size = 0;
                for (size_t i = 0; i < n; ++i) {
                    const number term = times(adjoint(get(v, p, i)), get(w, q, i));
                    sum += term;
                    size += std::abs(term);
                }
                if (!std::isfinite(size)) {
                    return -1;
                }
                noise = std::max(noise, size);
                row(p)[q] = sum;
                row(p)[k + q] = p == q ? 1 : 0;
            }
            row(p)[p] += d[p] < 0 ? -1 : 1;
        }
        const double singular = 8 * noise * std::numeric_limits<real>::epsilon();
        for (size_t p = 0; p < k; ++p) {
            size_t pivot = p;
            for (size_t q = p; q < k; ++q) {
                if (std::abs(row(q)[p]) > std::abs(row(pivot)[p])) {
                    pivot = q;
                }
            }
            if (!(std::abs(row(pivot)[p]) > singular)) {
                return 1;
            }
            std::swap_ranges(row(p), row(p) + 2 * k, row(pivot));
            const number reciprocal = 1.0 / row(p)[p];
            for (size_t j = 0; j < 2 * k; ++j) {
                row(p)[j] = times(row(p)[j], reciprocal);
            }
            for (size_t q = 0; q < k; ++q) {
                const number factor = row(q)[p];
                for (size_t j = 0; j < 2 * k && q != p; ++j) {
                    row(q)[j] -= times(factor, row(p)[j]);
                }
            }
        }
        return 0;
    }

    //! Writes W G, row by row. Returns whether W G W^H is too small to make X overflow.
    bool factor(const real* w, real* to)
    {
        double most = 0, most_w = 0;
        for (size_t i = 0; i < n; ++i) {
            for (size_t q = 0; q < k; ++q) {
                number sum = 0;
                for (size_t p = 0; p < k; ++p) {
                    sum += times(get(w, p, i), row(p)[k + q]);
                }
                most = std::max(most, std::abs(sum));
                most_w = std::max(most_w, double(std::abs(get(w, q, i))));
                to[(i * k + q) * parts] = real(std::real(sum));
                if constexpr (parts == 2) {
                    to[(i * k + q) * parts + 1] = real(sum.imag());
                }
            }
        }
        return most < std::numeric_limits<real>::max() &&
               most * most_w * k < std::numeric_limits<real>::max() / 4;
    }

private:
    number* row(size_t p) { return &d_rows[p * 2 * k]; }
    number get(const real* from, size_t column, size_t i) const
    {
        from += column * parts * d_stride + i;
        if constexpr (parts == 2) {
            return number(from[0], from[d_stride]);
        } else {
            return from[0];
        }
    }

    size_t n, k, d_stride;
    std::vector<number> d_rows; //!< the matrix, and beside it what becomes its inverse
};

} // namespace gr::cudaphy::kernels
