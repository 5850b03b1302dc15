/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE symmetric_schedule
#include "kernels/symmetric/cuda/schedule.h"
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

// The schedule of the CUDA backend with plain loops for its steps. Elements that no step
// may read, the upper triangle and new panels, start as NaN.

using namespace gr::cudaphy::kernels;

namespace {

using matrix = std::vector<double>;

class plain_steps
{
public:
    //! Orders above `grouped_from` take groups of `group` columns.
    struct orders {
        int by_panels, leaf, columns;
        bool looks_ahead = false;
        int group = 0, grouped_from = 0;
    };

    plain_steps(matrix& a, int n, const orders& o)
        : d_a(a), n(n), d_orders(o), d_columns(o.columns),
          d_weighed(size_t(n) * o.columns)
    {
        const int columns = o.columns;
        for (const int which : { 0, 1 }) {
            for (auto* strips : { d_strips, d_weighed_strips, d_eliminated }) {
                strips[which].assign(size_t(n) * o.group, NAN);
            }
        }
        for (auto& panel : d_panels) {
            panel.assign(size_t(n) * columns, NAN);
        }
        for (auto& inverse : d_inverses) {
            inverse.assign(size_t(columns) * columns, NAN);
        }
    }

    int largest_of_panels() const { return d_orders.by_panels; }
    int largest_leaf() const { return d_orders.leaf; }
    int panel_columns() const { return d_columns; }
    int group_columns(int order) const
    {
        return order > d_orders.grouped_from ? d_orders.group : 0;
    }
    int multiple() const { return 4; }
    void done(double f) { flops += f; }

    //! The whole inverse by Gauss-Jordan elimination, from the lower triangle.
    static matrix inverse(const matrix& lower, int order, int stride)
    {
        matrix x(size_t(order) * order);
        for (int i = 0; i < order; ++i) {
            for (int j = 0; j < order; ++j) {
                x[i * order + j] = lower[std::max(i, j) * stride + std::min(i, j)];
            }
        }
        for (int k = 0; k < order; ++k) {
            const double over = 1 / x[k * order + k];
            x[k * order + k] = 1;
            for (int j = 0; j < order; ++j) {
                x[k * order + j] *= over;
            }
            for (int i = 0; i < order; ++i) {
                const double factor = x[i * order + k];
                if (i != k) {
                    x[i * order + k] = 0;
                    for (int j = 0; j < order; ++j) {
                        x[i * order + j] -= factor * x[k * order + j];
                    }
                }
            }
        }
        return x;
    }

    void invert_leaf(int first, int order)
    {
        const matrix block(d_a.begin() + first * n + first, d_a.end());
        const auto x = inverse(block, order, n);
        for (int i = 0; i < order; ++i) {
            for (int j = 0; j <= i; ++j) {
                at(first + i, first + j) = x[i * order + j];
            }
        }
    }
    void mirror(int first, int order, int sign)
    {
        for (int i = 0; i < order; ++i) {
            for (int j = 0; j <= i; ++j) {
                at(first + i, first + j) *= sign;
                at(first + j, first + i) = at(first + i, first + j);
            }
        }
    }
    void product(int first, int half, int order)
    {
        for (int i = 0; i < half; ++i) {
            for (int j = half; j < order; ++j) {
                double sum = 0;
                for (int k = 0; k < half; ++k) {
                    sum += at(first + i, first + k) * at(first + j, first + k);
                }
                at(first + i, first + j) = sum;
            }
        }
    }
    void complement(int first, int half, int order)
    {
        cover(order - half, [&](int i, int j) {
            for (int k = 0; k < half; ++k) {
                at(first + half + i, first + half + j) -=
                    at(first + half + i, first + k) * at(first + k, first + half + j);
            }
        });
    }
    void corner(int first, int half, int order)
    {
        for (int i = half; i < order; ++i) {
            for (int j = 0; j < half; ++j) {
                double sum = 0;
                for (int k = half; k < order; ++k) {
                    sum += at(first + i, first + k) * at(first + j, first + k);
                }
                at(first + i, first + j) = -sum;
            }
        }
    }
    void correct(int first, int half, int order)
    {
        cover(half, [&](int i, int j) {
            for (int k = half; k < order; ++k) {
                at(first + i, first + j) -=
                    at(first + i, first + k) * at(first + k, first + j);
            }
        });
    }

