/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

/*!
 * \brief Inverts triangular matrices of order 1 to 128, one a stream item.
 * \ingroup cudaphy
 *
 * In: vectors of order² items (complex or float), a matrix row by row. Only the triangle
 * is read; the other elements may be anything. Out: the inverses in the same form, in
 * order, with zeros in the other triangle. Up to order 32 a warp of the GPU
 * inverts a matrix in n + 1 rounds of blocks (Shanghai Biren, 2023); above, such blocks
 * are joined by products.
 *
 * A matrix with a zero on its diagonal gives zeros and a tag `singular` on its item: a
 * pmt long, the first row (from 1) with a zero, or -1 for a triangle or inverse with NaN
 * or infinity.
 */
class CUDAPHY_API triangular_inverse : virtual public gr::block
{
public:
    typedef std::shared_ptr<triangular_inverse> sptr;

    /*!
     * \param order          of the matrices, 1..128
     * \param lower          else upper
     * \param unit_diagonal  the diagonal is taken as 1 and not read
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
                     bool lower = true,
                     bool unit_diagonal = false,
                     const std::string& type = "complex",
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0,
                     double max_latency = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    //! Matrices that had no finite inverse, since the block was made.
    virtual uint64_t failures() const = 0;

    static constexpr int max_order = 128;
};

} // namespace gr::cudaphy
