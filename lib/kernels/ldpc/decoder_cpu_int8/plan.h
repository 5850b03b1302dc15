/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"

namespace gr::cudaphy::kernels {

/*!
 * \brief An int8 decoder's work as lists of addresses, for `words` codewords side by side
 * and vectors of `lanes` bytes.
 *
 * A block column of lifting size Z is an array of Z * words bytes: bit by bit, with the
 * codewords of a bit side by side. A circulant of shift s then is a rotation by s * words
 * bytes for every number of words. With one word, the lanes are checks of a block row.
 * With as many words as lanes, each lane is a codeword. A code that is not quasi-cyclic
 * has Z = 1 and a block row for each check.
 *
 * - If the codewords fill a vector, and blocks are of one circulant, vector i of a block
 *   row reads vector (i + s) mod Z of the column and writes it back there.
 * - Else a block row writes a column, rotated as it read it, into the column's other
 *   buffer, where all its vectors are aligned. The next block row reads from the
 * difference of both shifts on. The first vector is repeated behind the last bit, so that
 * no load wraps. A visit's buffer may alternate between iterations, so there are two
 * lists, for even and for odd iterations.
 */
struct ldpc_fixed_plan {
    ldpc_fixed_plan(const ldpc_decoding&, int words, int lanes);

    //! False for a code that lacks a one in a block of several circulants.
    static bool can_serve(const ldpc_code&);

    //! Addresses of a vector of L for load and store, in bytes from tile::l.
    struct edge {
        uint32_t load, store;
    };

    //! A bit, `words` bytes wide, at which a circulant lacks its one: L[from] is copied
    //! to L[to] unchanged.
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

    //! The order of one iteration, and the places of the bits after it.
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
    //! Places of bits before an even and before an odd iteration.
    struct bit_layout {
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
    iteration iterations[2];
    bit_layout before[2];
    std::vector<uint32_t> first_copies; //!< columns to repeat once they are loaded
};

} // namespace gr::cudaphy::kernels
