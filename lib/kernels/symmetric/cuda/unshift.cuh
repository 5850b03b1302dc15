/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/steps.cuh"
#include <algorithm>
#include <vector>

namespace gr::cudaphy::kernels {
namespace {

/*!
 * \brief Inverts one large symmetric matrix by symmetric_schedule with shifts of small
 * pivots, and removes the shifts by Woodbury's formula.
 *
 * The formula inverts a matrix with one row for each shift, again symmetric and of
 * unknown definiteness. The same algorithm inverts it, with shifts of its own, level by
 * level, until one thread block can invert the rest. The matrix of the second level has
 * about a twelfth of the order. Its diagonal is nearly zero, because the shifted pivots
 * are. So a fifth of its rows need shifts too. Without these the digits would be lost
 * after all.
 */
template <typename W>
class shifting_inverse
{
public:
    //! Takes the memory for matrices of orders up to m.
    void take(workspace_pieces& pieces, int m)
    {
        d_levels.clear();
        do {
            pivot_shifts<W> shifts;
            shifts.most = d_levels.empty() ? m / 4 : m / 4 * 3;
            shifts.count = pieces.take<int>(1);
            shifts.rows = pieces.take<int>(shifts.most);
            shifts.amounts = pieces.take<real_of<W>>(shifts.most);
            d_levels.push_back(shifts);
            m = rounded(shifts.most);
        } while (m > most_by_block);
        d_state = pieces.take<unsigned>(1);
    }

    //! \param spare  m^2 elements
    void begin(cuda_blas& blas, cudaStream_t stream, cuda_steps<W>& steps, W* spare)
    {
        d_blas = &blas;
        d_stream = stream;
        d_steps = &steps;
        d_spare = spare;
    }

    //! The lower triangle of x becomes that of its inverse times the sign that is
    //! returned.
    int invert(device_matrix<W> x, int order, const std::function<void(double)>& done)
    {
        return invert(x, order, done, 0, d_spare);
    }

private:
    //! The largest order that one thread block inverts, also with pivots of two rows.
    //! Panels would shift half of the rows of so small a matrix, and could lose all of
    //! its digits.
    static constexpr int most_by_block = most_small_order<W>;

    static int rounded(int order)
    {
        constexpr int multiple = cuda_steps<W>::order_multiple;
        return (order + multiple - 1) / multiple * multiple;
    }

    int invert(device_matrix<W> x,
               int order,
               const std::function<void(double)>& done,
               size_t level,
               W* spare)
    {
        const auto& shifts = d_levels[level];
        cuda_check(cudaMemsetAsync(shifts.count, 0, sizeof(int), d_stream),
                   "cudaMemsetAsync");
        d_steps->keep_shifts(shifts);
        d_steps->begin(*d_blas, d_stream, x, 1, d_state, order, done);
        const int sign = symmetric_schedule<cuda_steps<W>>(*d_steps).invert(0, order);
        int count = 0;
        cuda_check(
            cudaMemcpyAsync(
                &count, shifts.count, sizeof count, cudaMemcpyDeviceToHost, d_stream),
            "cudaMemcpyAsync");
        cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse: shifts");
        if (count > 0) {
            take_back(x, order, sign, std::min(count, shifts.most), level, spare);
        }
        return sign;
    }

    //! Removes the shifts. `spare` suffices: r shifts of n rows take 2 n r + r^2
    //! elements. The first level has at most n / 4 shifts, and later ones at most 3 / 4
    //! of their rows. All levels take 0.86 n^2.
    void
    take_back(device_matrix<W> x, int order, int sign, int count, size_t level, W* spare)
    {
        const auto& shifts = d_levels[level];
        const int small_order = rounded(count);
        const device_matrix<W> parts{ spare, order };
        const device_matrix<W> weighed{ parts.data + size_t(count) * order, order };
        const device_matrix<W> small{ weighed.data + size_t(count) * order, small_order };
        W* const left = small.data + size_t(small_order) * small_order;
        gather_shifted<W><<<tiles_of(count, order), tile_block(), 0, d_stream>>>(
            constant(x), order, sign, shifts, count, parts);
        cuda_check_launch("symmetric_inverse: gather_shifted");
        weigh_shifted<W>
            <<<tiles_of(small_order, small_order), tile_block(), 0, d_stream>>>(
                constant(parts), shifts, count, small, small_order);
        cuda_check_launch("symmetric_inverse: weigh_shifted");
        const auto inverse = inverse_of(small, count, small_order, level, left);
        const auto stored = cuda_blas::as::stored;
        d_blas->multiply<W>(1,
                            { inverse.data, inverse.stride },
                            stored,
                            { parts.data, order },
                            stored,
                            0,
                            { weighed.data, order },
                            count,
                            order,
                            count);
        const int smallest = symmetric_tuning::steps::smallest_square(order);
        cover_triangle(order,
                       smallest,
                       cuda_steps<W>::order_multiple,
                       [&](const triangle_squares& s) {
                           const auto to_next = size_t(s.to_next);
                           W* to = x.data + size_t(s.row) * x.stride + s.column;
                           d_blas->multiply<W>(
                               -sign,
                               { parts.data + s.row, order, to_next },
                               cuda_blas::as::adjoint,
                               { weighed.data + s.column, order, to_next },
                               stored,
                               1,
                               { to, x.stride, to_next * (x.stride + 1) },
                               s.rows,
                               s.columns,
                               count,
                               s.count);
                       });
    }

    //! The inverse, both triangles. If there is none, the shifts stay, and the probes of
    //! the result will detect that.
    device_matrix<W>
    inverse_of(device_matrix<W> small, int count, int order, size_t level, W* spare)
    {
        if (count <= most_by_block) {
            const device_matrix<W> inverse{ spare, order };
            cuda_check(
                cudaMemsetAsync(spare, 0, sizeof(W) * size_t(order) * order, d_stream),
                "cudaMemsetAsync");
            invert_small<W>(
                constant(small), inverse, count, false, nullptr, d_state, 1, d_stream);
            return inverse;
        }
        const int sign = invert(
            small, order, [](double) {}, level + 1, spare);
        write_both<W, W><<<tiles_of(order, order), tile_block(), 0, d_stream>>>(
            constant(small), order, small, sign, nullptr, nullptr);
        cuda_check_launch("symmetric_inverse: write_both");
        return small;
    }

    std::vector<pivot_shifts<W>> d_levels;
    unsigned* d_state = nullptr; //!< of the levels; not a caller's matrix
    cuda_blas* d_blas = nullptr;
    cudaStream_t d_stream = nullptr;
    cuda_steps<W>* d_steps = nullptr;
    W* d_spare = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