    void gather(int which, int first, int order, symmetric_panel panel)
    {
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < panel.columns; ++c) {
                const int j = panel.first + c;
                d_panels[which][i * d_columns + c] =
                    at(first + std::max(i, j), first + std::min(i, j));
            }
        }
    }
    void invert_block(int which, int, symmetric_panel panel, bool aside)
    {
        const matrix rows(d_panels[which].begin() + panel.first * d_columns,
                          d_panels[which].end());
        const auto x = inverse(rows, panel.columns, d_columns);
        for (int i = 0; i < panel.columns; ++i) {
            for (int j = 0; j < panel.columns; ++j) {
                d_inverses[which][i * d_columns + j] = x[i * panel.columns + j];
            }
        }
        d_begun = aside;
    }
    bool look_ahead(int which, int first, symmetric_panel panel, symmetric_panel next)
    {
        if (!d_orders.looks_ahead) {
            return false;
        }
        const double* rows = d_panels[which].data() + next.first * d_columns;
        const auto& inverse = d_inverses[which];
        matrix block(next.columns * next.columns, NAN);
        for (int i = 0; i < next.columns; ++i) {
            for (int j = 0; j <= i; ++j) {
                double left = at(first + next.first + i, first + next.first + j);
                for (int k = 0; k < panel.columns; ++k) {
                    for (int l = 0; l < panel.columns; ++l) {
                        left -= rows[i * d_columns + k] * inverse[k * d_columns + l] *
                                rows[j * d_columns + l];
                    }
                }
                block[i * next.columns + j] = left;
            }
        }
        const auto x = plain_steps::inverse(block, next.columns, next.columns);
        for (int i = 0; i < next.columns; ++i) {
            for (int j = 0; j < next.columns; ++j) {
                d_inverses[1 - which][i * d_columns + j] = x[i * next.columns + j];
            }
        }
        d_begun = true;
        return true;
    }
    void await_block()
    {
        BOOST_TEST(d_begun);
        d_begun = false;
    }
    void weigh(int which, int order, symmetric_panel panel)
    {
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < panel.columns; ++c) {
                double sum = 0;
                for (int k = 0; k < panel.columns; ++k) {
                    sum += d_panels[which][i * d_columns + k] *
                           d_inverses[which][k * d_columns + c];
                }
                d_weighed[i * d_columns + c] = sum;
            }
        }
    }
    void advance(int which, int order, symmetric_panel panel, symmetric_panel next)
    {
        auto& to = d_panels[1 - which];
        for (int i = 0; i < order; ++i) {
            const bool own = i >= panel.first && i < panel.first + panel.columns;
            for (int c = 0; c < next.columns; ++c) {
                if (own) {
                    to[i * d_columns + c] =
                        d_weighed[(next.first + c) * d_columns + i - panel.first];
                    continue;
                }
                for (int k = 0; k < panel.columns; ++k) {
                    to[i * d_columns + c] -=
                        d_weighed[i * d_columns + k] *
                        d_panels[which][(next.first + c) * d_columns + k];
                }
            }
        }
    }
    void
    update(int which, int first, int order, symmetric_panel panel, symmetric_panel next)
    {
        const auto left_out = [&](int i) {
            return i >= panel.first && i < next.first + next.columns;
        };
        cover(order, [&](int i, int j) {
            if (left_out(i) || left_out(j)) {
                at(first + i, first + j) = NAN;
                return;
            }
            for (int k = 0; k < panel.columns; ++k) {
                at(first + i, first + j) -=
                    d_weighed[i * d_columns + k] * d_panels[which][j * d_columns + k];
            }
        });
    }
    void scatter(int which, int first, int order, symmetric_panel panel)
    {
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < panel.columns; ++c) {
                const int j = panel.first + c;
                const bool own = i >= panel.first && i < panel.first + panel.columns;
                if (!own || j <= i) {
                    at(first + std::max(i, j), first + std::min(i, j)) =
                        own ? -d_inverses[which][(i - panel.first) * d_columns + c]
                            : d_weighed[i * d_columns + c];
                }
            }
        }
    }

    void gather_strip(int which, int first, int order, symmetric_panel group)
    {
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < group.columns; ++c) {
                const int j = group.first + c;
                in(d_strips[which], i, c) =
                    at(first + std::max(i, j), first + std::min(i, j));
            }
        }
    }
    void eliminate_panel(
        int which, int, int order, symmetric_panel group, symmetric_panel panel)
    {
        const int own = panel.first - group.first, after = own + panel.columns;
        matrix rows(panel.columns * panel.columns);
        for (int i = 0; i < panel.columns; ++i) {
            for (int c = 0; c < panel.columns; ++c) {
                rows[i * panel.columns + c] =
                    in(d_strips[which], panel.first + i, own + c);
            }
        }
        const auto p = inverse(rows, panel.columns, panel.columns);
        const auto is_own = [&](int i) {
            return i >= panel.first && i < panel.first + panel.columns;
        };
        auto& w = d_weighed_strips[which];
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < panel.columns; ++c) {
                double sum = 0;
                for (int k = 0; k < panel.columns; ++k) {
                    sum += in(d_strips[which], i, own + k) * p[k * panel.columns + c];
                }
                in(w, i, own + c) = sum;
                in(d_eliminated[which], i, own + c) =
                    is_own(i) ? -p[(i - panel.first) * panel.columns + c] : sum;
            }
        }
        const auto change = [&](matrix& strip, int from, int to) {
            for (int i = 0; i < order; ++i) {
                for (int c = from; c < to; ++c) {
                    if (is_own(i)) {
                        in(strip, i, c) = in(w, group.first + c, own + i - panel.first);
                        continue;
                    }
                    for (int k = own; k < after; ++k) {
                        in(strip, i, c) -=
                            in(w, i, k) * in(d_strips[which], group.first + c, k);
                    }
                }
            }
        };
        change(d_strips[which], after, group.columns);
        change(d_eliminated[which], 0, own);
        d_strip_awaited = false;
    }
    void advance_strip(int which, int order, symmetric_panel group, symmetric_panel next)
    {
        for (int i = 0; i < order; ++i) {
            const bool own = i >= group.first && i < group.first + group.columns;
            for (int c = 0; c < next.columns; ++c) {
                double& to = in(d_strips[1 - which], i, c);
                if (own) {
                    to = in(d_eliminated[which], next.first + c, i - group.first);
                    continue;
                }
                for (int k = 0; k < group.columns; ++k) {
                    to -= in(d_weighed_strips[which], i, k) *
                          in(d_strips[which], next.first + c, k);
                }
            }
        }
    }
    void await_strip() { d_strip_awaited = true; }
    void update_outside(
        int which, int first, int order, symmetric_panel group, symmetric_panel next)
    {
        for (int i = 0; i < order; ++i) {
            for (int j = 0; j <= i; ++j) {
                for (const int k : { i, j }) {
                    if (k >= group.first && k < next.first + next.columns) {
                        at(first + i, first + j) = NAN;
                    }
                }
                for (int k = 0; k < group.columns; ++k) {
                    at(first + i, first + j) -=
                        in(d_weighed_strips[which], i, k) * in(d_strips[which], j, k);
                }
            }
        }
    }
    void scatter_strip(int which, int first, int order, symmetric_panel group)
    {
        for (int i = 0; i < order; ++i) {
            for (int c = 0; c < group.columns; ++c) {
                const int j = group.first + c;
                if (i >= j || i < group.first) {
                    at(first + std::max(i, j), first + std::min(i, j)) =
                        in(d_eliminated[which], i, c);
                }
            }
        }
    }
    bool all_awaited() const { return d_strip_awaited; }

    double flops = 0;

