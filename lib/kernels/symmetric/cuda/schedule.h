/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>

// The order in which a large symmetric (Hermitian) matrix is inverted in place, by
// blocks; what does a step is the caller's. Host code, the same for every kind of
// product.
//
// Only the lower triangle holds what counts. Two ways are joined:
// - Halves: X11 = A11^-1, S = A22 - A21 X11 A21^H, X22 = S^-1, X21 = -X22 A21 X11,
//   X11 -= (A21 X11)^H X21. Its products are as large as can be, but leaf follows leaf.
// - Panels, up to an order where products of full rank are not yet worth more: for each
//   block k of columns, P = A_kk^-1 and, for all others at once, A -= A_k P A_k^H. A
//   panel is an update of the whole matrix, of low rank; while it runs, the next block,
//   brought up to date by itself, is inverted beside it. It leaves -A^-1.
//   Where the matrix is large, an update of low rank takes as long as its numbers take to
//   come and go: so panels are taken in groups, of which each is eliminated in its own
//   columns, a strip, first, and then changes all else at once. While it does, the next
//   strip is brought up to date and eliminated.
// Both take n^3 multiply-adds and additions in all, as the triangle's other half is left
// out where squares of it can be.

namespace gr::cudaphy::kernels {

//! The columns from `first` to the next panel, or group of panels.
struct symmetric_panel {
    int first;
    int columns;
};

/*!
 * Steps has, for blocks of the matrix given by first row and order:
 *
 *     int largest_of_panels(), panel_columns(); orders inverted by panels, and how wide
 *     int largest_leaf(); void invert_leaf(first, order);    orders inverted in one step
 *     int multiple();                         of which orders are, but the last
 *     void mirror(first, order, sign);        lower triangle times sign to both
 *     void product(first, half, order);       A12 = X11 A21^H
 *     void complement(first, half, order);    A22 -= A21 A12, lower triangle
 *     void corner(first, half, order);        A21 = -X22 A12^H
 *     void correct(first, half, order);       A11 -= A12 A21, lower triangle
 *     void gather(which, first, order, panel) panel `which` = A_k, all of its rows
 *     void invert_block(which, panel, aside)  P of that panel = its own rows' inverse
 *     bool look_ahead(which, first, panel, next) begins P of `next` aside, if it can, by
 *                                             A -= A_k P A_k^H of its own rows alone
 *     void await_block()                      what was begun aside is there
 *     void weigh(which, order, panel)         W = A_k P
 *     void advance(which, panel, next)        panel of `next` -= W (A_k)^H, its rows
 *                                             `panel` being those of W
 *     void update(which, first, order, panel, next) A -= W A_k^H, lower triangle; rows
 *                                             and columns of both panels may be left out
 *     void scatter(which, first, order, panel) W and -P to A's row and column k
 *     int group_columns(order);               of a group of panels; 0: without groups
 *     void gather_strip(which, first, order, group) strip `which` = the group's columns
 *     void eliminate_panel(which, first, order, group, panel) P of that panel, W = A_k P;
 *                                             all other columns of the strip -= W A_k^H,
 *                                             but rows k of them W^H; its own W and -P
 *     void advance_strip(which, order, group, next) strip of `next` -= W A_g^H, with the
 *                                             rows of the group from its strip
 *     void await_strip()                      all that was done to strips is there
 *     void update_outside(which, first, order, group, next) A -= W A_g^H, lower triangle;
 *                                             rows and columns of both may be left out
 *     void scatter_strip(which, first, order, group) the strip to A's columns
 *     void done(flops);                       that many more are submitted
 */
template <typename Steps>
class symmetric_schedule
{
public:
    explicit symmetric_schedule(Steps& steps) : d_steps(steps) {}

    //! Leaves the inverse times the sign that is returned in the lower triangle.
    int invert(int first, int order)
    {
        if (order <= d_steps.largest_of_panels()) {
            if (d_steps.group_columns(order) > 0) {
                groups(first, order);
            } else {
                panels(first, order);
            }
            return -1;
        }
        if (order <= d_steps.largest_leaf()) {
            d_steps.invert_leaf(first, order);
            d_steps.done(1. * order * order * order);
            return 1;
        }
        const int half = half_of(order, d_steps.multiple());
        const double rest = order - half;
        d_steps.mirror(first, half, invert(first, half));
        d_steps.product(first, half, order);
        d_steps.complement(first, half, order);
        d_steps.done(2. * half * half * rest + half * rest * rest);
        const int sign = invert(first + half, order - half);
        d_steps.mirror(first + half, order - half, sign);
        d_steps.corner(first, half, order);
        d_steps.correct(first, half, order);
        d_steps.done(2. * half * rest * rest + half * rest * half);
        return 1;
    }

