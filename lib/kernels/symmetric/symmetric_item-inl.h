/* SPDX-License-Identifier: GPL-3.0-or-later */
// The steps from one matrix to its inverse. Included once an instruction set, hence no
// #pragma once.
#if defined(CUDAPHY_SYMMETRIC_ITEM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_ITEM_INL_H
#undef CUDAPHY_SYMMETRIC_ITEM_INL_H
#else
#define CUDAPHY_SYMMETRIC_ITEM_INL_H
#endif

#include "kernels/symmetric/symmetric_blocks-inl.h"
#include "kernels/symmetric/symmetric_bordering-inl.h"
#include "kernels/symmetric/symmetric_inverse_cpu.h"
#include "kernels/symmetric/symmetric_passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
struct wider;
template <>
struct wider<float> {
    using type = double;
};
template <>
struct wider<double> {
    using type = long double;
};
template <typename R>
struct wider<std::complex<R>> {
    using type = std::complex<typename wider<R>::type>;
};

/*
 * An indefinite matrix is scaled by powers of two where its rows differ much, mixed by
 * random butterflies, factored without exchanging rows over more than a leaf, and probed.
 * If that does not satisfy, other draws follow, and Newton's steps. Floats are inverted
 * in double, whose digits make up for any growth.
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
          d_mixed(reinterpret_cast<T*>(item.workspace + symmetric_packed_bytes<T>(n)))
    {
    }

    symmetric_outcome<T> run()
    {
        const bool tried = d_item.algorithm == symmetric_algorithm::blocked &&
                           d_item.definite == definiteness::unknown;
        std::vector<T> copy;
        if ((tried || d_item.wants_residual) && d_item.a == d_item.x) {
            copy.assign(d_item.a, d_item.a + n * n); // to probe X with
            d_item.a = copy.data();
        }
        symmetric_outcome<T> outcome;
        outcome.status = tried ? unknown(outcome) : known();
        if (outcome.status) {
            std::fill_n(d_item.x, n * n, T(0));
            outcome.residual = std::numeric_limits<real>::quiet_NaN();
        } else if (d_item.wants_residual && !tried) {
            measure();
            outcome.residual = probe(0).ratio;
        }
        return outcome;
    }

private:
    //! What multiplying random vectors says of X.
    struct findings {
        //! |I - A X|_1 / (n |A|_1 |X|_1 eps), or from half to four times as much: the
        //! largest of n random elements stands for the column with the largest.
        real ratio;
        //! |y - X A y| / |y| for a y = X w, which lies where X is largest: about eps
        //! times A's condition, and 1 where A is singular.
        real weakest;

        bool good(real enough) const { return ratio <= enough && weakest <= real(0.25); }
        //! Whether Newton's steps lead to the inverse.
        bool converges(real enough) const
        {
            return ratio > enough && weakest <= real(0.25);
        }
    };

    //! Positive definite, or by bordering: in X's place.
    int known()
    {
        T* const x = d_item.x;
        const bool positive = d_item.definite == definiteness::positive;
        if (!copy_lower(d_item.a, x, n, n, d_by)) {
            return -1;
        }
        const int status =
            d_item.algorithm == symmetric_algorithm::bordering
                ? bordering<T>(x, n, d_by).run(positive, d_item.progress)
                : symmetric_blocks<T>(x, n, n, d_by, d_packed_b, d_item.progress)
                      .invert_positive();
        if (status == 0 && !spread(x, n, x, n, n, static_cast<real*>(nullptr), d_by)) {
            return -1;
        }
        return status;
    }

    int unknown(symmetric_outcome<T>& outcome)
    {
        if (!copy_lower(d_item.a, d_mixed, n, mixed_stride(n), d_by)) {
            return -1;
        }
        if (!measure() || !equilibrate()) {
            return int(n); // a row of zeros
        }
        if constexpr (single) {
            if (n > leaf_order) {
                // Factored without exchanging rows, a well-conditioned matrix of order
                // 1000 keeps two or three digits of a float's seven.
                return in_double(outcome);
            }
        }
        findings found{};
        bool overflows = true;
        for (int draw = 0; draw < (single ? 1 : 3); ++draw) {
            // A draw that was merely unlucky is cheaper repeated than refined; one after
            // which nothing is right wants more mixing.
            const bool unlucky = draw == 1 && found.converges(d_item.enough);
            if (!attempt(draw, draw > 0 && !unlucky)) {
                found = { std::numeric_limits<real>::infinity(), 1 };
                continue;
            }
            overflows = false;
            outcome.refinements += draw > 0;
            found = probe(draw);
            for (int step = 0; step < 2 && draw > 0 && found.converges(d_item.enough);
                 ++step) {
                ++outcome.refinements;
                refine();
                found = probe(draw);
            }
            outcome.residual = found.ratio;
            if (found.good(d_item.enough)) {
                return 0;
            }
        }
        if constexpr (single) {
            return in_double(outcome);
        } else {
            // The best that can be had: what is left is A's own condition.
            return overflows ? -1
                   : found.ratio < std::max(real(30), d_item.enough) &&
                           found.weakest < real(0.5)
                       ? 0
                       : int(n);
        }
    }

    //! Norms of A; false where a row is 0.
    bool measure()
    {
        d_scale.assign(n, 1);
        std::vector<real> sums(n);
        d_largest.resize(n);
        row_norms(d_item.a, n, d_scale.data(), sums.data(), d_largest.data(), d_by);
        d_norm = *std::max_element(sums.begin(), sums.end());
        return *std::min_element(d_largest.begin(), d_largest.end()) > 0;
    }

    //! Powers of two by which the rows of S A S come to about the same size.
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

    //! X, by the butterflies of a draw, one round of them or many. Returns whether it is
    //! finite.
    bool attempt(int draw, bool deep)
    {
        const bool mixes = n > leaf_order;
        const size_t order = mixes ? mixed_order(n) : n, ld = mixed_stride(n);
        real* const reals = reinterpret_cast<real*>(d_mixed);
        // Random factors as well, lest elements of the same size cancel each other.
        std::mt19937 engine(1 + draw);
        std::vector<real> scale = d_scale;
        for (auto& factor : scale) {
            factor *= real(mixes ? std::exp(engine() / 4294967296.0 - 0.5) : 1);
        }
        copy_lower(d_item.a, d_mixed, n, ld, d_by);
        spread(d_mixed, ld, d_mixed, n, ld, scale.data(), d_by);
        for (size_t i = n; i < order; ++i) {
            for (size_t j = 0; j < order; ++j) {
                d_mixed[i * ld + j] = d_mixed[j * ld + i] = i == j ? T(1) : T(0);
            }
        }
        // Elements of few neighbours (a permutation matrix) need more than one round: by
        // as many as there are digits to the base 4 in the order, each row meets all.
        std::vector<butterflies<real>> rounds;
        for (size_t reach = 1; mixes && reach < (deep ? order : 2); reach *= 4) {
            rounds.emplace_back(
                order / 4, parts, deep ? 0.125 : 1, 20111 + 100 * draw + rounds.size());
            if (rounds.size() > 1) {
                shuffle(order, ld, true);
            }
            rounds.back().apply(reals, ld, d_by);
        }
        symmetric_blocks<T> blocks(
            d_mixed, ld, order, d_by, d_packed_b, draw ? nullptr : d_item.progress);
        blocks.invert_indefinite(eps);
        if (mixes) {
            spread(d_mixed, ld, d_mixed, order, ld, static_cast<real*>(nullptr), d_by);
        }
        while (!rounds.empty()) {
            rounds.back().apply_adjoint(reals, ld, d_by);
            rounds.pop_back();
            if (!rounds.empty()) {
                shuffle(order, ld, false);
            }
        }
        return spread(d_mixed, ld, d_item.x, n, n, scale.data(), d_by);
    }

    //! X = X + X (I - A X), a step of Newton's method.
    void refine()
    {
        const size_t ld = mixed_stride(n);
        T* const x = d_item.x;
        copy_lower(d_item.a, d_mixed, n, ld, d_by);
        spread(d_mixed, ld, d_mixed, n, ld, static_cast<real*>(nullptr), d_by);
        std::vector<T> residual(n * n);
        product<T> p{ n, n, n, d_mixed, ld, x, n, residual.data(), n };
        p.negative = true;
        p.add = false;
        dense_product<T>::run(p, d_by, d_packed_b);
        for (size_t i = 0; i < n; ++i) {
            residual[i * n + i] += real(1);
            std::copy_n(x + i * n, n, d_mixed + i * ld);
        }
        p.b = residual.data();
        p.c = x;
        p.negative = false;
        p.add = p.lower = true;
        dense_product<T>::run(p, d_by, d_packed_b);
        spread(x, n, x, n, n, static_cast<real*>(nullptr), d_by);
    }

    //! Rows and columns of the mixed matrix, four by four apart, come to stand together,
    //! or go back.
    void shuffle(size_t order, size_t ld, bool forward)
    {
        const std::vector<T> copy(d_mixed, d_mixed + order * ld);
        const size_t quarter = order / 4;
        const auto place = [quarter](size_t i) { return i % quarter * 4 + i / quarter; };
        d_by.each(order, 16, [&](size_t first, size_t last) {
            for (size_t i = first; i < last; ++i) {
                for (size_t j = 0; j < order; ++j) {
                    const size_t here = i * ld + j, there = place(i) * ld + place(j);
                    d_mixed[forward ? there : here] = copy[forward ? here : there];
                }
            }
        });
    }

    findings probe(int draw)
    {
        using wide = typename wider<T>::type;
        using sum = std::conditional_t<single, wide, T>;
        std::mt19937 engine(77 + draw);
        std::vector<T> w(n);
        for (auto& value : w) {
            // Not all of one size, lest they cancel in a direction of few elements.
            const double u = 0.75 + engine() / 8589934592.0;
            value = real(engine() & 1 ? u : -u);
        }
        const T *a = d_item.a, *x = d_item.x;
        // (I - X A) w, whose elements have the columns of I - A X for variance.
        const auto back = times_whole<sum>(x, n, times_lower<sum>(a, n, w, d_by), d_by);
        real most = 0;
        for (size_t i = 0; i < n; ++i) {
            most = std::max(most, std::abs(w[i] - back[i]));
        }
        const real norm = row_norm(x, n, d_by);
        findings found;
        found.ratio = real(std::sqrt(2 / M_PI / n)) * most / d_norm / norm / eps;
        // A y all but vanishes where A is singular, so its digits count.
        const auto y = times_whole<sum>(x, n, w, d_by);
        const auto same = times_whole<sum>(x, n, times_lower<wide>(a, n, y, d_by), d_by);
        double error = 0, size = 0;
        for (size_t i = 0; i < n; ++i) {
            error +=
                std::norm(std::complex<double>(y[i]) - std::complex<double>(same[i]));
            size += std::norm(std::complex<double>(y[i]));
        }
        found.weakest = real(std::sqrt(error / size));
        if (!(found.ratio < std::numeric_limits<real>::max()) ||
            !(found.weakest < std::numeric_limits<real>::max())) {
            return { std::numeric_limits<real>::infinity(), 1 };
        }
        return found;
    }

    int in_double(symmetric_outcome<T>& outcome)
    {
        using other = std::conditional_t<parts == 2, std::complex<double>, double>;
        std::vector<other> a(n * n);
        for (size_t i = 0; i < n; ++i) {
            std::copy_n(d_item.a + i * n, i + 1, &a[i * n]);
        }
        std::vector<other> x(n * n);
        auto workspace = hwy::AllocateAligned<unsigned char>(
            symmetric_item_bytes<other>(n, definiteness::unknown));
        constexpr double float_digits =
            1e6; // of the double's residual still hold a float's
        const auto found = symmetric_inverter<other>({ a.data(),
                                                       x.data(),
                                                       n,
                                                       d_item.algorithm,
                                                       d_item.definite,
                                                       true,
                                                       d_item.parallel,
                                                       d_item.progress,
                                                       workspace.get(),
                                                       float_digits })
                               .run();
        outcome.refinements += found.refinements;
        if (found.status) {
            return found.status;
        }
        bool finite = true;
        for (size_t e = 0; e < n * n; ++e) {
            d_item.x[e] = T(x[e]);
            finite = finite && std::isfinite(std::abs(d_item.x[e]));
        }
        outcome.residual = finite ? probe(0).ratio : 0;
        return finite ? 0 : -1;
    }

    symmetric_item<T> d_item;
    size_t n;
    crew d_by;
    real* d_packed_b;
    T* d_mixed;
    real d_norm = 0;
    std::vector<real> d_scale, d_largest;
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
