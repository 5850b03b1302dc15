/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How a GPU inverts a triangle. The CPU substitutes columns whatever the algorithm.
enum class triangular_algorithm {
    fastest,          //!< a thread a triangle if that is faster, else recursive_blocks
    recursive_blocks, //!< n + 1 rounds of blocks, twice as large each; every lane is busy
    columns           //!< a column an iteration, a lane an element, for comparison
};

CUDAPHY_API triangular_algorithm triangular_algorithm_from_name(const std::string& name);

/*!
 * \brief Inverts a batch of triangular matrices of order N = 1..1024.
 *
 * The algorithm `recursive_blocks` is that of Shanghai Biren (published 2023). A triangle
 * of order 2^n lies in shared memory. It consists of its diagonal elements and of squares
 * L21 of order 1, 2, 4 .. 2^(n-1), each below two triangles L11 and L22. A round replaces
 * all squares of one size by -L22^-1 L21 L11^-1, after L11 and L22 have been inverted.
 * Other orders are padded with the unit matrix. An upper triangle is the transpose of a
 * lower one.
 *
 * Above order 32 a GPU continues with larger squares, whatever the algorithm. A warp
 * inverts each diagonal block of order 32. Then tiled products invert all squares of
 * order 32, 64 .. 512, size by size. A run takes 4 launches and 2 more a size. The CPU
 * vectorises along the columns of X.
 *
 * Only the triangle of A is read, and with a unit diagonal only its elements beside the
 * diagonal. The rest may hold anything, NaN included. The other triangle of X is written
 * as zeros.
 *
 * A matrix with a zero on its diagonal, or one that is not finite, gets X = 0 and a
 * status other than 0. It changes no other item of the batch.
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
     * Inverts a batch, up to order 32 in one launch. If `queue` is on a device, run()
     * returns before the device has finished. run() allocates nothing on the device and
     * waits for nothing. Its only workspace is the other triangle of X.
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
