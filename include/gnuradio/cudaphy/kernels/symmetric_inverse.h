/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

//! How a large symmetric matrix is inverted.
enum class symmetric_algorithm {
    blocked,  //!< bordering by blocks, nearly all of it matrix products
    bordering //!< row after row, as source 2 prints it, for comparison
};

//! What is known of a symmetric matrix before its inversion.
enum class definiteness {
    unknown, //!< may be indefinite
    positive //!< Hermitian positive definite
};

CUDAPHY_API symmetric_algorithm symmetric_algorithm_from_name(const std::string& name);
CUDAPHY_API definiteness definiteness_from_name(const std::string& name);

/*!
 * \brief Inverts symmetric (complex: Hermitian) matrices of order 1 to what memory holds:
 * one large one, or a batch of medium ones.
 *
 * The bordering method (Huo, Wang, Peng, Fang; Northwest A&F University)
 * grows the inverse of the leading block by one row a step:
 *
 *     W_t = [ W_{t-1}  r ; r^H  rho ],   u = W_{t-1}^-1 r,   s = rho - r^H u
 *     W_t^-1 = [ W_{t-1}^-1 + u u^H / s   -u / s ;  -u^H / s   1 / s ]
 *
 * `bordering` does this as printed. `blocked` does it by blocks, recursively, with the
 * Schur complement in the place of s, so that nearly all its n^3 multiply-adds are matrix
 * products.
 *
 * Only the lower triangle of A (row-major: elements (i, j) with j <= i) is read; the
 * imaginary part of a Hermitian matrix's diagonal is taken as zero. X is written whole,
 * and exactly symmetric (Hermitian).
 *
 * A leading block may be singular though A is not (a saddle point, a zero diagonal): with
 * definiteness::unknown, `blocked` still inverts A. The status says what happened:
 * - 0: X is the inverse, and its probed residual is within the bound that T's precision
 *   and A's condition allow.
 * - k > 0: `blocked`, positive: the leading minor of order k, or of the block that ends
 * at k, is not positive definite. `bordering`: s = 0 at step k. `blocked`, unknown: A is
 *   singular to T's precision; k is then the order n. X = 0.
 * - n, the order, however it is inverted: A is singular to T's precision, because
 *   |A|_1 |X|_1 > max(n, 4) / (8 eps), with eps from 1 to the next number, also after
 *   rows and columns were scaled alike (S A S, S a diagonal), or because X is not A's
 *   inverse where X is largest. A condition in the 2-norm below 1 / (8 eps) is none such.
 *   X = 0. `bordering`, whose own roundings are larger, misses some.
 * - -1: A, or its inverse, is not finite. X = 0.
 * No item harms another one of the batch.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 */
template <typename T>
class CUDAPHY_API symmetric_inverse
{
public:
    using real = decltype(std::abs(T()));

    struct parameters {
        int order;        //!< n, at least 1
        size_t batch = 1; //!< at most so many matrices a run
        symmetric_algorithm algorithm = symmetric_algorithm::blocked;
        definiteness definite = definiteness::unknown;
        //! Told what share of the work is done, 0 to 1, from the calling thread; on a
        //! device: submitted. May be empty.
        std::function<void(double)> progress = {};
    };

    //! What a run did, for each matrix of a batch; views may be left empty.
    struct results {
        view<T> x;        //!< inverses, (batch, n, n); may be the input itself
        view<int> status; //!< as said above, (batch)
        view<real> residual = {};
        //!< an estimate of |I - A X|_1 / (n |A|_1 |X|_1 eps) by random probes; NaN where
        //!< X = 0, (batch)
        view<int> refinements = {};
        //!< what the residual asked for: Newton steps X <- X (2 I - A X), other random
        //!< draws, factors, the same in double, (batch)
        view<real> rcond = {};
        //!< 1 / (|A|_1 |X|_1), the reciprocal condition, of A as it is; 0 where X = 0,
        //!< (batch)
    };

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does, or where the GPU's matrix products (cuBLAS) can't be loaded, or
    //! the factors for a repair (cuSOLVER; definite matrices do without).
    static std::unique_ptr<symmetric_inverse>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~symmetric_inverse() = default;

    //! Bytes of the queue's memory that run() needs, for parameters().batch matrices.
    virtual size_t workspace_bytes() const = 0;

    /*!
     * Inverts up to `batch` matrices. On a device nothing is allocated; the host waits
     * where the algorithm must know how a step came out (once at the end, for orders
     * above 64, whether a matrix needs repair; a batch of smaller ones is submitted
     * alone).
     *
     * \param a          matrices, (batch, n, n), row-major; the lower triangles are read
     * \param[out] out   see results
     * \param workspace  at least workspace_bytes(), aligned to 256 bytes
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> a,
                     const results& out,
                     view<unsigned char> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
