/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cuda/steps.cuh"
#include <algorithm>
#include <vector>

namespace gr::cudaphy::kernels {
namespace {

/*!
 * \brief Inverts one large symmetric matrix by symmetric_schedule, small pivots being
 * shifted, and takes the shifts back.
 *
 * What Woodbury's formula inverts for that, one row a shift, is symmetric and of unknown
 * definiteness again: it is inverted in the same way, with shifts of its own, until a
 * thread block can do what is left. The first is about a twelfth of the given one. Since
 * the pivots that were shifted nearly vanish, so does its diagonal, and a fifth of its
 * rows are shifted in turn; were they not, digits would be lost as without shifts.
 */
template <typename W>
class shifting_inverse
{
public:
    //! For matrices of orders to m.
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

    //! `spare`: m^2 elements, besides.
    void begin(cuda_blas& blas, cudaStream_t stream, cuda_steps<W>& steps, W* spare)
    {
        d_blas = &blas;
        d_stream = stream;
        d_steps = &steps;
        d_spare = spare;
    }

    //! The lower triangle of x becomes that of its inverse times what is returned.
    int invert(device_matrix<W> x, int order, const std::function<void(double)>& done)
    {
        return invert(x, order, done, 0, d_spare);
    }

private:
    //! Of one that a thread block inverts, with pivots of two rows, too: by panels, half
    //! of the rows being shifted again, so small a matrix may lose all of its digits.
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

    //! `spare` has room: r shifts of n rows take 2 n r + r^2, a quarter of the rows first
    //! and three quarters after that, in all 0.86 n^2.
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

    //! Whole. Where there is none, the shifts stay, and who probes the result will tell.
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
    unsigned* d_state = nullptr; //!< of no matrix that is given
    cuda_blas* d_blas = nullptr;
    cudaStream_t d_stream = nullptr;
    cuda_steps<W>* d_steps = nullptr;
    W* d_spare = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
