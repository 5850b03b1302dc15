/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How the pivot of an elimination step is chosen.
enum class pivoting {
    full,    //!< the largest element of the whole remaining matrix
    partial, //!< the largest element of the remaining column
    none     //!< the diagonal as it stands, for Hermitian positive definite matrices
};

//! Where element (i, j) of matrix b of a batch of order N lies.
enum class matrix_layout {
    row_major,  //!< at (b N + i) N + j
    interleaved //!< at (i N + j) batch + b: a structure of arrays
};

//! Which kernel inverts, on a GPU; the CPU has one.
enum class inverse_algorithm {
    fastest,
    patent //!< the steps of patent CN102567283 as they are printed, for comparison
};

CUDAPHY_API pivoting pivoting_from_name(const std::string& name);
CUDAPHY_API matrix_layout matrix_layout_from_name(const std::string& name);
CUDAPHY_API inverse_algorithm inverse_algorithm_from_name(const std::string& name);

/*!
 * \brief Inverts a batch of small square matrices by Gauss-Jordan elimination, in place,
 * of order N = 1..64 (above 32 at a lower speed).
 *
 * The algorithm is that of patent CN102567283 (Tsinghua University, 2011): in step k the
 * pivot is moved to (k, k) by a swap of rows and one of columns, the pivot row is scaled,
 * every other element gets one multiply-add, and at the end the swaps are undone. The
 * fastest kernels compare |re| + |im|, to within 2^-14, where the patent compares moduli;
 * CPU and CUDA then take the same pivots and give the same bits, but for complex<float>
 * of orders 25 to 32: there CUDA may work by blocks on tensor cores, as exactly, by the
 * same rule for pivots, but with other roundings.
 *
 * What a small pivot means is LAPACK's contract for each way of pivoting:
 * - full, as xGETC2: a pivot below max(eps |first pivot|, the smallest normal number /
 *   eps) is replaced by that bound, and the status is the first step at which this
 *   happened: the numerical rank plus 1. X is finite, and the inverse of a matrix near A.
 *   Where nothing but zeros is left, X = 0.
 * - partial, as xGETRF: the status is the step that found no pivot but 0, and X = 0.
 * - none, as xPOTRF: the status is the first step whose pivot is not above 0, so that the
 *   leading minor of that order is not positive definite, and X = 0.
 *
 * A matrix that is not finite, or whose inverse is not, gets X = 0 and status -1. No item
 * harms another one of the batch.
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

    //! What a run gives for a batch. The last two may be left empty.
    struct results {
        view<T> x;        //!< inverses, (batch, N, N); may be the input itself
        view<int> status; //!< 0, or as said above, (batch)
        view<T> determinant = {};
        //!< the product of the pivots with the sign of the swaps; NaN where the status is
        //!< -1, 0 where X = 0 for another reason, (batch)
        view<real> rcond = {}; //!< 1 / (|A|_1 |X|_1), the reciprocal condition; 0 where X
                               //!< = 0, (batch)
    };

    //! \throws std::invalid_argument if a parameter is out of range or the algorithm and
    //! the other parameters do not go together; backend_unavailable as resolve() does.
    static std::unique_ptr<inverse>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~inverse() = default;

    //! Bytes of the queue's memory that run() needs for that many matrices, often 0.
    virtual size_t workspace_bytes(size_t batch) const = 0;

    /*!
     * Inverts a batch; returns before the device has finished if `queue` is a device's.
     * Nothing is allocated on the device and nothing is waited for, so that a run may be
     * captured in a CUDA graph.
     *
     * \param a          matrices, (batch, N, N) in the layout asked for
     * \param[out] out   see results
     * \param workspace  at least workspace_bytes(batch), aligned to 256 bytes; free again
     *                   when the queue has come past this run
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> a,
                     const results& out,
                     view<unsigned char> workspace,
                     queue& queue) = 0;

    //! The same, where no workspace is needed.
    void run(view<const T> a, view<T> x, view<int> status, queue& queue)
    {
        run(a, results{ x, status }, {}, queue);
    }
};

} // namespace gr::cudaphy::kernels
