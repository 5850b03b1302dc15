/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_blas.cuh"
#include "kernels/symmetric/cuda/block.cuh"
#include "kernels/symmetric/cuda/small_unknown.cuh"
#include "kernels/symmetric/cuda/streams.cuh"
#include "kernels/symmetric/cuda/strips.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"
#include <functional>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

/*!
 * \brief The steps of symmetric_schedule on a device, for one large matrix or for a batch
 * of medium matrices. In a batch one thread block inverts one leaf.
 *
 * The next block of a large matrix is inverted on a stream of its own, beside the update
 * of the matrix. The inversion is submitted before the update, so that it finds free
 * multiprocessors. If tensor cores take W, that stream also updates the rows of the next
 * block first. All other work then runs beside it, and the update leaves out the elements
 * that the next panel overwrites.
 *
 * No step is captured in a graph: a step takes several times as long as its launches.
 */
template <typename W>
class cuda_steps
{
    using tuning = symmetric_tuning::steps;

public:
    //! Above this order halves are faster, because their products have full rank and
    //! touch the result once. But the explicit inverse of a half costs digits (a factor
    //! of 3 to 30 at order 4096). So panels invert every matrix with shifts, above this
    //! order in groups. A lower limit costs digits, so it is no tuning.
    static constexpr int most_by_panels = 4608;
    //! Orders are padded to a multiple of a step of tensor_product(). butterfly_tables
    //! needs a multiple of 8.
    static constexpr int order_multiple = 16;
    static_assert(order_multiple % symmetric_tuning::tensor::strip_tile::step == 0);

    cuda_steps(int device, bool many, bool positive, bool by_panels)
        : d_many(many), d_positive(positive),
          d_most_by_panels(by_panels ? std::numeric_limits<int>::max() : most_by_panels)
    {
        if (many) {
            return;
        }
        d_blocks.prepare(device);
        d_columns = d_blocks.columns();
        if constexpr (has_tensors) {
            d_by_tensors = d_tensors.prepare(device);
            d_by_groups = d_by_tensors && by_panels;
        }
        d_sides = std::make_unique<panel_streams>();
    }

    //! Takes the memory for matrices of order m.
    void take(workspace_pieces& pieces, int m)
    {
        if (d_many) {
            return;
        }
        const size_t rows = std::min(m, d_by_groups ? most_by_panels : d_most_by_panels);
        for (auto& panel : d_panels) {
            panel = { pieces.take<W>(rows * d_columns), d_columns };
        }
        d_weighed = { pieces.take<W>(rows * d_columns), d_columns };
        for (auto& inverse : d_inverses) {
            inverse = { pieces.take<W>(size_t(d_columns) * d_columns), d_columns };
        }
        for (auto& corner : d_ahead) {
            corner = { pieces.take<W>(size_t(d_columns) * d_columns), d_columns };
        }
        d_blocks.take(pieces);
        if (const int columns = group_columns(m)) {
            d_strips.take(pieces, m, columns);
        }
    }

    //! Later steps shift small pivots of panels, and append them to `shifts`.
    void keep_shifts(const pivot_shifts<W>& shifts) { d_shifts = shifts; }

    //! Later steps are for these matrices.
    //! \param failed  the state of a matrix of unknown definiteness that has no pivot
    //! \param done    takes the number of operations after each step
    void begin(cuda_blas& blas,
               cudaStream_t stream,
               device_matrix<W> work,
               int batch,
               unsigned* states,
               int failed,
               std::function<void(double)> done)
    {
        d_blas = &blas;
        d_stream = stream;
        d_work = work;
        d_batch = batch;
        d_states = states;
        d_failed = failed;
        d_done = std::move(done);
    }

    int largest_of_panels() const { return d_many ? 0 : d_most_by_panels; }
    int largest_leaf() const
    {
        return !d_many ? 0 : d_positive ? most_small_order<W> : tuning::unknown_leaf;
    }
    int multiple() const { return order_multiple; }
    int panel_columns() const { return d_columns; }
    int group_columns(int order) const
    {
        return d_by_groups && order > most_by_panels ? tuning::panels_a_group * d_columns
                                                     : 0;
    }

