/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/parallel.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <vector>

// What dense_product-inl.h works on; the same for every instruction set.

//! Loops whose variables are to stand in registers.
#ifdef __clang__
#define CUDAPHY_UNROLL _Pragma("unroll")
#else
#define CUDAPHY_UNROLL _Pragma("GCC unroll 16")
#endif

namespace gr::cudaphy::kernels {

//! Who does a piece of work: all cores, or the calling thread alone.
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

//! a b, without the library's look for NaN.
inline float times(float a, float b) { return a * b; }
inline double times(double a, double b) { return a * b; }
inline long double times(long double a, long double b) { return a * b; }
template <typename R>
std::complex<R> times(std::complex<R> a, std::complex<R> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

inline float adjoint(float a) { return a; }
inline double adjoint(double a) { return a; }
inline long double adjoint(long double a) { return a; }
template <typename R>
std::complex<R> adjoint(std::complex<R> a)
{
    return { a.real(), -a.imag() };
}

//! a b^*
template <typename T>
T times_adjoint(T a, T b)
{
    return times(a, adjoint(b));
}

//! A Hermitian matrix of blocks of order 1 and 2: its diagonal, and below[k], the element
//! (k + 1, k), which is 0 where no block of order 2 begins at k.
template <typename T>
struct block_diagonal {
    const decltype(std::abs(T()))* diagonal;
    const T* below;
};

//! C = or += or -= op(A) D op(B), where op is none or the adjoint (conjugate transpose).
//! Matrices are row-major. C may be B, where k is at most a slice and nothing is added.
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
    //! Only tiles of C that reach its lower triangle are written, each of them whole.
    bool lower = false;
    const block_diagonal<T>* between = nullptr; //!< D; none: 1
    size_t between_first = 0;                   //!< where in D op(A)'s columns begin
};

//! How many of op(A)'s columns from `first` on to take at once, at most `most`: the next
//! ones begin with a whole block of D.
template <typename T>
size_t slice_depth(const product<T>& p, size_t first, size_t most)
{
    const size_t depth = std::min(most, p.k - first);
    const bool halved =
        p.between && p.between->below[p.between_first + first + depth - 1] != T(0);
    return halved ? depth - 1 : depth;
}

//! A piece of C for one core: rows, and panels of columns.
struct product_job {
    size_t row, rows, begin, end;
};

/*!
 * Calls work(job) for all of C, in pieces of so many rows and panels of so many columns.
 * Long rows of a triangle come first, and the last pieces are cut in width, so that cores
 * end together: one piece may be a tenth of the whole.
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
    size_t left = 0; // panels of all pieces from here on
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
