/* SPDX-License-Identifier: GPL-3.0-or-later */
// Inverts one matrix and checks its inverse. Highway includes this file once for each
// instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_ITEM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_ITEM_INL_H
#undef CUDAPHY_SYMMETRIC_ITEM_INL_H
#else
#define CUDAPHY_SYMMETRIC_ITEM_INL_H
#endif

#include "kernels/symmetric/as_published/bordering-inl.h"
#include "kernels/symmetric/cpu/blocks-inl.h"
#include "kernels/symmetric/cpu/condition-inl.h"
#include "kernels/symmetric/cpu/inverse_cpu.h"
#include "kernels/symmetric/cpu/passes-inl.h"
#include "kernels/symmetric/cpu/sums-inl.h"
#include <random>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

/*
 * A matrix of unknown definiteness is scaled by powers of two if its rows differ much,
 * and factored with pivoting. Pivots do not tell whether the matrix is singular to T's
 * precision, so random vectors probe the inverse. The condition is tested for every
 * matrix.
 */
template <typename T>
class symmetric_inverter
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);
    static constexpr bool single = std::is_same_v<real, float>;
    static constexpr real eps = std::numeric_limits<real>::epsilon() / 2;

    explicit symmetric_inverter(const symmetric_item<T>& item)
        : d_item(item), n(item.order), d_by{ item.parallel },
          d_packed_b(reinterpret_cast<real*>(item.workspace)),
          d_factored(reinterpret_cast<T*>(item.workspace + symmetric_packed_bytes<T>(n)))
    {
    }

    symmetric_outcome<T> run()
    {
        const bool pivoted = d_item.algorithm == symmetric_algorithm::blocked &&
                             d_item.definite == definiteness::unknown;
        const bool positive = d_item.definite == definiteness::positive;
        const bool in_place = d_item.a == d_item.x;
        std::vector<T> copy;
        if (in_place) {
            copy.assign(d_item.a, d_item.a + n * n); // X overwrites A
            d_item.a = copy.data();
        }
        symmetric_outcome<T> outcome;
        outcome.status = pivoted ? invert_by_pivoting(outcome) : invert_in_place();
        if (outcome.status == 0) {
            condition_of<T> condition(d_item.a, d_item.x, n, d_by);
            condition.know(d_norm, d_inverse_norm);
            const double limit = least_singular_condition<real>(n);
            const double found =
                condition.scaled(positive, d_item.wants_rcond, outcome.rcond);
            // An inverse by pivoting has been probed already.
            if (found > limit || (!pivoted && found > suspicious * limit && is_lost())) {
                outcome.status = int(n);
            }
        }
        if (outcome.status) {
            outcome.rcond = 0;
            std::fill_n(d_item.x, n * n, T(0));
            outcome.residual = std::numeric_limits<real>::quiet_NaN();
        } else if (d_item.wants_residual && !pivoted) {
            measure();
            outcome.residual = probe().ratio;
        }
        return outcome;
    }

