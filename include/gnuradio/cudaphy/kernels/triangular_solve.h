/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Solves L X = B for a batch of triangular matrices of order N = 1..1024, each
 * with many right-hand sides.
 *
 * A GPU inverts L and multiplies. That is the purpose of the triangular inverse of
 * Shanghai Biren (published 2023): products keep a GPU busy, but substitution, row after
 * row, does not. For a triangle of condition number c the error is at most c times that
 * of substitution. The CPU and the reference substitute.
 *
 * Only the triangle of L is read, and with a unit diagonal only its elements beside the
 * diagonal.
 *
 * An item whose triangle has a zero on its diagonal, or whose triangle or right-hand
 * sides are not finite, gets X = 0 and a status other than 0. It changes no other item.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 */
template <typename T>
class CUDAPHY_API triangular_solve
{
public:
    struct parameters {
        int order;                  //!< N, 1..1024
        int columns;                //!< K, right-hand sides of an item, 1..65536
        bool lower = true;          //!< else upper
        bool unit_diagonal = false; //!< the diagonal is 1, whatever is stored there
    };
    static constexpr int max_order = 1024;
    static constexpr int max_columns = 65536;

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<triangular_solve>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~triangular_solve() = default;

    //! Bytes of the queue's memory that run() needs for so many matrices L. Only a GPU
    //! needs any.
    virtual size_t workspace_bytes(size_t matrices) const = 0;

    /*!
     * Solves a batch. If `queue` is on a device, run() returns before the device has
     * finished. run() allocates nothing on the device and waits for nothing.
     *
     * \param l            matrices, row-major, (batch, N, N), or (1, N, N) for all
     * \param b            right-hand sides, row-major, (batch, N, K)
     * \param[out] x       solutions, (batch, N, K); must not overlap l or b
     * \param[out] status  0; -1 if an element of the triangle or of B is not finite; else
     *                     k = 1..N, the first row whose diagonal element is 0; else -1 if
     *                     an element of X, or on a GPU of L^-1, is not finite, (batch)
     * \param workspace    at least workspace_bytes(matrices in l), aligned to 256 bytes;
     *                     reusable once the queue has finished this run
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> l,
                     view<const T> b,
                     view<T> x,
                     view<int> status,
                     view<unsigned char> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
