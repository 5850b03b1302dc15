/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"

namespace gr::cudaphy::kernels {

/*!
 * \brief An int8 decoder's work as lists of addresses, for `words` codewords side by side
 * and vectors of `lanes` bytes.
 *
 * A block column of lifting size Z is an array of Z * words bytes, bit by bit, the
 * codewords of a bit side by side. Then a circulant of shift s is a rotation by s * words
 * bytes, whatever `words` is: with one word the lanes are the checks of a block row, with
 * as many as lanes each lane is a codeword of its own. A code that is not quasi-cyclic
 * has Z = 1 and a block row for each check.
 *
 * - Codewords that fill a vector (and blocks of one circulant): vector i of a block row
 *   meets vector (i + s) mod Z of the column and writes there again.
 * - Else a block row writes a column as it saw it, rotated, into the column's other
 *   buffer, where all its vectors are aligned, and the next block row reads at the
 *   difference of both shifts. The first vector is repeated behind the last bit, so that
 *   no load wraps. Which buffer a visit meets may alternate between iterations: there are
 *   two lists, for even and odd ones.
 */
struct ldpc_fixed_plan {
    ldpc_fixed_plan(const ldpc_decoding&, int words, int lanes);

    //! False for a code that lacks a one in a block of several circulants.
    static bool can_serve(const ldpc_code&);

    //! Where a vector of L is read and written, in bytes from tile::l.
    struct edge {
        uint32_t load, store;
    };

    //! A lane, `words` bytes wide, at which a circulant has no one: L[from] must pass
    //! unused to L[to].
    struct hole {
        uint32_t from, to;
        uint32_t message; //!< in r
        uint32_t check;   //!< byte of the block row
        uint32_t end;     //!< where the bit stands after the iteration
    };

    //! A circulant of a block that another one has updated before it: its edges in
    //! `later`, its messages r every `stride` bytes from `message`, its new ones in
    //! tile::news.
    struct late_edge {
        uint32_t message, stride;
        uint32_t first, news;
        uint32_t to; //!< the first byte of what it writes
    };

    struct range {
        uint32_t first = 0, last = 0;
    };

    struct row {
        int degree;
        int at_once;    //!< of these edges, the first ones, are the first of their block
        int vectors;    //!< of checks
        bool telling;   //!< ldpc_code::telling(), which a block row's checks share
        uint32_t first; //!< edge 0 of vector 0; the edges of a vector stand side by side
        range holes, late;
    };

    //! One iteration's order, and where its edges' vectors stand when it has ended.
    struct iteration {
        std::vector<row> rows;
        std::vector<edge> edges, later;
        std::vector<uint32_t> ends;
        std::vector<hole> holes;
        std::vector<late_edge> late;
    };

    //! `count` bits, one each `words` bytes from L[at]; in a line of bits at `bit`, bit +
    //! step, ...
    struct run {
        uint32_t at, bit, count;
        int step;
    };
    //! Where bits stand before an even and before an odd iteration.
    struct places {
        std::vector<run> received;  //!< of the n received bits
        std::vector<run> output;    //!< of the output's bits
        std::vector<run> info;      //!< of the information bits
        std::vector<run> shortened; //!< repetitions included; `bit` means nothing
    };

    int words, lanes;
    uint32_t column_bytes; //!< Z * words: where the repetition begins
    uint32_t l_bytes = 0;  //!< of all columns
    size_t edge_vectors = 0;
    int max_degree = 0, max_vectors = 0;
    uint32_t news_bytes = 0; //!< new messages of the late edges of a row
    uint32_t tail = 0;       //!< lanes of a row's last vector that are checks
    iteration turns[2];
    places before[2];
    std::vector<uint32_t> first_copies; //!< columns to repeat once they are loaded
};

} // namespace gr::cudaphy::kernels
