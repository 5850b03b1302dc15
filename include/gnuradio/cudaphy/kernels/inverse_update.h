/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Brings a known inverse X = A^-1 of a symmetric (complex: Hermitian) matrix up to
 * date when A changes by a few outer products, by the Sherman-Morrison-Woodbury formula:
 *
 *     (A + V D V^H)^-1 = X - (X V) (D^-1 + V^H X V)^-1 (X V)^H
 *
 * with V of shape (n, k) and D = diag(d), each d_i of either sign: positive is an update,
 * negative a downdate. k = 1 is the bordering step's sister.
 *
 * The whole X is read and written and stays exactly symmetric. Where the small matrix is
 * singular to T's precision (the downdated matrix is), or something is not finite, X
 * stays as it was and the status is not 0. A forgetting factor: X scales by 1 /
 * forgetting, as A by forgetting, before the update, in the same pass.
 *
 * T is float, double, std::complex<float> or std::complex<double>.
 */
template <typename T>
class CUDAPHY_API inverse_update
{
public:
    using real = decltype(std::abs(T()));

    struct parameters {
        int order;        //!< n, at least 1
        int rank = 1;     //!< k, 1..64, at most n
        size_t batch = 1; //!< at most so many inverses a run
    };
    static constexpr int max_rank = 64;

    //! \throws std::invalid_argument if a parameter is out of range; backend_unavailable
    //! as resolve() does, and for a rank above 1 on a GPU where cuBLAS can't be loaded.
    static std::unique_ptr<inverse_update>
    make(const parameters&, backend where = backend::automatic, int device = 0);
    virtual ~inverse_update() = default;

    //! Bytes of the queue's memory that run() needs, for parameters().batch inverses.
    virtual size_t workspace_bytes() const = 0;

    /*!
     * Updates a batch in place; returns before the device has finished if `queue` is a
     * device's. Nothing is allocated on the device and nothing is waited for.
     *
     * \param x           inverses, (batch, n, n), row-major, symmetric; updated in place
     * \param v           (batch, n, k), row-major
     * \param d           (batch, k), real, finite; 0: that column changes nothing
     * \param forgetting  A is scaled by this before the update, above 0
     * \param[out] status 0; 1: singular; -1: not finite. X as it was then, (batch)
     * \param workspace   at least workspace_bytes(), aligned to 256 bytes
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<T> x,
                     view<const T> v,
                     view<const real> d,
                     real forgetting,
                     view<int> status,
                     view<unsigned char> workspace,
                     queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