    static int half_of(int order, int multiple)
    {
        return (order / 2 + multiple - 1) / multiple * multiple;
    }

private:
    void panels(int first, int order)
    {
        const int columns = d_steps.panel_columns();
        const auto panel_from = [&](int at) {
            return symmetric_panel{ at, std::min(columns, order - at) };
        };
        auto panel = panel_from(0);
        int which = 0;
        d_steps.gather(which, first, order, panel);
        d_steps.invert_block(which, first, panel, false);
        while (true) {
            const int next_at = panel.first + panel.columns;
            const bool last = next_at >= order;
            const auto next = panel_from(std::min(next_at, order));
            const bool begun = !last && d_steps.look_ahead(which, first, panel, next);
            d_steps.weigh(which, order, panel);
            if (!last) {
                d_steps.gather(1 - which, first, order, next);
                d_steps.advance(which, order, panel, next);
                if (!begun) {
                    d_steps.invert_block(1 - which, first, next, true);
                }
            }
            d_steps.update(which, first, order, panel, next);
            d_steps.scatter(which, first, order, panel);
            d_steps.done(1. * order * order * panel.columns);
            if (last) {
                return;
            }
            d_steps.await_block();
            panel = panel_from(next_at);
            which = 1 - which;
        }
    }

    void groups(int first, int order)
    {
        const int columns = d_steps.group_columns(order);
        const auto group_from = [&](int at) {
            return symmetric_panel{ at, std::min(columns, order - at) };
        };
        auto group = group_from(0);
        int which = 0;
        eliminate_strip(which, first, order, group, nullptr);
        while (true) {
            const int next_at = group.first + group.columns;
            const auto next = group_from(std::min(next_at, order));
            d_steps.await_strip();
            if (next.columns > 0) {
                eliminate_strip(1 - which, first, order, next, &group);
            }
            d_steps.update_outside(which, first, order, group, next);
            d_steps.scatter_strip(which, first, order, group);
            d_steps.done(1. * order * order * group.columns);
            if (next.columns == 0) {
                return;
            }
            group = next;
            which = 1 - which;
        }
    }

    //! Of a group, and the one before it where there is one.
    void eliminate_strip(int which,
                         int first,
                         int order,
                         symmetric_panel group,
                         const symmetric_panel* before)
    {
        d_steps.gather_strip(which, first, order, group);
        if (before) {
            d_steps.advance_strip(1 - which, order, *before, group);
        }
        const int end = group.first + group.columns;
        for (int at = group.first; at < end; at += d_steps.panel_columns()) {
            const symmetric_panel panel{ at,
                                         std::min(d_steps.panel_columns(), end - at) };
            d_steps.eliminate_panel(which, first, order, group, panel);
        }
    }

    Steps& d_steps;
};

//! One square of a lower triangle, or several of the same size down its diagonal.
struct triangle_squares {
    int row, column; //!< of the first
    int rows, columns;
    int to_next; //!< rows and columns down to the next one
    int count;
};

/*!
 * Covers the lower triangle of the order given by squares below its diagonal, halving
 * them, and by squares on it of at most `smallest` rows, of which half is in vain; calls
 * cover(triangle_squares) for each size. The last of a size may have fewer rows.
 */
template <typename Cover>
void cover_triangle(int order, int smallest, int multiple, const Cover& cover)
{
    int levels = 0;
    while ((order >> levels) > smallest) {
        ++levels;
    }
    int side = ((order + (1 << levels) - 1) >> levels);
    side = (side + multiple - 1) / multiple * multiple;
    const int whole = order / side;
    if (whole) {
        cover(triangle_squares{ 0, 0, side, side, side, whole });
    }
    if (whole * side < order) {
        const int rest = order - whole * side;
        cover(triangle_squares{ whole * side, whole * side, rest, rest, 0, 1 });
    }
    for (int s = side; s < order; s *= 2) {
        const int pairs = order / (2 * s);
        if (pairs) {
            cover(triangle_squares{ s, 0, s, s, 2 * s, pairs });
        }
        const int row = 2 * s * pairs + s;
        if (row < order) {
            cover(triangle_squares{ row, row - s, order - row, s, 0, 1 });
        }
    }
}

} // namespace gr::cudaphy::kernels