private:
    double& in(matrix& strip, int i, int c) const
    {
        return strip[size_t(i) * d_orders.group + c];
    }
    double& at(int i, int j) { return d_a[size_t(i) * n + j]; }

    template <typename Each>
    static void cover(int order, const Each& each)
    {
        cover_triangle(order, 8, 4, [&](const triangle_squares& s) {
            for (int q = 0; q < s.count; ++q) {
                for (int i = 0; i < s.rows; ++i) {
                    for (int j = 0; j < s.columns; ++j) {
                        each(s.row + q * s.to_next + i, s.column + q * s.to_next + j);
                    }
                }
            }
        });
    }

    matrix& d_a;
    const int n;
    const orders d_orders;
    const int d_columns;
    matrix d_panels[2], d_inverses[2], d_weighed;
    matrix d_strips[2], d_weighed_strips[2], d_eliminated[2];
    bool d_begun = false;
    bool d_strip_awaited = true;
};

double largest_error(int n, const plain_steps::orders& orders)
{
    std::mt19937 engine(n);
    std::normal_distribution<double> normal;
    matrix a(size_t(n) * n, NAN);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            a[i * n + j] = normal(engine) / std::sqrt(n);
        }
        a[i * n + i] = 4;
    }
    const auto expected = plain_steps::inverse(a, n, n);
    plain_steps steps(a, n, orders);
    const int sign = symmetric_schedule<plain_steps>(steps).invert(0, n);
    double error = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            const double difference =
                std::fabs(sign * a[i * n + j] - expected[i * n + j]);
            error = difference <= error ? error : difference; // NaN stays
        }
    }
    BOOST_TEST(std::fabs(steps.flops / n / n / n - 1) < 1e-12);
    BOOST_TEST(steps.all_awaited());
    return error;
}

} // namespace

