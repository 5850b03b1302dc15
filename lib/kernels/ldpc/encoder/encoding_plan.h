/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/ldpc_code.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief How to solve H c = 0 for the parity bits: sums of bits, in an order in which
 * each can be computed.
 *
 * Checks that have one unknown bit left give that bit, one after the other, as an erasure
 * decoder would; a staircase is solved by that alone. Where no such check is left, one
 * bit is set aside and taken as known. In the end the checks that are left over give as
 * many equations as bits were set aside, whose small dense matrix is inverted here. (The
 * idea is that of Richardson and Urbanke, IEEE Trans. Inf. Theory 47(2), 2001.) 802.11n
 * sets one block column aside and its inverse is an identity.
 *
 * A word is encoded in `slots` places, the first n of them the codeword's bits as they
 * are transmitted, then the punctured ones. Shortened bits, which are 0, have no place.
 * The information bits go to the places `info`; then the steps run, level after level,
 * the steps of one level in any order; then, if `chain` is not empty, each of its places
 * is added into the next. All arithmetic is modulo 2, and a place holds that bit of as
 * many words as it is wide.
 */
struct ldpc_encoding_plan {
    //! \throws std::invalid_argument where more than 8192 bits or 2^31 coefficients would
    //! have to be set aside.
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
