/* SPDX-License-Identifier: GPL-3.0-or-later */
// Factors an indefinite Hermitian matrix with pivoting. Highway includes this file once
// for each instruction set, so it has no #pragma once.
#if defined(CUDAPHY_SYMMETRIC_PIVOTING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_SYMMETRIC_PIVOTING_INL_H
#undef CUDAPHY_SYMMETRIC_PIVOTING_INL_H
#else
#define CUDAPHY_SYMMETRIC_PIVOTING_INL_H
#endif

#include "kernels/symmetric/cpu/leaf-inl.h"
#include "kernels/symmetric/cpu/window-inl.h"
#include "kernels/symmetric/cpu_product/background_task.h"
#include "kernels/symmetric/cpu_product/dense_product-inl.h"
#include <limits>
#include <mutex>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

/*
 * P A P^T = L D L^H, where D has blocks of order 1 and 2, in place in the lower triangle.
 *
 * LAPACK's sytrf searches whole columns for a pivot, and so reads each element of a panel
 * many times from memory. Here a panel's pivots are chosen in a window: the next rows and
 * columns, which the cache holds. The panel's other rows are then solved for at once (as
 * Duff, Hogg, Lopez do for sparse matrices, SIAM J. Sci. Comput. 42(2), 2020). Pivots are
 * accepted up to the first one with an element of L above a bound. The rows of such
 * elements come into the next window.
 *
 * A panel changes only a strip of columns, in which the next few windows lie. The columns
 * behind the strip are brought up to date a block of panels at a time. Those that become
 * the next strip come first. The rest follow in the background, while panels are factored
 * in the strip. So cores seldom wait for the choice of pivots, which is serial. Most
 * operations are in products of rank pivots_in_a_block.
 */
template <typename T>
class pivoted_factors
{
public:
    using real = decltype(std::abs(T()));
    static constexpr size_t parts = sizeof(T) / sizeof(real);

    //! memory: symmetric_pivoting_bytes().
    pivoted_factors(T* matrix,
                    size_t ld,
                    size_t order,
                    crew by,
                    real* packed_b,
                    unsigned char* memory)
        : a(matrix), d_ld(ld), n(order), d_by(by), d_packed_b(packed_b),
          d_packed_strip(reinterpret_cast<real*>(memory)),
          d_window_order(std::min(n, window_order)),
          d_window(d_window_order,
                   reinterpret_cast<real*>(memory + symmetric_strip_bytes<T>(n))),
          d_panel(reinterpret_cast<T*>(
              memory + symmetric_strip_bytes<T>(n) +
              whole_lines(pivot_window_reals(d_window_order, parts) * sizeof(real)))),
          d_rows(n), d_sizes(n), d_diagonal(n), d_inverse_diagonal(n), d_below(n),
          d_inverse_below(n)
    {
        for (size_t i = 0; i < n; ++i) {
            d_rows[i] = i;
            d_sizes[i] = std::abs(std::real(*at(i, i)));
        }
    }

    //! Factors the matrix. Pivots below `tiny` are replaced. Calls done(count) with the
    //! multiply-adds of each panel.
    template <typename Done>
    void run(real tiny, const Done& done)
    {
        d_strip_end = std::min(n, strip_width);
        size_t tries = 0;
        for (size_t k = 0; k < n;) {
            if (k + pivots_at_a_time > d_block + pivots_in_a_block) {
                finish_block(k, false);
            }
            const size_t w = std::min(d_window_order, n - k);
            size_t order[window_order];
            d_window.load(at(k, k), d_ld, w, &d_sizes[k]);
            const size_t chosen =
                d_window.factor(&d_diagonal[k], &d_below[k], order, tiny);
            invert_pivots(k, chosen);
            // After 8 tries without a pivot, any pivot is accepted, so that the loop
            // ends.
            const real bound = tries > 8 ? std::numeric_limits<real>::infinity()
                                         : std::ldexp(most_of_l, int(tries));
            size_t taken = 0;
            background_task::beside([&] {
                permute(k, w, chosen, order);
                solve(k, w, chosen, order, bound);
                while (taken < chosen && (tries > 8 || d_worst[taken].size <= bound)) {
                    ++taken;
                }
                if (taken && taken < chosen && d_below[k + taken - 1] != T(0)) {
                    --taken;
                }
                store(k, w, taken, order);
                subtract(k, k + taken, k + taken, d_strip_end, d_packed_strip);
            });
            done(0.5 * taken * (n - k) * (n - k));
            tries = taken ? 0 : tries + 1;
            k += taken;
            if (taken < chosen) {
                invite(k, k + w - taken, taken, chosen, bound);
            }
        }
    }

    block_diagonal<T> pivots() const { return { d_diagonal.data(), d_below.data() }; }
    block_diagonal<T> inverse_pivots() const
    {
        return { d_inverse_diagonal.data(), d_inverse_below.data() };
    }
    //! Row i of P A is row rows()[i] of A.
    const std::vector<size_t>& rows() const { return d_rows; }

private:
    //! Rook pivoting bounds elements of L by 2.8 in the window. In the many rows below
    //! the window some elements are larger by chance.
    static constexpr real most_of_l = 8;

