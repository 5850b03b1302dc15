/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Inverts a general matrix on a device by LU factors with partial pivoting, and a
 * definite one by Cholesky's; finds a symmetric one's eigenvectors. Through cuSOLVER,
 * which is loaded at run time.
 *
 * E is float, double, float2 or double2.
 */
class cuda_solver
{
public:
    //! For the device that is current, which must be so again at each call.
    //! \throws backend_unavailable if cuSOLVER can't be loaded.
    static std::unique_ptr<cuda_solver> make();
    virtual ~cuda_solver() = default;

    //! Elements of workspace for the order n, by LU or Cholesky's factors.
    template <typename E>
    size_t workspace(int n, int stride);

    //! x = a^-1, where x comes in as the identity; a is overwritten. pivots: n; info, 2:
    //! 0, or the first pivot that is zero, on the device. Both are row-major, or both
    //! column-major: it is the same.
    template <typename E>
    void invert(E* a,
                int n,
                int stride,
                E* x,
                E* workspace,
                int* pivots,
                int* info,
                cudaStream_t stream);

    //! The lower triangle of a positive definite matrix becomes that of its inverse.
    //! info: 0, or the order of the first leading minor that is not positive. Its
    //! workspace is counted above.
    template <typename E>
    void invert_definite(E* a,
                         int n,
                         int stride,
                         E* workspace,
                         size_t elements,
                         int* info,
                         cudaStream_t stream);

    //! Elements of workspace for eigenvectors; 0 where cuSOLVER can't count them.
    template <typename E>
    size_t eigen_workspace(int n, int stride);

    //! a = V^H diag(values) V of a real symmetric or Hermitian matrix: row k of a becomes
    //! row k of V. The values rise. info: 0, or that it did not converge.
    template <typename E, typename R>
    void take_eigenvectors(E* a,
                           int n,
                           int stride,
                           R* values,
                           E* workspace,
                           size_t elements,
                           int* info,
                           cudaStream_t stream);

protected:
    cuda_solver() = default;
    void* d_handle = nullptr;
};

} // namespace gr::cudaphy
