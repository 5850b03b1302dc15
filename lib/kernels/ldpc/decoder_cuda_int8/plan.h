/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"

namespace gr::cudaphy::kernels {

/*!
 * \brief Who does what, and where everything lies, in the CUDA kernel of int8 arithmetic
 * for one quasi-cyclic code.
 *
 * A block of threads decodes `pairs` pairs of codewords; a thread takes check i of every
 * block row for both codewords of its pair, in the two halves of its registers. So thread
 * t is check t / pairs of pair t % pairs, and with all sizes multiplied by `pairs` the
 * pairs look like one code of a larger lifting size.
 *
 * A column of H that only one check contains, as most of 5G NR's, is private where that
 * check does not tell: nobody else reads or writes its L, which is its received value
 * plus one message. A column of two checks that are the same thread's, as most of a
 * staircase's, is kept: that thread has its L to itself.
 *
 * What a thread has to itself, messages and kept L, are its words: as many as there is
 * room for in registers, then in shared memory, the rest in device memory.
 */
struct ldpc_cuda_plan : ldpc_cuda_store {
    struct edge {
        int column;    //!< block column
        int shift;     //!< in threads
        int turn;      //!< as ldpc_fixed_schedule::edge
        int missing;   //!< check without this edge, or -1
        int word = -1; //!< of a kept column's L, or -1
    };
    struct row {
        std::vector<edge> edges;  //!< that are not private
        edge own{ -1, 0, 0, -1 }; //!< the private one; column -1: none
        int turns = 1;
        int first_word = 0; //!< of its messages
        bool packed = true; //!< two edges a word, else one
        int words() const
        {
            const int n = static_cast<int>(edges.size());
            return packed ? (n + 1) / 2 : n;
        }
        bool waits = false; //!< a barrier before it
    };

    //! \throws std::invalid_argument where the code does not fit a block.
    ldpc_cuda_plan(const ldpc_decoding&, int shared_bytes_a_block);

    int z;     //!< lifting size times pairs: threads at work, all if 32 or more
    int pairs; //!< of codewords a block
    std::vector<row> rows;
    std::vector<bool> is_private; //!< of each block column
    //! Whether the messages to private columns are kept, because those go out.
    bool keeps_private = false;
    std::vector<int> kept;     //!< word of each block column's L, or -1
    std::vector<int> position; //!< of each other one in shared memory
    int shared_columns = 0;    //!< block columns there
    //! Words behind all else in shared memory: three that iterations vote in, in turn;
    //! what the checks, and two questions about the information bits, come to; behind
    //! them two a pair.
    static constexpr int check = 3, negative = 4, zero = 5, votes = 6;
    int flags_at() const { return shared_at + 4 * threads * shared_words; }

    //! Where the received bits go: columns first ... first + count - 1 are codeword bits
    //! from + 0, from + 1, ...; else as ldpc_decoding::sources() says. In the order of
    //! the blocks' columns.
    struct run {
        int first, count, from;
    };
    std::vector<run> runs;
    std::vector<int> sources; //!< the same column by column

    //! Where each bit that goes out stands among the blocks' columns; with
    //! private_flag where its column is private.
    std::vector<int> outputs;
    static constexpr int private_flag = 1 << 30;
    std::vector<int> info;        //!< the same of the information bits, whatever goes out
    bool info_in_order = true;    //!< one after the other
    bool outputs_in_order = true; //!< one after the other, none private

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