    struct worst {
        real size; //!< the largest element of a column of L below the window, if above
                   //!< the bound
        size_t row;
    };

    T* at(size_t i, size_t j) const { return a + i * d_ld + j; }

    //! Subtracts L D L^H of pivots `first` to `last` from the lower triangle's columns
    //! `begin` to `end`.
    void subtract(size_t first, size_t last, size_t begin, size_t end, real* packed_b)
    {
        if (first == last || begin >= end) {
            return;
        }
        const auto d = pivots();
        const auto rows = [&](size_t from, size_t to, bool lower) {
            product<T> p{ to - from, end - begin,      last - first, at(from, first),
                          d_ld,      at(begin, first), d_ld,         at(from, begin),
                          d_ld };
            p.b_adjoint = p.negative = true;
            p.lower = lower;
            p.between = &d;
            p.between_first = first;
            dense_product<T>::run(p, d_by, packed_b);
        };
        rows(begin, end, true);
        if (end < n) {
            rows(end, n, false);
        }
        measure_diagonal(begin, end);
    }

    void measure_diagonal(size_t begin, size_t end)
    {
        for (size_t i = begin; i < end; ++i) {
            d_sizes[i] = std::max(d_sizes[i], std::abs(std::real(*at(i, i))));
        }
    }

    //! Brings the columns behind the strip up to date with the pivots before k. The first
    //! of them become the new strip. The others follow in the background, or at once if
    //! `all`.
    void finish_block(size_t k, bool all)
    {
        d_background.wait();
        const size_t first = d_block, begin = d_strip_end;
        const size_t end = std::min(n, k + strip_width);
        subtract(first, k, begin, end, d_packed_b);
        if (end < n) {
            const auto rest = [=] { subtract(first, k, end, n, d_packed_b); };
            if (d_by.parallel && !all) {
                d_background.start(rest);
            } else {
                rest();
            }
        }
        d_block = k;
        d_strip_end = end;
    }

    void invert_pivots(size_t first, size_t count)
    {
        for (size_t k = first; k < first + count; ++k) {
            const T e = d_below[k];
            if (e == T(0)) {
                d_inverse_diagonal[k] = 1 / d_diagonal[k];
                d_inverse_below[k] = 0;
                continue;
            }
            const real modulus = std::abs(e);
            const real p = d_diagonal[k] / modulus, q = d_diagonal[k + 1] / modulus;
            const real scale = 1 / ((p * q - 1) * modulus);
            d_inverse_diagonal[k] = q * scale;
            d_inverse_diagonal[k + 1] = p * scale;
            d_inverse_below[k] = -(e / modulus) * scale;
            d_inverse_below[++k] = 0;
        }
    }

    //! Permutes rows k to k + w of P, and of L so far, to the window's new order.
    void permute(size_t k, size_t w, size_t chosen, const size_t* order)
    {
        d_moved.clear();
        d_displaced.clear();
        for (size_t i = 0; i < w; ++i) {
            if (order[i] != i) {
                d_moved.push_back({ i, order[i] });
                if (i >= chosen) {
                    d_displaced.push_back({ i, order[i] });
                }
            }
        }
        const std::vector<size_t> rows(&d_rows[k], &d_rows[k] + w);
        const std::vector<real> sizes(&d_sizes[k], &d_sizes[k] + w);
        for (const auto& [to, from] : d_moved) {
            d_rows[k + to] = rows[from];
            d_sizes[k + to] = sizes[from];
        }
        constexpr size_t width = 128;
        d_by.each(d_moved.empty() ? 0 : k, width, [&](size_t begin, size_t end) {
            std::vector<T> taken(d_moved.size() * width);
            for (size_t j = begin; j < end; j += width) {
                const size_t count = std::min(width, end - j);
                T* to = taken.data();
                for (const auto& move : d_moved) {
                    to = std::copy_n(at(k + move.second, j), count, to);
                }
                const T* from = taken.data();
                for (const auto& move : d_moved) {
                    std::copy_n(from, count, at(k + move.first, j));
                    from += count;
                }
            }
        });
    }

