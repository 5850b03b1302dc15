/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"
#include <array>

namespace gr::cudaphy::kernels {

/*!
 * \brief The plan of the form for pairs of codewords: which thread does what, and where
 * every value lies.
 *
 * A block of threads decodes `pairs` pairs of codewords. A thread takes check i of every
 * block row for both codewords of its pair, in the two halves of its registers. Thread t
 * takes check t / pairs of pair t % pairs. If all sizes are multiplied by `pairs`, the
 * pairs look like one code of a larger lifting size.
 *
 * A column of H in a single check, as most of 5G NR's, is private if that check is not a
 * telling one (ldpc_code::telling()). No other thread reads or writes its L, which is its
 * received value plus one message. A column in two checks of the same thread, as most of
 * a staircase's, is kept: its L is a word of that thread.
 *
 * A thread's words are its messages and its kept L. The first words lie in registers, the
 * next in shared memory, the rest in device memory (store.h).
 */
struct ldpc_cuda_plan : ldpc_cuda_store {
    struct edge {
        int column;    //!< block column
        int shift;     //!< in threads
        int round;     //!< ldpc_fixed_schedule::edge::round
        int missing;   //!< check without this edge, or -1
        int word = -1; //!< where a kept column's L lies; -1: the column is not kept
    };
    struct row {
        std::vector<edge> edges;  //!< to columns that are not private
        edge own{ -1, 0, 0, -1 }; //!< to the private column; column -1: there is none
        int rounds = 1;
        int first_word = 0; //!< of the row's messages
        bool packed = true; //!< a word holds the messages of two edges; false: of one
        int words() const
        {
            const int n = static_cast<int>(edges.size());
            return packed ? (n + 1) / 2 : n;
        }
        bool waits = false; //!< whether a barrier stands before the row
    };

    //! \param row_pairs  ldpc_row_pairs() of the code
    //! \throws std::invalid_argument if the code does not fit into a block.
    ldpc_cuda_plan(const ldpc_decoding&,
                   int shared_bytes_a_block,
                   const std::vector<std::array<int, 2>>& row_pairs);

    int z;     //!< lifting size times pairs: the threads with checks
    int pairs; //!< pairs of codewords of a block
    std::vector<row> rows;
    std::vector<bool> is_private; //!< of each block column
    //! Whether messages to private columns are stored, because those columns are put out.
    bool keeps_private = false;
    std::vector<int> kept;     //!< of each block column the word of its L; -1: not kept
    std::vector<int> position; //!< of each other block column in shared memory
    int shared_columns = 0;    //!< block columns in shared memory
    //! Flags at the end of shared memory, a word each. Words 0 to 2 take the votes of
    //! iterations in turn. Words `check`, `negative` and `zero`: whether a check is odd,
    //! and whether an information bit's L is negative or 0. From `votes` on: the CRC's
    //! remainders, two words for each pair.
    static constexpr int check = 3, negative = 4, zero = 5, votes = 6;
    int flags_at() const { return shared_at + 4 * threads * shared_words; }

    //! Columns first ... first + count - 1 receive codeword bits from, from + 1, ...; a
    //! negative `from` is ldpc_decoding::punctured or shortened. In the order of the
    //! block columns.
    struct run {
        int first, count, from;
    };
    std::vector<run> runs;
    std::vector<int> sources; //!< the same for each column

    //! The place of each output bit in the order of the block columns, with private_flag
    //! if its column is private.
    std::vector<int> outputs;
    static constexpr int private_flag = 1 << 30;
    std::vector<int> info;        //!< the same for each information bit
    bool info_in_order = true;    //!< information bits stand one after the other
    bool outputs_in_order = true; //!< so do output bits, and none is private

private:
    std::vector<int> d_order; //!< of rows

    void find_private(const ldpc_code&);
    void find_kept(const ldpc_decoding&);
    void make_rows(const ldpc_code&);
    void place_words(int register_room, int shared_room);
    void list_sources(const ldpc_decoding&);
    void list_outputs(const ldpc_decoding&);
};

} // namespace gr::cudaphy::kernels
