/* SPDX-License-Identifier: GPL-3.0-or-later */
// Solves and products with the triangle of a block. Highway includes this
// file once for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_TRIANGLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_TRIANGLE_INL_H
#undef CUDAPHY_SYMMETRIC_TRIANGLE_INL_H
#else
#define CUDAPHY_SYMMETRIC_TRIANGLE_INL_H
#endif

#include "kernels/common/memory/thread_memory.h"
#include "kernels/symmetric/cpu/leaf-inl.h"
#include "kernels/symmetric/cpu_product/dense_product-inl.h"
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

/*
 * A triangle on the diagonal of a matrix. It is halved down to its leaves, so that all
 * but the leaves are products. One core does a strip of the rows or columns beside the
 * triangle, because its second-level cache holds a strip. Whole rows or columns would
 * come from memory for every half.
 */
template <typename T>
class block_triangle
{
public:
    using real = decltype(std::abs(T()));

    //! cuts: the first column of each leaf, then the end of the last leaf.
    //! inverse: D^-1 of the whole matrix, if L has a diagonal of ones. Null: D is 1, and
    //! L has another diagonal.
    block_triangle(T* matrix,
                   size_t ld,
                   const size_t* cuts,
                   size_t leaves,
                   const block_diagonal<T>* inverse,
                   crew by)
        : a(matrix), d_ld(ld), d_cuts(cuts), d_leaves(leaves), d_inverse(inverse),
          d_by(by)
    {
    }

    //! Solves X L^H = B or X L = B. B is `rows` rows from `row` on, in the triangle's
    //! columns.
    void solve_from_right(size_t row, size_t rows, solving how)
    {
        prepare(how);
        each_strip(rows, [&](size_t from, size_t count, real* packed) {
            from_right(0, d_leaves, row + from, count, how, packed);
        });
    }

    //! Solves L X = B. B is `columns` columns from `column` on, in the triangle's rows.
    void solve_from_left(size_t column, size_t columns)
    {
        prepare(solving::from_left);
        each_strip(columns, [&](size_t from, size_t count, real* packed) {
            from_left(0, d_leaves, column + from, count, packed);
        });
    }

    //! B = L^H D^-1 B. Zeros stand above the diagonals of leaves.
    void multiply_from_left(size_t column, size_t columns)
    {
        each_strip(columns, [&](size_t from, size_t count, real* packed) {
            multiply(0, d_leaves, column + from, count, packed);
        });
    }

private:
    using solver = leaf_solver<T>;
    using dense = dense_product<T>;
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    //! The most columns of a product: those of a strip, or of half a triangle.
    static constexpr size_t most_columns = dense::slice;
    //! So a strip is too narrow for matrix units, whose packed columns would need more
    //! memory.
    static constexpr size_t strip_bytes = 128 << 10;
    static constexpr size_t most_wide = strip_bytes / (dense::slice * sizeof(T));

    T* at(size_t i, size_t j) const { return a + i * d_ld + j; }
    size_t begin(size_t leaf) const { return d_cuts[leaf]; }
    size_t order(size_t from, size_t to) const { return d_cuts[to] - d_cuts[from]; }

    void prepare(solving how)
    {
        d_solvers.clear();
        d_solvers.reserve(d_leaves);
        for (size_t l = 0; l < d_leaves; ++l) {
            const size_t first = begin(l);
            d_solvers.emplace_back(
                at(first, first), d_ld, int(order(l, l + 1)), how, d_inverse != nullptr);
        }
    }

    //! Calls strip(from, count, packed) for all strips. packed: memory for products.
    template <typename Strip>
    void each_strip(size_t count, const Strip& strip)
    {
        constexpr size_t worth_a_thread = 1 << 19; // multiply-adds
        const size_t size = order(0, d_leaves);
        const crew by{ d_by.parallel && count * size * size > worth_a_thread };
        size_t width = most_wide;
        if (by.parallel) {
            const size_t share = count / (2 * cores()) / solver::width * solver::width;
            width = std::clamp(share, solver::width, most_wide);
        }
        by.each((count + width - 1) / width, 1, [&](size_t from, size_t to) {
            thread_local thread_memory<real> memory;
            real* const packed = memory.get(dense::slice * most_columns * parts);
            for (size_t s = from; s < to; ++s) {
                strip(s * width, std::min(width, count - s * width), packed);
            }
        });
    }

    //! The first leaf of the second half of leaves `from` to `to`.
    static size_t half(size_t from, size_t to) { return (from + to + 1) / 2; }

    void
    from_right(size_t from, size_t to, size_t row, size_t rows, solving how, real* packed)
    {
        if (to - from == 1) {
            d_solvers[from].solve_rows(at(row, begin(from)), d_ld, rows, nullptr);
            return;
        }
        const size_t cut = half(from, to), one = begin(from), other = begin(cut);
        product<T> p{ rows, 0, 0, nullptr, d_ld, at(other, one), d_ld, nullptr, d_ld };
        p.negative = true;
        if (how == solving::adjoint_from_right) {
            from_right(from, cut, row, rows, how, packed);
            p.n = order(cut, to);
            p.k = order(from, cut);
            p.a = at(row, one);
            p.b_adjoint = true;
            p.c = at(row, other);
            dense::run(p, { false }, packed);
            from_right(cut, to, row, rows, how, packed);
        } else {
            from_right(cut, to, row, rows, how, packed);
            p.n = order(from, cut);
            p.k = order(cut, to);
            p.a = at(row, other);
            p.c = at(row, one);
            dense::run(p, { false }, packed);
            from_right(from, cut, row, rows, how, packed);
        }
    }

    void from_left(size_t from, size_t to, size_t column, size_t columns, real* packed)
    {
        if (to - from == 1) {
            d_solvers[from].solve_columns(at(begin(from), column), d_ld, columns);
            return;
        }
        const size_t cut = half(from, to), one = begin(from), other = begin(cut);
        from_left(from, cut, column, columns, packed);
        product<T> p{ order(cut, to),
                      columns,
                      order(from, cut),
                      at(other, one),
                      d_ld,
                      at(one, column),
                      d_ld,
                      at(other, column),
                      d_ld };
        p.negative = true;
        dense::run(p, { false }, packed);
        from_left(cut, to, column, columns, packed);
    }

    void multiply(size_t from, size_t to, size_t column, size_t columns, real* packed)
    {
        if (to - from == 1) {
            multiply(from, to, from, to, column, columns, packed);
            return;
        }
        const size_t cut = half(from, to);
        multiply(from, cut, column, columns, packed);
        multiply(from, cut, cut, to, column, columns, packed);
        multiply(cut, to, column, columns, packed);
    }

    //! Adds to leaves `first` to `last` of B what leaves `from` to `to` of B contribute.
    //! A leaf's own product replaces the leaf, because a product of one slice may have B
    //! for C.
    void multiply(size_t first,
                  size_t last,
                  size_t from,
                  size_t to,
                  size_t column,
                  size_t columns,
                  real* packed)
    {
        const size_t one = begin(first), other = begin(from);
        product<T> p{ order(first, last),
                      columns,
                      order(from, to),
                      at(other, one),
                      d_ld,
                      at(other, column),
                      d_ld,
                      at(one, column),
                      d_ld };
        p.a_adjoint = true;
        p.add = from != first;
        p.between = d_inverse;
        p.between_first = other;
        dense::run(p, { false }, packed);
    }

    T* a;
    size_t d_ld;
    const size_t* d_cuts;
    size_t d_leaves;
    const block_diagonal<T>* d_inverse;
    crew d_by;
    std::vector<solver> d_solvers;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
