/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief How to solve H c = 0 for the parity bits: sums of bits, in an order in which
 * each can be computed.
 *
 * A check with a single unknown bit gives that bit, one after the other, as in an erasure
 * decoder. This alone solves a staircase. If no such check is left, one bit is set aside
 * and taken as known. In the end the left-over checks give as many equations as bits were
 * set aside; their small dense matrix is inverted here. (Richardson and Urbanke, IEEE
 * Trans. Inf. Theory 47(2), 2001.) 802.11n sets one block column aside, and its inverse
 * is an identity.
 *
 * A word is encoded in `slots` places. The first n are the codeword's bits as
 * transmitted; then come the punctured bits. Shortened bits are 0 and have no place. The
 * information bits are written to the places `info`. Then the steps run level by level,
 * in any order within a level. Then, if `chain` is not empty, each of its places is added
 * into the next. All arithmetic is modulo 2. A place of w bits holds one bit of w words.
 */
struct ldpc_encoding_plan {
    //! \throws std::invalid_argument if more than 8192 bits or 2^31 coefficients would be
    //! set aside.
    explicit ldpc_encoding_plan(const ldpc_code& code);

    int slots;
    std::vector<int> info; //!< place of each information bit, (k)
    //! Step s: place target[s] = sum of the places source[start[s]..start[s + 1] - 1].
    std::vector<int> target, start{ 0 }, source;
    //! Level l: the steps level[l]..level[l + 1] - 1.
    std::vector<int> level{ 0 };
    std::vector<int> chain;
};

} // namespace gr::cudaphy::kernels
