/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

/*!
 * \brief Inverts square matrices of order 1 to 64, one a stream item.
 * \ingroup cudaphy
 *
 * In: vectors of order² items (complex or float), a matrix row by row. Out: the same of
 * the inverses, in order. Gauss-Jordan elimination with full pivoting, partial pivoting,
 * or none (for Hermitian positive definite matrices), many matrices a launch (patent
 * CN102567283, 2011).
 *
 * A singular matrix gets a tag `singular` on its item: a pmt long, the elimination step
 * (from 1) that found no good pivot, or -1 for a matrix or inverse with NaN or infinity.
 * Its item is zeros. Only with full pivoting, the item of a nearly singular matrix is the
 * finite inverse of a matrix near it, and the step is its numerical rank plus 1.
 */
class CUDAPHY_API matrix_inverse : virtual public gr::block
{
public:
    typedef std::shared_ptr<matrix_inverse> sptr;

    /*!
     * \param order          of the matrices, 1..64
     * \param pivoting       "full", "partial" or "none"
     * \param type           of the elements, "complex" (64 bits) or "float"
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     *                       stream
     * \param backend        "auto", "cuda", "cpu" or "reference"
     * \param device         index of the GPU
     * \param max_batch      matrices in one launch at most; 0: automatic
     * \param max_latency    seconds that a matrix may wait for a fuller batch
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend can't be had.
     */
    static sptr make(int order,
                     const std::string& pivoting = "full",
                     const std::string& type = "complex",
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    //! Matrices that got the tag, since the block was made.
    virtual uint64_t failures() const = 0;
};

} // namespace gr::cudaphy