private:
    //! What products with random vectors tell of X.
    struct findings {
        //! An estimate of |I - A X|_1 / (n |A|_1 |X|_1 eps), between half of it and four
        //! times it. The largest of n random elements stands for the largest column.
        real ratio;
        //! |y - X A y| / |y| with y = X w, in the direction in which X is largest. About
        //! eps times A's condition, and 1 if A is singular.
        real weakest;
    };

    //! Whether X is not A's inverse in the direction in which X is largest.
    bool is_lost()
    {
        measure();
        return !(probe().weakest < real(0.5));
    }

    //! Inverts a positive definite matrix, or any by bordering, in X's place. Returns the
    //! status.
    int invert_in_place()
    {
        T* const x = d_item.x;
        const bool positive = d_item.definite == definiteness::positive;
        if (!copy_lower<T>(d_item.a, x, n, n, nullptr, d_by)) {
            return -1;
        }
        const int status =
            d_item.algorithm == symmetric_algorithm::bordering
                ? bordering<T>(x, n, d_by).run(positive, d_item.progress)
                : symmetric_blocks<T>(x, n, n, d_by, d_packed_b, d_item.progress)
                      .invert_positive();
        if (status == 0 && !mirror(x, n, d_by)) {
            return -1;
        }
        return status;
    }

    //! Inverts a matrix of unknown definiteness. Returns the status.
    int invert_by_pivoting(symmetric_outcome<T>& outcome)
    {
        const size_t ld = factored_stride(n);
        const bool scaled = measure() && equilibrate();
        if (!copy_lower(d_item.a, d_factored, n, ld, d_scale.data(), d_by)) {
            return -1;
        }
        if (!scaled) {
            return int(n); // a row of zeros
        }
        symmetric_blocks<T> blocks(d_factored, ld, n, d_by, d_packed_b, d_item.progress);
        const auto rows = blocks.invert_indefinite(
            eps * eps, // a graded matrix has pivots far below eps
            d_item.workspace + symmetric_packed_bytes<T>(n) +
                symmetric_factored_bytes<T>(n));
        if (!restore_rows(
                d_factored, ld, d_item.x, n, rows.data(), d_scale.data(), d_by)) {
            return -1;
        }
        const findings found = probe();
        outcome.residual = found.ratio;
        return found.ratio < 30 && found.weakest < real(0.5) ? 0 : int(n);
    }

    //! Computes the norms of A. Returns false if a row is 0.
    bool measure()
    {
        d_scale.assign(n, 1);
        std::vector<real> sums(n);
        d_largest.resize(n);
        row_norms(d_item.a, n, d_scale.data(), sums.data(), d_largest.data(), d_by);
        d_norm = *std::max_element(sums.begin(), sums.end());
        return *std::min_element(d_largest.begin(), d_largest.end()) > 0;
    }

    //! Finds powers of two S that bring the rows of S A S to about the same size. Returns
    //! false if a row becomes 0.
    bool equilibrate()
    {
        std::vector<real> sums(n);
        for (int round = 0; round < 8; ++round) {
            const auto [least, most] =
                std::minmax_element(d_largest.begin(), d_largest.end());
            const bool alike = *least * 1024 >= *most;
            const real all = std::sqrt(*most);
            for (size_t i = 0; i < n; ++i) {
                const real size = alike ? all : std::sqrt(d_largest[i]);
                d_scale[i] *= std::exp2(-std::round(std::log2(size)));
            }
            if (alike) {
                break;
            }
            row_norms(d_item.a, n, d_scale.data(), sums.data(), d_largest.data(), d_by);
            if (!(*std::min_element(d_largest.begin(), d_largest.end()) > 0)) {
                return false;
            }
        }
        return true;
    }

    findings probe()
    {
        std::mt19937 engine(77);
        wide_vector w(n, parts);
        for (size_t i = 0; i < n; ++i) {
            // Elements of one size could cancel in a direction of few elements.
            const double u = 0.75 + engine() / 8589934592.0;
            w.values[i] = real(engine() & 1 ? u : -u);
        }
        const T *a = d_item.a, *x = d_item.x;
        // (I - X A) w. The variance of an element is the square sum of a column of I - A
        // X.
        const wide_vector sources[] = { times_lower<false>(a, n, w, d_by), w };
        wide_vector results[] = { { n, parts }, { n, parts } };
        d_inverse_norm = times_whole(x, n, sources, results, d_by);
        auto& [back, y] = results;
        double most = 0;
        for (size_t i = 0; i < n; ++i) {
            back.values[i] -= w.values[i];
            most = std::max(most, std::sqrt(back.norm(i)));
        }
        findings found;
        found.ratio =
            real(std::sqrt(2 / M_PI / n) * most / d_norm / d_inverse_norm / eps);
        // A y nearly vanishes if A is singular, so float64 needs sums of twice the
        // digits.
        const wide_vector product[] = { times_lower<!single>(a, n, y, d_by) };
        wide_vector same[] = { { n, parts } };
        times_whole(x, n, product, same, d_by);
        double error = 0, size = 0;
        for (size_t i = 0; i < n; ++i) {
            size += y.norm(i);
        }
        for (size_t i = 0; i < y.values.size(); ++i) {
            y.values[i] -= same[0].values[i];
        }
        for (size_t i = 0; i < n; ++i) {
            error += y.norm(i);
        }
        found.weakest = real(std::sqrt(error / size));
        if (!(found.ratio < std::numeric_limits<real>::max()) ||
            !(found.weakest < std::numeric_limits<real>::max())) {
            return { std::numeric_limits<real>::infinity(), 1 };
        }
        return found;
    }

    symmetric_item<T> d_item;
    size_t n;
    crew d_by;
    real* d_packed_b;
    T* d_factored;
    double d_norm = 0, d_inverse_norm = 0; //!< |A|_1, |X|_1
    std::vector<real> d_scale, d_largest;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
