/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How a GPU inverts a triangle. The CPU substitutes columns for any of them.
enum class triangular_algorithm {
    fastest,          //!< where there is one, a kernel of a thread a triangle, else ...
    recursive_blocks, //!< n + 1 rounds of blocks twice as large, every lane busy
    columns           //!< a column an iteration, a lane an element, for comparison
};

CUDAPHY_API triangular_algorithm triangular_algorithm_from_name(const std::string& name);

/*!
 * \brief Inverts a batch of triangular matrices of order N = 1..1024.
 *
 * The algorithm `recursive_blocks` is that of Shanghai Biren (published 2023): a triangle
 * of order 2^n lies in shared memory and is cut into its diagonal elements and, above
 * each other in size, the squares L21 of order 1, 2, 4 .. 2^(n-1) below two triangles L11
 * and L22 that are inverted already; a round replaces all squares of one size by -L22^-1
 * L21 L11^-1. Orders that are no power of two are padded with the unit matrix. An upper
 * triangle is the transpose of a lower one.
 *
 * Above order 32 a GPU goes on with larger squares: diagonal blocks of order 32 are
 * inverted by a warp each, then squares of order 32, 64 .. 512 by tiled products of all
 * of them at once, whatever the algorithm. A run takes 3 launches and 2 a size. The CPU
 * vectorises along the columns of X.
 *
 * Of A the triangle alone is read, and with a unit diagonal only what lies beside the
 * diagonal, so that the rest may hold anything, NaN included. The other triangle of X is
 * written as zeros.
 *
 * A matrix with a zero on its diagonal, or one that is not finite, gets X = 0 and a
 * status other than 0. It harms no other item of the batch.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 */
template <typename T>
class CUDAPHY_API triangular_inverse
{
public:
    struct parameters {
        int order;                  //!< N, 1..1024
        bool lower = true;          //!< else upper
        bool unit_diagonal = false; //!< the diagonal is 1, whatever is stored there
        triangular_algorithm algorithm = triangular_algorithm::fastest;
    };
    static constexpr int max_order = 1024;

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does.
    static std::unique_ptr<triangular_inverse>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~triangular_inverse() = default;

    /*!
     * Inverts a batch, up to order 32 in one launch; returns before the device has
     * finished if `queue` is a device's. Nothing is allocated on the device and nothing
     * is waited for; what lies beside the triangle of X is all the workspace there is.
     *
     * \param a            matrices, row-major, (batch, N, N)
     * \param[out] x       inverses, (batch, N, N); may be `a` itself, but not overlap it
     *                     otherwise
     * \param[out] status  0; -1 if an element of the triangle is not finite; else k =
     *                     1..N, the first row whose diagonal element is 0; else -1 if an
     *                     element of X is not finite, (batch)
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> a, view<T> x, view<int> status, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
