/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the pivot of an elimination step is chosen.
enum class pivoting {
    full,    //!< the largest element of the whole remaining matrix
    partial, //!< the largest element of the remaining column
    none     //!< the diagonal in its order, for Hermitian positive definite matrices
};

//! Where element (i, j) of matrix b of a batch of order N lies.
enum class matrix_layout {
    row_major,  //!< at (b N + i) N + j
    interleaved //!< at (i N + j) batch + b: a structure of arrays
};

//! Which kernel inverts on a GPU. The CPU has only one.
enum class inverse_algorithm {
    fastest,
    patent //!< the printed steps of patent CN102567283, for comparison
};

CUDAPHY_API pivoting pivoting_from_name(const std::string& name);
CUDAPHY_API matrix_layout matrix_layout_from_name(const std::string& name);
CUDAPHY_API inverse_algorithm inverse_algorithm_from_name(const std::string& name);

/*!
 * \brief Inverts a batch of small square matrices by Gauss-Jordan elimination, in place,
 * of order N = 1..64.
 *
 * The algorithm is that of patent CN102567283 (Tsinghua University, 2011). Step k moves
 * the pivot to (k, k) by a swap of rows and a swap of columns, scales the pivot's row,
 * and does one multiply-add for every other element. The end undoes the swaps. The patent
 * compares moduli. The fastest kernels compare |re| + |im|, to within 2^-14. CPU and CUDA
 * take the same pivots and give the same bits, with two exceptions. CUDA then has the
 * same rule for pivots and the same accuracy, but other roundings:
 * - complex<float> of orders 25 to 32, without full pivoting to 40: tensor cores, if any.
 * - no pivoting, float of orders 14 to 24 and complex<float> of orders 12 to 20: CUDA
 * does half the operations, because it works on the lower triangle alone. The upper one
 * only decides whether A is finite.
 *
 * A small pivot means what LAPACK says for each way of pivoting:
 * - full, as xGETC2: a pivot below max(eps |first pivot|, the smallest normal number /
 *   eps) is replaced by that bound. The status is the first step with such a pivot, which
 *   is the numerical rank plus 1. X is finite, and is the inverse of a matrix near A. If
 *   only zeros are left, X = 0.
 * - partial, as xGETRF: the status is the first step whose largest pivot is 0, and X = 0.
 * - none, as xPOTRF: the status is the first step whose pivot is not above 0, and X = 0.
 *   The leading minor of that order is then not positive definite.
 *
 * A matrix that is not finite, or whose inverse is not finite, gets X = 0 and status -1.
 * No item changes the result of another item of the batch.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 */
template <typename T>
class CUDAPHY_API inverse
{
public:
    using real = decltype(std::abs(T()));

    struct parameters {
        int order; //!< N, 1..64
        pivoting pivot = pivoting::full;
        matrix_layout layout = matrix_layout::row_major; //!< of A and X
        inverse_algorithm algorithm = inverse_algorithm::fastest;
    };
    static constexpr int max_order = 64;

    //! The results of a run for a batch. The last two may be empty.
    struct results {
        view<T> x;        //!< inverses, (batch, N, N); may be the input itself
        view<int> status; //!< 0, or as above, (batch)
        view<T> determinant = {};
        //!< the product of the pivots with the sign of the swaps; NaN if the status is
        //!< -1, 0 if X = 0 for another reason, (batch)
        view<real> rcond = {}; //!< 1 / (|A|_1 |X|_1), the reciprocal condition; 0 if X =
                               //!< 0, (batch)
    };

    //! \throws std::invalid_argument if a parameter is out of range, or if the algorithm
    //! does not support the other parameters; backend_unavailable as resolve() does
    static std::unique_ptr<inverse>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~inverse() = default;

    //! Bytes of the queue's memory that run() needs for that many matrices, often 0.
    virtual size_t workspace_bytes(size_t batch) const = 0;

    /*!
     * Inverts a batch. If `queue` is on a device, run() returns before the device has
     * finished. run() allocates nothing on the device and waits for nothing, so that a
     * CUDA graph may capture it.
     *
     * \param a          matrices, (batch, N, N) in the layout of the parameters
     * \param[out] out   see results
     * \param workspace  at least workspace_bytes(batch), aligned to 256 bytes; reusable
     * once the queue has finished this run \throws std::invalid_argument if the views'
     * sizes do not fit each other.
     */
    virtual void run(view<const T> a,
                     const results& out,
                     view<unsigned char> workspace,
                     queue& queue) = 0;

    //! The same, if no workspace is needed.
    void run(view<const T> a, view<T> x, view<int> status, queue& queue)
    {
        run(a, results{ x, status }, {}, queue);
    }
};

} // namespace gr::cudaphy::kernels