    void invert_leaf(int first, int order)
    {
        const auto a = block(first, first);
        const dim3 grid(1, 1, d_batch);
        if (d_positive) {
            invert_small_definite<W, W, most_small_parts<W>>
                <<<grid, small_threads, 0, d_stream>>>(
                    constant(a), a, order, first, nullptr, d_states);
        } else {
            constexpr int parts = tuning::unknown_leaf / small_side;
            invert_small_unknown<W, W, parts><<<grid, small_threads, 0, d_stream>>>(
                constant(a), a, order, d_failed, d_states);
        }
        cuda_check_launch("symmetric_inverse: invert_small");
    }

    void mirror(int first, int order, int sign)
    {
        const auto a = block(first, first);
        write_both<W, W><<<tiles_of(order, order, d_batch), tile_block(), 0, d_stream>>>(
            constant(a), order, a, sign, nullptr, nullptr);
        cuda_check_launch("symmetric_inverse: write_both");
    }

    void product(int first, int half, int order)
    {
        multiply(1,
                 block(first, first),
                 as::stored,
                 block(first + half, first),
                 as::adjoint,
                 0,
                 block(first, first + half),
                 half,
                 order - half,
                 half);
    }
    void complement(int first, int half, int order)
    {
        subtract(block(first + half, first),
                 block(first, first + half),
                 as::stored,
                 block(first + half, first + half),
                 order - half,
                 half);
    }
    void corner(int first, int half, int order)
    {
        multiply(-1,
                 block(first + half, first + half),
                 as::stored,
                 block(first, first + half),
                 as::adjoint,
                 0,
                 block(first + half, first),
                 order - half,
                 half,
                 order - half);
    }
    void correct(int first, int half, int order)
    {
        subtract(block(first, first + half),
                 block(first + half, first),
                 as::stored,
                 block(first, first),
                 half,
                 order - half);
    }

    void gather(int which, int first, int order, symmetric_panel panel)
    {
        if (advances_beside() && panel.first) {
            // The inversion of the next block gets its multiprocessors while this pass
            // runs, before an update or products take all of them.
            d_sides->begun.await(d_stream);
        }
        gather_panel<W><<<tiles_of(order, panel.columns), tile_block(), 0, d_stream>>>(
            constant(block(first, first)), order, panel, d_panels[which]);
        cuda_check_launch("symmetric_inverse: gather_panel");
    }

    void invert_block(int which, int first, symmetric_panel panel, bool aside)
    {
        if (aside) {
            go_aside();
        }
        const auto rows = part(d_panels[which], panel.first, 0);
        invert(rows.data, which, first, panel, aside ? d_sides->urgent.get() : d_stream);
        if (aside) {
            d_sides->inverted.set(d_sides->urgent.get());
        }
    }
    bool look_ahead(int which, int first, symmetric_panel panel, symmetric_panel next)
    {
        if constexpr (has_tensors) {
            if (d_by_tensors) {
                go_aside();
                const auto aside = d_sides->urgent.get();
                const int at = first + next.first;
                const auto rows = constant(part(d_panels[which], next.first, 0));
                d_tensors.multiply_corner(1,
                                          rows,
                                          constant(d_inverses[which]),
                                          {},
                                          d_ahead[0],
                                          next.columns,
                                          panel.columns,
                                          panel.columns,
                                          aside);
                d_tensors.multiply_corner(-1,
                                          constant(d_ahead[0]),
                                          rows,
                                          constant(block(at, at)),
                                          d_ahead[1],
                                          next.columns,
                                          next.columns,
                                          panel.columns,
                                          aside);
                d_sides->begun.set(aside);
                invert(d_ahead[1].data, 1 - which, first, next, aside);
                d_sides->inverted.set(aside);
                return true;
            }
        }
        return false;
    }
    void await_block()
    {
        d_sides->inverted.await(d_stream);
        if (advances_beside()) {
            d_sides->advanced.await(d_stream);
        }
    }