    //! Solves X D L^H = A for the panel's rows below the window. Notes the elements of X
    //! above the bound.
    void solve(size_t k, size_t w, size_t chosen, const size_t* order, real bound)
    {
        std::fill_n(d_worst, chosen, worst{ 0, 0 });
        if (k + w == n) {
            return;
        }
        T l[pivots_at_a_time * pivots_at_a_time];
        for (size_t i = 0; i < chosen; ++i) {
            for (size_t j = 0; j < i; ++j) {
                l[i * pivots_at_a_time + j] =
                    in_block(k, i, j) ? T(0) : d_window.l(order[i], j);
            }
        }
        leaf_solver<T> solver(
            l, pivots_at_a_time, int(chosen), solving::adjoint_from_right, true);
        const block_diagonal<T> inverse{ &d_inverse_diagonal[k], &d_inverse_below[k] };
        std::mutex guard;
        d_by.each(n - k - w, 4 * solver.width, [&](size_t from, size_t to) {
            for (size_t first = k + w + from; first < k + w + to; first += solver.width) {
                const size_t last = std::min(k + w + to, first + solver.width);
                T* const x = d_panel + (first - k) * pivots_at_a_time;
                for (size_t i = first; i < last; ++i) {
                    T* const from = at(i, k);
                    T* const pivots = x + (i - first) * pivots_at_a_time;
                    for (size_t j = 0; j < chosen; ++j) {
                        pivots[j] = from[order[j]];
                    }
                    // Columns that pivots displaced move to the pivots' former columns.
                    for (const auto& [to, place] : d_displaced) {
                        from[to] = from[place];
                    }
                    std::copy_n(pivots, chosen, from);
                }
                solver.solve_rows(x, pivots_at_a_time, last - first, &inverse);
                for (size_t i = first; i < last; ++i) {
                    const T* row = x + (i - first) * pivots_at_a_time;
                    int over = 0; // counts NaN, too
                    for (size_t j = 0; j < chosen * parts; ++j) {
                        over |=
                            !(std::abs(reinterpret_cast<const real*>(row)[j]) <= bound);
                    }
                    if (over) {
                        const std::lock_guard<std::mutex> lock(guard);
                        note(row, i, chosen);
                    }
                }
            }
        });
    }

    void note(const T* row, size_t i, size_t chosen)
    {
        for (size_t j = 0; j < chosen; ++j) {
            const real size =
                std::max(std::abs(std::real(row[j])), std::abs(std::imag(row[j])));
            if (!(size <= d_worst[j].size)) {
                d_worst[j] = { size, i };
            }
        }
    }

    bool in_block(size_t k, size_t i, size_t j) const
    {
        return i == j + 1 && d_below[k + j] != T(0);
    }

    //! Writes the panel, and the window's other rows and columns in their new order.
    void store(size_t k, size_t w, size_t taken, const size_t* order)
    {
        for (size_t i = 0; i < w; ++i) {
            T* const panel = d_panel + i * pivots_at_a_time;
            T* const row = at(k + i, k);
            for (size_t j = 0; j < std::min(i, taken); ++j) {
                row[j] = panel[j] = in_block(k, i, j) ? T(0) : d_window.l(order[i], j);
            }
            for (size_t j = taken; j <= i; ++j) {
                row[j] = d_window.at(order[i], order[j]);
            }
        }
        d_by.each(n - k - w, 64, [&](size_t from, size_t to) {
            for (size_t i = k + w + from; i < k + w + to; ++i) {
                std::copy_n(d_panel + (i - k) * pivots_at_a_time, taken, at(i, k));
            }
        });
    }

    //! Brings rows from `below` on into the next window, at k, if their elements of L are
    //! above the bound. These rows and the window's last ones change places.
    void invite(size_t k, size_t below, size_t taken, size_t chosen, real bound)
    {
        std::vector<size_t> guests;
        for (size_t j = taken; j < chosen && guests.size() < d_window_order / 4; ++j) {
            const size_t row = d_worst[j].row;
            if (!(d_worst[j].size <= bound) && row >= below &&
                std::find(guests.begin(), guests.end(), row) == guests.end()) {
                guests.push_back(row);
            }
        }
        if (guests.empty()) {
            return;
        }
        finish_block(k, true);
        size_t place = std::min(n, k + d_window_order);
        for (const size_t row : guests) {
            do {
                --place;
            } while (std::find(guests.begin(), guests.end(), place) != guests.end());
            if (row > place) {
                exchange(place, row);
            }
        }
    }

    //! Exchanges rows and columns p < q, also of L.
    void exchange(size_t p, size_t q)
    {
        std::swap(d_rows[p], d_rows[q]);
        std::swap(d_sizes[p], d_sizes[q]);
        std::swap_ranges(at(p, 0), at(p, p), at(q, 0));
        for (size_t i = p + 1; i < q; ++i) {
            const T value = *at(i, p);
            *at(i, p) = adjoint(*at(q, i));
            *at(q, i) = adjoint(value);
        }
        *at(q, p) = adjoint(*at(q, p));
        std::swap(*at(p, p), *at(q, q));
        for (size_t i = q + 1; i < n; ++i) {
            std::swap(*at(i, p), *at(i, q));
        }
    }

    T* a;
    size_t d_ld;
    size_t n;
    crew d_by;
    real* d_packed_b;
    real* d_packed_strip;
    size_t d_block = 0;     //!< columns behind the strip lack the pivots from here on
    size_t d_strip_end = 0; //!< the first column behind the strip
    size_t d_window_order;
    pivot_window<T> d_window;
    T* d_panel; //!< rows from the window's first on
    worst d_worst[pivots_at_a_time];
    std::vector<std::pair<size_t, size_t>> d_moved;     //!< to and from, in the window
    std::vector<std::pair<size_t, size_t>> d_displaced; //!< of these, no pivots
    std::vector<size_t> d_rows;
    std::vector<real> d_sizes; //!< the largest that each element of the diagonal has been
    std::vector<real> d_diagonal, d_inverse_diagonal;
    std::vector<T> d_below, d_inverse_below;
    background_task d_background; //!< the last member, so it ends before the others
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#endif
