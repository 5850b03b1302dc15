/* SPDX-License-Identifier: GPL-3.0-or-later */
// Factors and inverts a Hermitian matrix by blocks. Highway includes this file once for
// each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_BLOCKS_INL_H
#undef CUDAPHY_SYMMETRIC_BLOCKS_INL_H
#else
#define CUDAPHY_SYMMETRIC_BLOCKS_INL_H
#endif

#include "kernels/symmetric/cpu/leaf-inl.h"
#include "kernels/symmetric/cpu/pivoting-inl.h"
#include "kernels/symmetric/cpu/triangle-inl.h"
#include "kernels/symmetric/cpu_product/dense_product-inl.h"
#include <functional>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

/*
 * Bordering by blocks. A product with the leading block's explicit inverse would lose as
 * many digits as the block's condition has. So factors stand in its place:
 *
 *     A = L D L^H,   M = L^-1,   A^-1 = M^H D^-1 M
 *
 * Each of the three steps takes a third of the n^3 operations. Nine tenths of them are in
 * products of rank block_order with all the matrix. A block is halved down to its leaves,
 * and all but the leaves are products. D is 1 for a positive definite matrix. Otherwise
 * pivoted_factors makes L and D, and a leaf has only whole blocks of D.
 *
 * The class works in place on the lower triangle, and overwrites what stands above it.
 */
template <typename T>
class symmetric_blocks
{
public:
    using real = decltype(std::abs(T()));

    symmetric_blocks(T* matrix,
                     size_t ld,
                     size_t order,
                     crew by,
                     real* packed_b,
                     std::function<void(double)> progress)
        : a(matrix), d_ld(ld), n(order), d_by(by), d_packed_b(packed_b),
          d_progress(std::move(progress))
    {
        for (size_t cut = 0; cut < n; cut += leaf_order) {
            d_cuts.push_back(cut);
        }
        d_cuts.push_back(n);
    }

    //! Replaces the lower triangle of a positive definite matrix by that of its inverse.
    //! Returns 0, or the order of the first leading minor that is not positive, or -1 for
    //! NaN.
    int invert_positive()
    {
        const int status = factor();
        if (status == 0) {
            invert_triangle();
            square();
        }
        return status;
    }

    //! Replaces the lower triangle of A by that of (P A P^T)^-1. A may be indefinite.
    //! Pivots below `tiny` are replaced. memory: symmetric_pivoting_bytes() bytes.
    //! Returns P: row i of P A is the i-th of these rows of A.
    std::vector<size_t> invert_indefinite(real tiny, unsigned char* memory)
    {
        pivoted_factors<T> factors(a, d_ld, n, d_by, d_packed_b, memory);
        factors.run(tiny, [this](double count) { account(count); });
        d_indefinite = true;
        d_inverse_pivots = factors.inverse_pivots();
        d_cuts = { 0 };
        while (d_cuts.back() < n) {
            size_t cut = std::min(n, d_cuts.back() + leaf_order);
            cut -= factors.pivots().below[cut - 1] != T(0);
            d_cuts.push_back(cut);
        }
        invert_triangle();
        square();
        return factors.rows();
    }

private:
    //! The rows that a product packs at once.
    static constexpr size_t block_order = dense_product<T>::slice;

    //! Calls block(first, size) for one block of rows after the other; blocks have whole
    //! leaves. Ends at the first status other than 0, and returns it.
    template <typename Block>
    int each_block(const Block& block)
    {
        constexpr size_t leaves = block_order / leaf_order;
        int status = 0;
        for (size_t cut = 0; status == 0 && d_cuts[cut] < n;) {
            const size_t next = std::min(cut + leaves, d_cuts.size() - 1);
            status = block(d_cuts[cut], d_cuts[next] - d_cuts[cut]);
            cut = next;
        }
        return status;
    }

    int factor()
    {
        return each_block([this](size_t first, size_t size) {
            const int status = factor(first, size);
            if (status == 0) {
                eliminate(first, size, first + size, n - first - size);
            }
            return status;
        });
    }

    //! Replaces L by M = L^-1. Each block of rows is solved for, and then subtracted from
    //! all rows below it.
    void invert_triangle()
    {
        each_block([this](size_t first, size_t size) {
            const size_t second = first + size, below = n - second;
            solve_from_left(first, size, 0, first);
            product<T> p{ below, first,        size, at(second, first),
                          d_ld,  at(first, 0), d_ld, at(second, 0),
                          d_ld };
            p.negative = true;
            multiply(p);
            solve_from_right(first, size, second, below, solving::from_right);
            negate(second, below, first, size);
            invert_triangle(first, size);
            return 0;
        });
    }

    //! Replaces M by the lower triangle of M^H D^-1 M.
    void square()
    {
        each_block([this](size_t first, size_t size) {
            add_square(first, size, 0, first);
            multiply_by_triangle(first, size, 0, first);
            square(first, size);
            return 0;
        });
    }

    T* at(size_t i, size_t j) const { return a + i * d_ld + j; }
    static bool is_leaf(size_t size) { return size <= leaf_order; }
    //! The rows of the first half, which has whole leaves.
    size_t half(size_t first, size_t size) const
    {
        auto cut = std::lower_bound(d_cuts.begin(), d_cuts.end(), first + size / 2);
        return *cut == first + size ? *--cut - first : *cut - first;
    }

    void multiply(const product<T>& p)
    {
        dense_product<T>::run(p, d_by, d_packed_b);
        account(double(p.m) * p.n * p.k * (p.lower ? 0.5 : 1));
    }

    void account(double multiply_adds)
    {
        if (d_progress) {
            d_done += multiply_adds;
            d_progress(std::min(1.0, d_done / (0.5 * n * n * n)));
        }
    }