    void weigh(int which, int order, symmetric_panel panel)
    {
        // P = P^H.
        multiply_strip(1,
                       d_panels[which],
                       d_inverses[which],
                       false,
                       d_weighed,
                       order,
                       panel.columns,
                       panel.columns,
                       d_stream);
    }
    void advance(int which, int order, symmetric_panel panel, symmetric_panel next)
    {
        const auto to = d_panels[1 - which];
        const auto stream = panel_stream();
        if (advances_beside()) {
            d_sides->panel.follow(d_stream);
        }
        multiply_strip(-1,
                       d_weighed,
                       part(d_panels[which], next.first, 0),
                       true,
                       to,
                       order,
                       next.columns,
                       panel.columns,
                       stream);
        transpose<W><<<tiles_of(panel.columns, next.columns), tile_block(), 0, stream>>>(
            constant(part(d_weighed, next.first, 0)),
            panel.columns,
            next.columns,
            part(to, panel.first, 0));
        cuda_check_launch("symmetric_inverse: transpose");
        if (advances_beside()) {
            d_sides->advanced.set(stream);
        }
    }
    void
    update(int which, int first, int order, symmetric_panel panel, symmetric_panel next)
    {
        if constexpr (has_tensors) {
            if (d_by_tensors) {
                d_sides->begun.await(d_stream);
                return d_tensors.subtract_triangle(
                    constant(d_weighed),
                    constant(d_panels[which]),
                    block(first, first),
                    order,
                    panel.columns,
                    { panel.first, next.first + next.columns },
                    d_stream);
            }
        }
        subtract(d_weighed,
                 d_panels[which],
                 as::adjoint,
                 block(first, first),
                 order,
                 panel.columns);
    }
    void scatter(int which, int first, int order, symmetric_panel panel)
    {
        scatter_panel<W><<<tiles_of(order, panel.columns), tile_block(), 0, d_stream>>>(
            constant(d_weighed),
            constant(d_inverses[which]),
            -1,
            order,
            panel,
            block(first, first));
        cuda_check_launch("symmetric_inverse: scatter_panel");
    }

    void gather_strip(int which, int first, int order, symmetric_panel group)
    {
        if constexpr (has_tensors) {
            d_strips.gather(which, constant(block(first, first)), order, group, d_stream);
            go_aside();
        }
    }
    void eliminate_panel(
        int which, int first, int order, symmetric_panel group, symmetric_panel panel)
    {
        if constexpr (has_tensors) {
            const auto p = d_inverses[0], own = d_ahead[0];
            d_strips.copy_own(which, group, panel, own, d_sides->urgent.get());
            invert(own.data, 0, first, panel, d_sides->urgent.get());
            d_strips.eliminate(which, order, group, panel, p, d_sides->urgent.get());
        }
    }
    void advance_strip(int which, int order, symmetric_panel group, symmetric_panel next)
    {
        d_strips.advance(which, order, group, next, d_sides->urgent.get());
    }
    void await_strip()
    {
        d_sides->inverted.set(d_sides->urgent.get());
        d_sides->inverted.await(d_stream);
    }
    void update_outside(
        int which, int first, int order, symmetric_panel group, symmetric_panel next)
    {
        if constexpr (has_tensors) {
            const int end = next.first + next.columns, rest = order - end;
            const auto w = [&](int row) { return d_strips.weighed(which, row); };
            const auto panels = [&](int row) { return d_strips.panels(which, row); };
            for (const auto& [at, rows] : { std::pair(0, group.first), { end, rest } }) {
                if (rows > 0) {
                    const auto a = block(first + at, first + at);
                    subtract(w(at), panels(at), as::adjoint, a, rows, group.columns);
                }
            }
            if (group.first > 0 && rest > 0) {
                multiply(-1,
                         w(end),
                         as::stored,
                         panels(0),
                         as::adjoint,
                         1,
                         block(first + end, first),
                         rest,
                         group.first,
                         group.columns);
            }
        }
    }
    void scatter_strip(int which, int first, int order, symmetric_panel group)
    {
        if constexpr (has_tensors) {
            d_strips.scatter(which, order, group, block(first, first), d_stream);
        }
    }

    void done(double flops) { d_done(flops); }

