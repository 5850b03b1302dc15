/* SPDX-License-Identifier: GPL-3.0-or-later */
// Tells by the norms of a symmetric matrix and of its inverse whether the matrix is
// singular to its precision. Highway includes this file once for each instruction set, so
// it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_CONDITION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_CONDITION_INL_H
#undef CUDAPHY_SYMMETRIC_CONDITION_INL_H
#else
#define CUDAPHY_SYMMETRIC_CONDITION_INL_H
#endif

#include "kernels/symmetric/cpu/sums-inl.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

/*
 * The condition |A|_1 |X|_1 depends on units. If it is large, the rows and columns of A
 * are scaled alike, and the condition is computed again. A definite matrix is scaled to a
 * diagonal of ones, within a factor n of the best (van der Sluis, Numer. Math. 14, 1969).
 * Any other matrix is scaled until each row's largest element is about 1.
 */
template <typename T>
class condition_of
{
public:
    using real = decltype(std::abs(T()));

    condition_of(const T* a, const T* x, size_t n, const crew& by)
        : d_a(a), d_x(x), n(n), d_by(by)
    {
    }

    //! Takes the norms from the caller; 0: not known.
    void know(double a, double x) { d_condition = a * x; }

    //! The lower one of both conditions, or 0 if a bound shows that A is not suspicious.
    //! rcond: out, 1 / (|A|_1 |X|_1), if wanted.
    double scaled(bool definite, bool wants_rcond, real& rcond)
    {
        const double least = suspicious * least_singular_condition<real>(n);
        // The largest elements of a definite matrix are on the diagonal, and so are its
        // inverse's.
        if (definite && !wants_rcond &&
            double(n) * n * largest_of_diagonal(d_a) * largest_of_diagonal(d_x) < least) {
            return 0;
        }
        std::vector<double> scale(n, 1);
        if (!(d_condition > 0)) {
            d_condition = norm(d_a, scale) * norm(d_x, scale);
        }
        rcond = real(1 / d_condition);
        if (d_condition < least) {
            return d_condition;
        }
        definite ? scale_to_ones(scale) : balance(scale);
        const double of_a = norm(d_a, scale);
        for (auto& each : scale) {
            each = 1 / each;
        }
        return std::min(d_condition, of_a * norm(d_x, scale));
    }

private:
    double largest_of_diagonal(const T* m) const
    {
        double largest = 0;
        for (size_t i = 0; i < n; ++i) {
            largest = std::max(largest, double(std::real(m[i * n + i])));
        }
        return largest;
    }

    void scale_to_ones(std::vector<double>& scale) const
    {
        for (size_t i = 0; i < n; ++i) {
            const double diagonal = std::real(d_a[i * n + i]);
            if (diagonal > 0) {
                scale[i] = 1 / std::sqrt(diagonal);
            }
        }
    }

    void balance(std::vector<double>& scale) const // Ruiz, 2001
    {
        constexpr int rounds = 8;
        std::vector<double> sums(n), largest(n);
        for (int round = 0; round < rounds; ++round) {
            row_norms(d_a, n, scale.data(), sums.data(), largest.data(), d_by);
            for (size_t i = 0; i < n; ++i) {
                scale[i] /= std::sqrt(largest[i]);
            }
        }
    }

    //! |S M S|_1 of a Hermitian M.
    double norm(const T* m, const std::vector<double>& scale) const
    {
        std::vector<double> sums(n), largest(n);
        row_norms(m, n, scale.data(), sums.data(), largest.data(), d_by);
        return *std::max_element(sums.begin(), sums.end());
    }

    const T* const d_a;
    const T* const d_x;
    const size_t n;
    const crew d_by;
    double d_condition = 0;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
