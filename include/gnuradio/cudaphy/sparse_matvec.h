/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>

namespace gr::cudaphy {

/*!
 * \brief Multiplies each vector of a stream by a sparse matrix: y = A x.
 * \ingroup cudaphy
 *
 * In: vectors of A's columns (complex or float, as A is), one a stream item. Out: vectors
 * of A's rows, in order, many a launch. Each row's sum takes A's entries with columns
 * ascending, one fused multiply-add each. If A has no entry, x has no part in y, even if
 * x is infinite or NaN (source 5: matrix-form FDTD on a graphics accelerator).
 */
class CUDAPHY_API sparse_matvec : virtual public gr::block
{
public:
    typedef std::shared_ptr<sparse_matvec> sptr;

    /*!
     * \param a              at least one row and one column
     * \param format         "crs", "ccs", "bcrs", "subdivided_crs", "dictionary" or
     *                       "diagonal"
     * \param block          bcrs: rows and columns of a block, 1..8
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     *                       stream
     * \param backend        "auto", "cuda", "cpu" or "reference"
     * \param device         index of the GPU
     * \param max_batch      vectors in one launch at most; 0: automatic
     * \param max_latency    seconds that a vector may wait for a fuller batch
     * \throws std::invalid_argument if a parameter is out of range or the format does not
     * suit the matrix; std::runtime_error if the backend can't be had.
     */
    static sptr make(const kernels::sparse_matrix<complex64>& a,
                     const std::string& format = "subdivided_crs",
                     int block = 2,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);
    //! The same on a stream of float.
    static sptr make(const kernels::sparse_matrix<float>& a,
                     const std::string& format = "subdivided_crs",
                     int block = 2,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    //! Bytes that the matrix takes in its format.
    virtual uint64_t matrix_bytes() const = 0;
};

} // namespace gr::cudaphy