    int factor(size_t first, size_t size)
    {
        if (is_leaf(size)) {
            return factor_leaf(first, size);
        }
        const size_t one = half(first, size), other = size - one, second = first + one;
        int status = factor(first, one);
        if (status == 0) {
            eliminate(first, one, second, other);
            status = factor(second, other);
        }
        return status;
    }

    //! Computes `rows` rows of L from `row` on, below the triangle at `first`. Subtracts
    //! their square from the rest of A.
    void eliminate(size_t first, size_t size, size_t row, size_t rows)
    {
        solve_from_right(first, size, row, rows, solving::adjoint_from_right);
        product<T> p{ rows, rows,         size, at(row, first), d_ld, at(row, first),
                      d_ld, at(row, row), d_ld };
        p.b_adjoint = p.lower = p.negative = true;
        multiply(p);
    }

    int factor_leaf(size_t first, size_t size)
    {
        leaf<T> block(at(first, first), d_ld, int(size));
        const int status = block.cholesky(at(first, first), d_ld);
        return status > 0 ? int(first) + status : status;
    }

    //! D^-1; null if D is 1.
    const block_diagonal<T>* between() const
    {
        return d_indefinite ? &d_inverse_pivots : nullptr;
    }

    //! The triangle of `size` rows at `first`.
    block_triangle<T> triangle(size_t first, size_t size) const
    {
        const auto from = std::lower_bound(d_cuts.begin(), d_cuts.end(), first);
        const auto to = std::lower_bound(from, d_cuts.end(), first + size);
        return { a, d_ld, &*from, size_t(to - from), between(), d_by };
    }

    //! Solves X L^H = B or X L = B with the triangle at `first`. B is `rows` rows from
    //! `row` on, in the triangle's columns.
    void solve_from_right(size_t first, size_t size, size_t row, size_t rows, solving how)
    {
        triangle(first, size).solve_from_right(row, rows, how);
        account(0.5 * rows * size * size);
    }

    //! Solves L X = B with the triangle at `first`. B is `columns` columns from `column`
    //! on, in the triangle's rows.
    void solve_from_left(size_t first, size_t size, size_t column, size_t columns)
    {
        triangle(first, size).solve_from_left(column, columns);
        account(0.5 * columns * size * size);
    }

    //! B = M^H D^-1 B with the triangle of M at `first`. B is `columns` columns from
    //! `column` on, in the triangle's rows.
    void multiply_by_triangle(size_t first, size_t size, size_t column, size_t columns)
    {
        triangle(first, size).multiply_from_left(column, columns);
        account(0.5 * columns * size * size);
    }

    //! Inverts the triangle at `first`. Leaves get zeros above the diagonal.
    void invert_triangle(size_t first, size_t size)
    {
        if (is_leaf(size)) {
            leaf_solver<T> solver(
                at(first, first), d_ld, int(size), solving::from_left, d_indefinite);
            for (size_t i = 0; i < size; ++i) {
                std::fill_n(at(first + i, first), size, T(0));
                *at(first + i, first + i) = 1;
            }
            solver.solve_columns(at(first, first), d_ld, size);
            return;
        }
        const size_t one = half(first, size), other = size - one, second = first + one;
        // M21 = - L22^-1 L21 L11^-1
        solve_from_right(first, one, second, other, solving::from_right);
        solve_from_left(second, other, first, one);
        negate(second, other, first, one);
        invert_triangle(first, one);
        invert_triangle(second, other);
    }

    void negate(size_t row, size_t rows, size_t column, size_t columns)
    {
        d_by.each(rows, 64, [&](size_t from, size_t to) {
            for (size_t i = row + from; i < row + to; ++i) {
                for (size_t j = column; j < column + columns; ++j) {
                    *at(i, j) = -*at(i, j);
                }
            }
        });
    }

    //! Squares the triangle at `first` in place.
    void square(size_t first, size_t size)
    {
        if (is_leaf(size)) {
            square_leaf(first, size);
            return;
        }
        const size_t one = half(first, size), other = size - one, second = first + one;
        square(first, one);
        add_square(second, other, first, one);
        multiply_by_triangle(second, other, first, one);
        square(second, other);
    }

    //! Adds B^H D^-1 B to the triangle at `column`. B is `size` rows from `first` on, in
    //! the columns from `column` on.
    void add_square(size_t first, size_t size, size_t column, size_t columns)
    {
        product<T> p{ columns, columns,           size, at(first, column),
                      d_ld,    at(first, column), d_ld, at(column, column),
                      d_ld };
        p.a_adjoint = p.lower = true;
        p.between = between();
        p.between_first = first;
        multiply(p);
    }

    //! Squares a leaf of M, which has zeros above its diagonal.
    void square_leaf(size_t first, size_t size)
    {
        std::vector<T> copy(size * size); // the product overwrites the leaf
        for (size_t i = 0; i < size; ++i) {
            std::copy_n(at(first + i, first), size, copy.begin() + i * size);
        }
        product<T> p{
            size, size, size, copy.data(), size, at(first, first), d_ld, at(first, first),
            d_ld
        };
        p.a_adjoint = true;
        p.add = false;
        p.between = between();
        p.between_first = first;
        multiply(p);
    }

    T* a;
    size_t d_ld;
    size_t n;
    crew d_by;
    real* d_packed_b;
    std::function<void(double)> d_progress;
    double d_done = 0;
    bool d_indefinite = false;
    block_diagonal<T> d_inverse_pivots{};
    std::vector<size_t> d_cuts; //!< the first row of each leaf, then the order
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
