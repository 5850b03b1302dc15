/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the pivot of an elimination step is chosen.
enum class pivoting {
    full,   //!< the element of largest modulus of the whole remaining matrix
    partial //!< the element of largest modulus of the remaining column
};

CUDAPHY_API pivoting pivoting_from_name(const std::string& name);

/*!
 * \brief Inverts a batch of small square matrices by Gauss-Jordan elimination, in place
 * of order N = 1..32.
 *
 * The algorithm is that of patent CN102567283 (Tsinghua University, 2011), K matrices a
 * thread block: in step k the pivot is moved to (k, k) by a swap of rows and one of
 * columns, the pivot row is scaled, every other element gets one multiply-add, and at the
 * end the swaps are undone in reverse order. Of pivots of equal modulus the first in
 * row-major order is taken, so that CPU and CUDA take the same one.
 *
 * A matrix that is singular to working precision (a pivot of exactly 0) or not finite
 * gets X = 0 and a status other than 0. It harms no other item of the batch.
 *
 * T is float or std::complex<float>.
 */
template <typename T>
class CUDAPHY_API inverse
{
public:
    struct parameters {
        int order; //!< N, 1..32
        pivoting pivot = pivoting::full;
    };
    static constexpr int max_order = 32;

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<inverse>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~inverse() = default;

    /*!
     * Inverts a batch in one launch; returns before the device has finished if `queue` is
     * a device's. \param a            matrices, row-major, (batch, N, N) \param[out] x
     * inverses, (batch, N, N); may be `a` itself \param[out] status  0; k = 1..N if step
     * k found no pivot other than 0; -1 if an element of A or of X is not finite, (batch)
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> a, view<T> x, view<int> status, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
