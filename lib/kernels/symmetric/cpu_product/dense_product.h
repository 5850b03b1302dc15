/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/parallel.h"
#include "kernels/symmetric/numbers.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

// The operands of dense_product-inl.h, the same for every instruction set.

//! Unrolls a loop, so that the arrays that it indexes stay in registers.
#ifdef __clang__
#define CUDAPHY_UNROLL _Pragma("unroll")
#else
#define CUDAPHY_UNROLL _Pragma("GCC unroll 16")
#endif

namespace gr::cudaphy::kernels {

//! Runs work on all cores, or on the calling thread alone.
struct crew {
    bool parallel;

    template <typename Part>
    void each(size_t count, size_t grain, const Part& part) const
    {
        if (parallel) {
            for_each_part(count, grain, part);
        } else if (count) {
            part(size_t{ 0 }, count);
        }
    }
};

//! A Hermitian block-diagonal matrix with blocks of order 1 and 2. below[k] is the
//! element (k + 1, k); it is 0 unless a block of order 2 begins at k.
template <typename T>
struct block_diagonal {
    const decltype(std::abs(T()))* diagonal;
    const T* below;
};

//! C = op(A) D op(B), or C += or -= it. op() is the matrix itself or its adjoint
//! (conjugate transpose). Matrices are row-major. C may be B if `add` is false and k is
//! at most dense_product's slice.
template <typename T>
struct product {
    size_t m, n, k; //!< C is (m, n)
    const T* a;
    size_t lda;
    const T* b;
    size_t ldb;
    T* c;
    size_t ldc;
    bool a_adjoint = false;
    bool b_adjoint = false;
    bool negative = false;
    bool add = true;
    //! Only the tiles of C that reach its lower triangle are written, but each of them
    //! whole.
    bool lower = false;
    const block_diagonal<T>* between = nullptr; //!< D; null: the identity
    size_t between_first = 0;                   //!< the row of D for op(A)'s first column
};

//! The columns of op(A) in the slice that begins at `first`: at most `most`. A block of D
//! is not cut in two.
template <typename T>
size_t slice_depth(const product<T>& p, size_t first, size_t most)
{
    const size_t depth = std::min(most, p.k - first);
    const bool halved =
        p.between && p.between->below[p.between_first + first + depth - 1] != T(0);
    return halved ? depth - 1 : depth;
}

//! A piece of C for one core: rows from `row` on, panels begin to end.
struct product_job {
    size_t row, rows, begin, end;
};

/*!
 * Calls work(job) for pieces of C with piece_rows rows, in panels of panel_columns
 * columns. The longest rows of a triangle come first, and the last pieces are narrower.
 * So cores end together, although one piece may be a tenth of the whole.
 */
template <typename T, typename Work>
void each_job(const product<T>& p,
              const crew& by,
              size_t piece_rows,
              size_t panel_columns,
              const Work& work)
{
    const size_t panels = (p.n + panel_columns - 1) / panel_columns;
    std::vector<product_job> jobs;
    size_t left = 0; // panels of the pieces from here on
    for (size_t row = 0; row < p.m; row += piece_rows) {
        const size_t rows = std::min(piece_rows, p.m - row);
        const size_t end =
            p.lower ? std::min(panels, (row + rows - 1) / panel_columns + 1) : panels;
        jobs.push_back({ row, rows, 0, end });
        left += end;
    }
    std::reverse(jobs.begin(), jobs.end());
    if (!by.parallel) {
        std::for_each(jobs.begin(), jobs.end(), work);
        return;
    }
    constexpr size_t least = 8, shares = 8;
    std::vector<product_job> cut;
    for (const product_job& job : jobs) {
        const size_t most = std::max(least, left / shares);
        const size_t count = (job.end + most - 1) / most;
        for (size_t c = 0; c < count; ++c) {
            cut.push_back(
                { job.row, job.rows, job.end * c / count, job.end * (c + 1) / count });
        }
        left -= job.end;
    }
    std::atomic<size_t> next{ 0 };
    constexpr size_t most_cores = 64;
    by.each(std::min(cut.size(), most_cores), 1, [&](size_t, size_t) {
        for (size_t j; (j = next++) < cut.size();) {
            work(cut[j]);
        }
    });
}

} // namespace gr::cudaphy::kernels
