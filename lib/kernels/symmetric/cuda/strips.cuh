/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/panels.cuh"
#include "kernels/symmetric/cuda/tensor.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"

namespace gr::cudaphy::kernels {
namespace {

/*!
 * \brief The strips of symmetric_schedule on a device whose tensor cores take float64.
 *
 * For each of two groups of panels there are three strips:
 * - d_panels: each panel k just before its elimination (A_k). Panels that are not
 *   eliminated yet are updated here.
 * - d_weighed: W = A_k P.
 * - d_eliminated: the columns of eliminated panels, which are updated here.
 */
class tensor_strips
{
public:
    using matrix = device_matrix<double>;

    //! Takes the memory for matrices of up to `rows` rows and groups of `columns`
    //! columns.
    void take(workspace_pieces& pieces, size_t rows, int columns)
    {
        for (auto* kind : { &d_panels, &d_weighed, &d_eliminated }) {
            for (auto& strip : *kind) {
                strip = { pieces.take<double>(rows * columns), columns };
            }
        }
    }

    //! A_k and W of the eliminated panels, from row `row` on.
    matrix panels(int which, int row) const { return part(d_panels[which], row, 0); }
    matrix weighed(int which, int row) const { return part(d_weighed[which], row, 0); }

    void gather(int which,
                device_matrix<const double> a,
                int order,
                symmetric_panel group,
                cudaStream_t stream)
    {
        gather_panel<double><<<tiles_of(order, group.columns), tile_block(), 0, stream>>>(
            a, order, group, d_panels[which]);
        cuda_check_launch("symmetric_inverse: gather_panel");
    }

    //! Copies the panel's own rows to `to`.
    void copy_own(int which,
                  symmetric_panel group,
                  symmetric_panel panel,
                  matrix to,
                  cudaStream_t stream)
    {
        const auto own = part(d_panels[which], panel.first, panel.first - group.first);
        cuda_check(cudaMemcpy2DAsync(to.data,
                                     to.stride * sizeof(double),
                                     own.data,
                                     own.stride * sizeof(double),
                                     panel.columns * sizeof(double),
                                     panel.columns,
                                     cudaMemcpyDeviceToDevice,
                                     stream),
                   "cudaMemcpy2DAsync");
    }

    //! Eliminates a panel, given the inverse P of its own rows.
    void eliminate(int which,
                   int order,
                   symmetric_panel group,
                   symmetric_panel panel,
                   matrix p,
                   cudaStream_t stream)
    {
        const int at = panel.first - group.first, after = at + panel.columns;
        const auto own = part(d_panels[which], 0, at);
        const auto weighed = part(d_weighed[which], 0, at);
        // P is its own transpose.
        tensor_products::multiply_strip(1,
                                        constant(own),
                                        constant(p),
                                        {},
                                        weighed,
                                        order,
                                        panel.columns,
                                        panel.columns,
                                        stream);
        const auto change = [&](matrix strip, int from, int to) {
            if (from == to) {
                return;
            }
            const auto c = part(strip, 0, from);
            tensor_products::multiply_strip(-1,
                                            constant(weighed),
                                            constant(part(own, group.first + from, 0)),
                                            constant(c),
                                            c,
                                            order,
                                            to - from,
                                            panel.columns,
                                            stream);
            write_transposed(part(weighed, group.first + from, 0),
                             panel.columns,
                             to - from,
                             part(c, panel.first, 0),
                             stream);
        };
        change(d_panels[which], after, group.columns);
        write_eliminated<double>
            <<<tiles_of(order, panel.columns), tile_block(), 0, stream>>>(
                constant(weighed),
                constant(p),
                order,
                panel,
                part(d_eliminated[which], 0, at));
        cuda_check_launch("symmetric_inverse: write_eliminated");
        change(d_eliminated[which], 0, at);
    }

    //! Updates the strip of the group `next` by the elimination of `group`.
    void advance(int which,
                 int order,
                 symmetric_panel group,
                 symmetric_panel next,
                 cudaStream_t stream)
    {
        const auto c = d_panels[1 - which];
        tensor_products::multiply_strip(-1,
                                        constant(d_weighed[which]),
                                        constant(panels(which, next.first)),
                                        constant(c),
                                        c,
                                        order,
                                        next.columns,
                                        group.columns,
                                        stream);
        write_transposed(part(d_eliminated[which], next.first, 0),
                         group.columns,
                         next.columns,
                         part(c, group.first, 0),
                         stream);
    }

    void
    scatter(int which, int order, symmetric_panel group, matrix a, cudaStream_t stream)
    {
        const auto strip = constant(d_eliminated[which]);
        scatter_panel<double>
            <<<tiles_of(order, group.columns), tile_block(), 0, stream>>>(
                strip,
                constant(part(d_eliminated[which], group.first, 0)),
                1,
                order,
                group,
                a);
        cuda_check_launch("symmetric_inverse: scatter_panel");
    }

private:
    static matrix part(matrix m, int row, int column)
    {
        return { m.data + size_t(row) * m.stride + column, m.stride };
    }
    static void
    write_transposed(matrix from, int rows, int columns, matrix to, cudaStream_t stream)
    {
        transpose<double><<<tiles_of(rows, columns), tile_block(), 0, stream>>>(
            constant(from), rows, columns, to);
        cuda_check_launch("symmetric_inverse: transpose");
    }

    matrix d_panels[2] = {}, d_weighed[2] = {}, d_eliminated[2] = {};
};

} // namespace
} // namespace gr::cudaphy::kernels
