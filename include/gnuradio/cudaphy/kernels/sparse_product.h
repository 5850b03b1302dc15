/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy::kernels {

//! The layout of a sparse matrix in memory; names as in source 5.
enum class sparse_format {
    crs,            //!< compressed rows
    ccs,            //!< compressed columns
    bcrs,           //!< compressed rows of small dense blocks
    subdivided_crs, //!< rows grouped by their number of entries, a dense block a group
    dictionary, //!< subdivided, and rows of one pattern (column offsets, values) share it
    diagonal    //!< whole diagonals, for banded matrices
};

CUDAPHY_API sparse_format sparse_format_from_name(const std::string& name);
CUDAPHY_API std::string name_of(sparse_format);

/*!
 * \brief The product of a sparse matrix and a vector, y = A x or y += A x, batch after
 * batch with the same A.
 *
 * Source 5 (matrix-form FDTD) compares CRS, CCS and BCRS and finds that rows of unequal
 * length spoil CRS; so it subdivides: rows are grouped by their number of entries, and
 * each group is one dense block without padding. `dictionary` stores rows that share
 * their column offsets (column - row) and values once, as FDTD's inner cells do, and
 * keeps the others as subdivided rows. `diagonal` refuses a matrix with so many diagonals
 * that it would take more than eight times CRS' memory.
 *
 * Every format gives the same sums on CPU and CUDA, bit for bit: a row's sum begins with
 * 0, or with y where it is added to, and takes A's entries with columns ascending, one
 * fused multiply-add each (four if complex: a_re x, then a_im times x's other part).
 * The exceptions are ccs on CUDA, whose atomic sums come in any order, and CPUs that
 * can't fuse (older than AVX2). Zeros that a format stores besides A's entries (diagonal,
 * bcrs) never turn an infinite x into a NaN: where A has no entry, x has no part in y.
 *
 * T is float, double or std::complex<float>.
 */
template <typename T>
class CUDAPHY_API sparse_product
{
public:
    struct parameters {
        sparse_format format = sparse_format::subdivided_crs;
        bool accumulate = false; //!< y += A x instead of y = A x
        int block = 2;           //!< bcrs: rows and columns of a block, 1..8
    };

    //! \throws std::invalid_argument if a parameter is out of range or the format does
    //! not suit the matrix; backend_unavailable as resolve() does; std::bad_alloc.
    static std::unique_ptr<sparse_product> make(const sparse_matrix<T>& a,
                                                const parameters&,
                                                backend where = backend::automatic,
                                                int device = 0);
    virtual ~sparse_product() = default;

    virtual int64_t rows() const = 0;
    virtual int64_t columns() const = 0;
    //! Bytes that the matrix takes in its format.
    virtual size_t matrix_bytes() const = 0;

    /*!
     * Multiplies; returns before the device has finished if `queue` is a device's.
     * Nothing is allocated on the device and nothing is waited for, so that a CUDA graph
     * can capture it: one kernel a call, but for ccs. With compute capability 9.0 a call
     * fetches its part of the matrix while the queue's kernel before still works.
     *
     * \param x       (batch, columns)
     * \param[out] y  (batch, rows), not overlapping x
     * \throws std::invalid_argument if the views' sizes do not fit each other.
     */
    virtual void run(view<const T> x, view<T> y, queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