    //! The lower triangle of c -= left right, of order `order`.
    //! \param right_as  whether `right` or its adjoint is the factor
    void subtract(device_matrix<W> left,
                  device_matrix<W> right,
                  cuda_blas::as right_as,
                  device_matrix<W> c,
                  int order,
                  int inner)
    {
        if (d_many) {
            multiply(-1, left, as::stored, right, right_as, 1, c, order, order, inner);
            return;
        }
        const int smallest = tuning::smallest_square(order);
        cover_triangle(order, smallest, order_multiple, [&](const triangle_squares& s) {
            auto from = part(left, s.row, 0);
            auto by = right_as == as::adjoint ? part(right, s.column, 0)
                                              : part(right, 0, s.column);
            auto to = part(c, s.row, s.column);
            from.to_next = size_t(s.to_next) * from.stride;
            by.to_next = size_t(s.to_next) * (right_as == as::adjoint ? by.stride : 1);
            to.to_next = size_t(s.to_next) * (to.stride + 1);
            d_blas->multiply<W>(-1,
                                blas(from),
                                as::stored,
                                blas(by),
                                right_as,
                                1,
                                blas(to),
                                s.rows,
                                s.columns,
                                inner,
                                s.count);
        });
    }

    //! c = alpha left right + beta c for every matrix.
    void multiply(double alpha,
                  device_matrix<W> left,
                  cuda_blas::as left_as,
                  device_matrix<W> right,
                  cuda_blas::as right_as,
                  double beta,
                  device_matrix<W> c,
                  int rows,
                  int columns,
                  int inner)
    {
        d_blas->multiply<W>(alpha,
                            blas(left),
                            left_as,
                            blas(right),
                            right_as,
                            beta,
                            blas(c),
                            rows,
                            columns,
                            inner,
                            d_batch);
    }

private:
    using as = cuda_blas::as;
    static constexpr bool has_tensors = std::is_same_v<W, double>;

    //! c = sign a b^H, or c += sign a b^H if `adds`, for few columns.
    void multiply_strip(double sign,
                        device_matrix<W> a,
                        device_matrix<W> b,
                        bool adds,
                        device_matrix<W> c,
                        int rows,
                        int columns,
                        int inner,
                        cudaStream_t stream)
    {
        if constexpr (has_tensors) {
            if (d_by_tensors) {
                const auto from = adds ? constant(c) : device_matrix<const W>{};
                return d_tensors.multiply_strip(sign,
                                                constant(a),
                                                constant(b),
                                                from,
                                                c,
                                                rows,
                                                columns,
                                                inner,
                                                stream);
            }
        }
        multiply(sign, a, as::stored, b, as::adjoint, adds, c, rows, columns, inner);
    }

    //! Whether the next panel is updated beside the update of the matrix. That update
    //! then waits for the inversion of the panel's block, which takes longer with shifts.
    bool advances_beside() const { return d_by_tensors && d_positive; }
    cudaStream_t panel_stream() const
    {
        return advances_beside() ? d_sides->panel.get() : d_stream;
    }

    //! Later work of the urgent stream waits for all work submitted so far.
    void go_aside() { d_sides->urgent.follow(d_stream); }
    //! P of the panel, given its own rows.
    void invert(
        const W* rows, int which, int first, symmetric_panel panel, cudaStream_t stream)
    {
        d_blocks.invert(rows,
                        panel.columns,
                        d_inverses[which].data,
                        d_positive,
                        first + panel.first,
                        d_states,
                        d_shifts,
                        stream);
    }

    static cuda_blas::matrix<W> blas(device_matrix<W> m)
    {
        return { m.data, m.stride, m.to_next };
    }
    static device_matrix<W> part(device_matrix<W> m, int row, int column)
    {
        return { m.data + size_t(row) * m.stride + column, m.stride, m.to_next };
    }
    device_matrix<W> block(int row, int column) const
    {
        return part(d_work, row, column);
    }

    const bool d_many;
    const bool d_positive;
    const int d_most_by_panels;
    block_inverter<W> d_blocks;
    tensor_products d_tensors;
    tensor_strips d_strips;
    bool d_by_tensors = false;
    bool d_by_groups = false;
    int d_columns = 0;                      //!< of a panel
    std::unique_ptr<panel_streams> d_sides; //!< of one large matrix

    device_matrix<W> d_panels[2] = {};
    device_matrix<W> d_weighed = {};
    device_matrix<W> d_inverses[2] = {};
    device_matrix<W> d_ahead[2] = {}; //!< the next block's W, and the next block
    pivot_shifts<W> d_shifts = {};

    cuda_blas* d_blas = nullptr;
    cudaStream_t d_stream = nullptr;
    device_matrix<W> d_work = {};
    int d_batch = 1;
    unsigned* d_states = nullptr;
    int d_failed = 0;
    std::function<void(double)> d_done;
};

} // namespace
} // namespace gr::cudaphy::kernels