BOOST_AUTO_TEST_CASE(panels_and_halves_invert)
{
    for (const int n : { 1, 4, 7, 8, 9, 16, 33, 61, 100 }) {
        BOOST_TEST_CONTEXT("order " << n)
        {
            BOOST_TEST(largest_error(n, { n, 0, 8 }) < 1e-13); // panels alone
            BOOST_TEST(largest_error(n, { n, 0, 8, true }) < 1e-13);
            BOOST_TEST(largest_error(n, { 20, 0, 8 }) < 1e-13);  // halves, then panels
            BOOST_TEST(largest_error(n, { 0, 12, 4 }) < 1e-13);  // halves, then leaves
            BOOST_TEST(largest_error(n, { 20, 0, 32 }) < 1e-13); // a panel alone
            BOOST_TEST(largest_error(n, { n, 0, 8, true, 16 }) < 1e-13); // groups
            BOOST_TEST(largest_error(n, { n, 0, 4, true, 16, 8 }) < 1e-13);
            BOOST_TEST(largest_error(n, { 40, 0, 4, true, 12, 20 }) < 1e-13);
        }
    }
}

BOOST_AUTO_TEST_CASE(squares_cover_a_lower_triangle_once)
{
    for (int order = 1; order < 80; ++order) {
        for (const int smallest : { 4, 8, 100 }) {
            std::vector<int> times(order * order);
            cover_triangle(order, smallest, 4, [&](const triangle_squares& s) {
                for (int q = 0; q < s.count; ++q) {
                    for (int i = 0; i < s.rows; ++i) {
                        for (int j = 0; j < s.columns; ++j) {
                            const int row = s.row + q * s.to_next + i;
                            const int column = s.column + q * s.to_next + j;
                            BOOST_REQUIRE(row < order && column < order);
                            ++times[row * order + column];
                        }
                    }
                }
            });
            for (int i = 0; i < order; ++i) {
                for (int j = 0; j < order; ++j) {
                    BOOST_REQUIRE(times[i * order + j] <= 1);
                    BOOST_REQUIRE(j > i || times[i * order + j] == 1);
                }
            }
        }
    }
}
