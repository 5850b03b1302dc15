/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_blas.cuh"
#include "kernels/common/cuda_solver.cuh"
#include "kernels/symmetric/cuda/passes.cuh"
#include "kernels/symmetric/cuda/workspace.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

/*!
 * \brief Inverts one large symmetric matrix by the factorisations of cuSOLVER, if the
 * faster algorithm was not good enough. Matrices of E, arithmetic in W.
 */
template <typename E, typename W>
class symmetric_factors
{
public:
    //! \throws backend_unavailable without cuSOLVER
    symmetric_factors(int order, int stride)
        : n(order), m(stride), d_solver(cuda_solver::make()),
          d_elements(d_solver->template workspace<W>(m, m)),
          d_eigen_elements(d_solver->template eigen_workspace<W>(n, m))
    {
    }

    //! Takes the memory. `work` is (m, m), and belongs to the caller between calls.
    void take(workspace_pieces& pieces, device_matrix<W> work)
    {
        d_work = { work.data, work.stride };
        d_spare = { pieces.take<W>(size_t(m) * m), m };
        d_pivots = pieces.take<int>(m);
        d_info = pieces.take<int>(2);
        // by_eigenvectors() holds the inverse here too.
        const size_t eigen = std::max(d_eigen_elements, size_t(m) * m);
        d_space = pieces.take<W>(std::max(d_elements, d_eigen_elements ? eigen : 0));
        d_values = pieces.take<real_of<W>>(m);
    }

    void begin(cuda_blas& blas, cudaStream_t stream)
    {
        d_blas = &blas;
        d_stream = stream;
    }

    //! Inverts by LU factors with partial pivoting; false if a pivot is zero. The error
    //! of each column is small. With a bad condition, the lower triangle alone may not be
    //! good.
    bool general(device_matrix<const E> a, device_matrix<E> x, unsigned* state)
    {
        load(a, d_work);
        set_identity<W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(d_spare, n);
        cuda_check_launch("symmetric_inverse: set_identity");
        d_solver->template invert<W>(
            d_work.data, n, m, d_spare.data, d_space, d_pivots, d_info, d_stream);
        store(d_spare, x, state);
        return read(d_info) == 0;
    }

    //! Inverts by Cholesky factors. \returns 0, or the order of the first leading minor
    //! that is not positive
    int definite(device_matrix<const E> a, device_matrix<E> x, unsigned* state)
    {
        load(a, d_work);
        d_solver->template invert_definite<W>(
            d_work.data, n, m, d_space, d_elements, d_info, d_stream);
        store(d_work, x, state);
        return read(d_info);
    }

    //! Whether by_eigenvectors() is possible. cuSOLVER can not count the bytes of a
    //! workspace that is too large.
    bool has_eigenvectors() const { return d_eigen_elements > 0; }

    //! X = V^H diag(1 / values) V: good with any condition, but slow.
    void by_eigenvectors(device_matrix<const E> a, device_matrix<E> x, unsigned* state)
    {
        load(a, d_work);
        d_solver->take_eigenvectors(
            d_work.data, n, m, d_values, d_space, d_eigen_elements, d_info, d_stream);
        divide_rows<W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(
            { d_work.data, m }, n, d_values, d_spare);
        cuda_check_launch("symmetric_inverse: divide_rows");
        multiply(1, d_work, cuda_blas::as::adjoint, d_spare, 0, { d_space, m });
        store({ d_space, m }, x, state);
    }

    //! The lower triangle of X <- X + X (I - A X). E must be W.
    void take_newton_step(device_matrix<const E> a, device_matrix<E> x, unsigned* state)
    {
        set_identity<W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(d_work, n);
        cuda_check_launch("symmetric_inverse: set_identity");
        load(a, d_spare);
        multiply(-1, d_spare, cuda_blas::as::stored, x, 1, d_work);
        load({ x.data, x.stride }, d_spare);
        multiply(1, d_spare, cuda_blas::as::stored, d_work, 1, x);
        store(x, x, state);
    }

    //! (m, m), free between calls.
    W* spare() const { return d_spare.data; }

private:
    void multiply(double alpha,
                  device_matrix<W> left,
                  cuda_blas::as left_as,
                  device_matrix<W> right,
                  double beta,
                  device_matrix<W> c)
    {
        d_blas->multiply<W>(alpha,
                            { left.data, left.stride },
                            left_as,
                            { right.data, right.stride },
                            cuda_blas::as::stored,
                            beta,
                            { c.data, c.stride },
                            n,
                            n,
                            n);
    }
    void load(device_matrix<const E> a, device_matrix<W> to)
    {
        copy_matrix<E, W><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(
            { a.data, a.stride }, n, { to.data, to.stride });
        cuda_check_launch("symmetric_inverse: copy_matrix");
    }
    void store(device_matrix<W> from, device_matrix<E> x, unsigned* state)
    {
        write_both<W, E><<<tiles_of(n, n), tile_block(), 0, d_stream>>>(
            { from.data, from.stride }, n, { x.data, x.stride }, 1, nullptr, state);
        cuda_check_launch("symmetric_inverse: write_both");
    }
    int read(const int* from)
    {
        int value = 0;
        cuda_check(
            cudaMemcpyAsync(&value, from, sizeof value, cudaMemcpyDeviceToHost, d_stream),
            "cudaMemcpyAsync");
        cuda_check(cudaStreamSynchronize(d_stream), "symmetric_inverse: factors");
        return value;
    }

    const int n, m;
    const std::unique_ptr<cuda_solver> d_solver;
    const size_t d_elements, d_eigen_elements;
    device_matrix<W> d_work = {}, d_spare = {};
    int *d_pivots = nullptr, *d_info = nullptr;
    W* d_space = nullptr;
    real_of<W>* d_values = nullptr;
    cuda_blas* d_blas = nullptr;
    cudaStream_t d_stream = nullptr;
};

} // namespace
} // namespace gr::cudaphy::kernels
