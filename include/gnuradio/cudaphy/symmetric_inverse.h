/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>

namespace gr::cudaphy {

/*!
 * \brief Inverts large symmetric (complex: Hermitian) matrices, definite or not.
 * \ingroup cudaphy
 *
 * In: vectors of `order` items (complex or float), one a row, `order` rows a matrix. Out:
 * the rows of the inverses, each where its matrix had it. Bordering by blocks, nearly all
 * of it matrix products (after Huo, Wang, Peng, Fang). Matrices that wait together are
 * inverted together, up to max_batch of them.
 *
 * The first row of a matrix that has no inverse gets a tag `singular`, and its rows are
 * zeros: a pmt long, the order; with definite = "positive" the order of the leading minor
 * that is not positive definite; -1 for a matrix or inverse with NaN or infinity. One
 * that is not symmetric gets a tag `asymmetric`, a pmt tuple of the row and column (from
 * 0) of the first element that differs from its counterpart, and zeros.
 *
 * A packet is a whole number of matrices, `order` items each.
 */
class CUDAPHY_API symmetric_inverse : virtual public gr::block
{
public:
    typedef std::shared_ptr<symmetric_inverse> sptr;

    /*!
     * \param order          of the matrices, 1..32768
     * \param type           of the elements, "complex" (64 bits) or "float"
     * \param definite       "unknown" or "positive", which is faster
     * \param algorithm      "blocked"; or "bordering", row after row as in the source
     * \param check          whether matrices are checked for symmetry; otherwise only
     *                       their lower triangles are read
     * \param length_tag_key names the tag with a packet's length in items; empty: a plain
     *                       stream
     * \param backend        "auto", "cuda", "cpu" or "reference"
     * \param device         index of the GPU
     * \param max_batch      matrices that are inverted together at most; 0: automatic
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend or the memory can't be had.
     */
    static sptr make(int order,
                     const std::string& type = "complex",
                     const std::string& definite = "unknown",
                     const std::string& algorithm = "blocked",
                     bool check = true,
                     const std::string& length_tag_key = "",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0);

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    //! Matrices that got a tag, since the block was made.
    virtual uint64_t failures() const = 0;
    virtual uint64_t matrices() const = 0; //!< inverted, or with a tag
};

} // namespace gr::cudaphy
