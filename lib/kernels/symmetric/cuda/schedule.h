/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>

// The order of the steps that invert a large symmetric (Hermitian) matrix in place by
// blocks. This is host code. The caller supplies the steps, so any kind of product fits.
//
// The input and the result are the lower triangle. The schedule joins two algorithms:
// - Halves: X11 = A11^-1, S = A22 - A21 X11 A21^H, X22 = S^-1, X21 = -X22 A21 X11,
//   X11 -= (A21 X11)^H X21. The products are as large as possible, but the leaves are
//   inverted one after the other.
// - Panels: for each block k of columns, P = A_kk^-1 and A -= A_k P A_k^H for all other
//   columns at once. Each panel is an update of low rank of the whole matrix. The next
//   block is updated by itself and inverted beside that update. Panels leave -A^-1.
//   An update of low rank is bound by memory if the matrix is large. So panels are taken
//   in groups: a group is eliminated in its own columns first, a strip, and then updates
//   all other columns at once. The next strip is updated and eliminated beside that.
// Both take n^3 multiply-adds and additions, because the squares of the upper triangle
// are left out if possible.

namespace gr::cudaphy::kernels {

//! The columns of a panel or of a group of panels.
struct symmetric_panel {
    int first;
    int columns;
};

/*!
 * The members of Steps. `first` and `order` are the first row and the order of a block of
 * the matrix:
 *
 *     int largest_of_panels();                the largest order that panels invert
 *     int panel_columns();                    columns of a panel
 *     int largest_leaf();                     the largest order of invert_leaf()
 *     void invert_leaf(first, order);         inverts a block in one step
 *     int multiple();                         orders of halves are multiples of it
 *     void mirror(first, order, sign);        lower triangle times sign to both
 *     void product(first, half, order);       A12 = X11 A21^H
 *     void complement(first, half, order);    A22 -= A21 A12, lower triangle
 *     void corner(first, half, order);        A21 = -X22 A12^H
 *     void correct(first, half, order);       A11 -= A12 A21, lower triangle
 *     void gather(which, first, order, panel) panel `which` = A_k, all rows
 *     void invert_block(which, first, panel, aside) P of panel `which` = the inverse of
 *                                             its own rows; aside: beside later steps
 *     bool look_ahead(which, first, panel, next) begins P of `next` aside, from A -= A_k
 * P A_k^H of its own rows; false: it can not void await_block() waits for all that was
 * begun aside void weigh(which, order, panel)         W = A_k P void advance(which,
 * order, panel, next) panel of `next` -= W A_k^H; its rows `panel` become W^H void
 * update(which, first, order, panel, next) A -= W A_k^H, lower triangle; may leave out
 * rows and columns of both panels void scatter(which, first, order, panel) row and column
 * k of A become W and -P int group_columns(order);               columns of a group; 0:
 * no groups void gather_strip(which, first, order, group) strip `which` = the group's
 * columns void eliminate_panel(which, first, order, group, panel) P of the panel, W = A_k
 * P; other columns of the strip -= W A_k^H, and their rows k become W^H; own: W and -P
 *     void advance_strip(which, order, group, next) strip of `next` -= W A_g^H; its rows
 *                                             `group` come from the group's strip
 *     void await_strip()                      waits for all work on strips
 *     void update_outside(which, first, order, group, next) A -= W A_g^H, lower triangle;
 *                                             may leave out rows and columns of both
 *     void scatter_strip(which, first, order, group) the group's columns of A = the strip
 *     void done(flops);                       so many more operations are submitted
 */
template <typename Steps>
class symmetric_schedule
{
public:
    explicit symmetric_schedule(Steps& steps) : d_steps(steps) {}

    //! The lower triangle becomes that of the inverse times the sign that is returned.
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

    //! Eliminates the strip of a group.
    //! \param before  the group before, null for the first
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

//! Squares of the same size in a lower triangle, one after the other down the diagonal.
struct triangle_squares {
    int row, column; //!< of the first
    int rows, columns;
    int to_next; //!< rows and columns to the next square
    int count;
};

/*!
 * Covers a lower triangle by squares: large ones below the diagonal, each next size half
 * as large, and squares of at most `smallest` rows on the diagonal. Half of the latter is
 * computed in vain. Calls cover(triangle_squares) for each size. The last square of a
 * size may have fewer rows, and then a call of its own.
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
