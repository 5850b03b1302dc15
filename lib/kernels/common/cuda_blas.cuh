/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Products of dense row-major matrices on a device, by cuBLAS, which is loaded at
 * run time.
 *
 * E is float, double, float2 or double2; the last two are complex. Calls return before
 * the device has finished; nothing is allocated but in make().
 */
class cuda_blas
{
public:
    //! A factor as it is stored, or its conjugate transpose.
    enum class as { stored, adjoint };

    //! A matrix in memory, and for a batch what is between two of them, in elements.
    template <typename E>
    struct matrix {
        E* data;
        int stride; //!< from row to row
        size_t to_next = 0;

        matrix at(size_t row, size_t column) const
        {
            return { data + row * stride + column, stride, to_next };
        }
    };

    //! For the device that is current, which must be so again at each call.
    //! \throws backend_unavailable if cuBLAS can't be loaded.
    static std::unique_ptr<cuda_blas> make();
    virtual ~cuda_blas() = default;

    //! What cuBLAS is given to work in, as its manual advises for the largest chips.
    static constexpr size_t workspace_bytes = size_t{ 32 } << 20;

    //! Calls that follow go to this stream and use this workspace, aligned to 256 bytes.
    virtual void begin(cudaStream_t stream, void* workspace) = 0;

    //! c = alpha left right + beta c for a batch, c of shape (rows, columns), the inner
    //! index running to `inner`.
    template <typename E>
    void multiply(double alpha,
                  const matrix<E>& left,
                  as left_as,
                  const matrix<E>& right,
                  as right_as,
                  double beta,
                  const matrix<E>& c,
                  int rows,
                  int columns,
                  int inner,
                  int batch = 1);

protected:
    enum class element { f32, f64, c32, c64 };
    struct call {
        element type;
        double alpha, beta;
        const void *left, *right;
        void* c;
        int left_stride, right_stride, c_stride;
        size_t left_to_next, right_to_next, c_to_next;
        as left_as, right_as;
        int rows, columns, inner, batch;
    };
    virtual void multiply(const call&) = 0;
};

} // namespace gr::cudaphy
