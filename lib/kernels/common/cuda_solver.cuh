/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Inverts a general matrix on a device by LU factors with partial pivoting,
 * through cuSOLVER, which is loaded at run time.
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

    //! Elements of workspace for the order n.
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

protected:
    cuda_solver() = default;
    void* d_handle = nullptr;
};

} // namespace gr::cudaphy
