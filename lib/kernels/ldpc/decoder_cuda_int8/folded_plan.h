/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"
#include <array>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief The plan of the folded form: which thread does what, and where every value lies,
 * for a quasi-cyclic code so long that a block has room for one codeword only.
 *
 * The code is folded. Let h be half the lifting size. Thread j takes checks j and j + h
 * of every block row in the halves of its registers. A word of shared memory holds bits i
 * and i + h of a block column; which bit the first word holds is chosen for each column.
 * A circulant that begins d bits further on pairs thread j with word (j + d) mod h. The
 * word's halves are exchanged if h <= j + d < 2 h.
 *
 * If there is room, a column has a copy of its words behind them, with the halves
 * exchanged. Then word j + d always has the wanted order. Each thread writes such a
 * column back to word j, so that it needs no address; the column then begins with the bit
 * with which its last check began.
 *
 * If the code has pairs of rows without a common column (row_pairs.h), each of two groups
 * of threads takes one row of a pair. Else the groups share the edges of each row, and
 * exchange the least of their edges. The loads of a step are issued while the step before
 * computes, except for columns that the step before writes.
 */
struct ldpc_cuda_folded_plan {
    static constexpr int groups = 2;

    struct edge {
        int column;     //!< block column
        int shift;      //!< in words, less than half
        bool exchanged; //!< whether word j + shift has thread j's halves exchanged
        int round;      //!< ldpc_fixed_schedule::edge::round
        int missing;    //!< check without this edge, or -1
        bool is_own;    //!< no other thread has this word, in any row
        bool is_late;   //!< the step before writes its word
        //! Only for a column with a copy: `exchanged` of the column's next edge; whether
        //! that edge, or the parity check after an iteration, has a shift.
        bool is_copied, next_exchanged, next_moves;
        int rest_shift; //!< `shift` and `exchanged` between iterations
        bool rest_exchanged;
    };
    //! A row, or a pair of them.
    struct step {
        std::array<std::vector<edge>, groups> edges;
        std::array<int, groups> first{}; //!< of the messages, two bytes each
        int rounds = 1;
        std::array<bool, groups> tells{}; //!< whether a group's row is of telling checks
        bool has_late = false;
    };

    //! \param row_pairs  ldpc_row_pairs() of the code
    //! \throws std::invalid_argument if the code does not fit into a block.
    ldpc_cuda_folded_plan(const ldpc_decoding&,
                          int shared_bytes_a_block,
                          const std::vector<std::array<int, 2>>& row_pairs);

    int half = 0;          //!< of the lifting size: threads of a group with checks
    int group_threads = 0; //!< a multiple of 32
    //! Whether a group's idle threads leave at once. They stay if no whole warp would be
    //! left, because the output needs one.
    bool idle_leave() const { return half >= 32; }
    bool in_pairs = false; //!< whether each group has a row of its own
    std::vector<step> steps;
    //! Of each block column, between iterations: the bit in the lower half of its first
    //! word, or in the upper half if `exchanged`; its first word; whether it has a copy.
    std::vector<int> begins, first_word;
    std::vector<char> exchanged, copied;
    std::array<ldpc_cuda_store, groups> stores;
    //! In shared memory, behind the L: if rows are shared, the least of each thread's
    //! edges, for two rows in turn; then two words for the block; then the threads'
    //! words.
    int least_at = 0, scratch_at = 0;
    int threads() const { return groups * group_threads; }

    //! ldpc_decoding::sources() for each half of the words that hold L.
    std::vector<int> source_of;
    //! Two numbers for each word without its copy, one for each half. Words stand in the
    //! order of the received bits, so that neighbouring threads read neighbouring bytes.
    //! Bits 0 to 19: 2 + the half's source. Bits 20 to 31 of the first number and 20 to
    //! 27 of the second: the word. Bit 31 of the second: whether the word has a copy.
    std::vector<int> sources;
    static constexpr int source_bits = 20, word_bits = 12;
    //! The half word of each output bit, and of each information bit.
    std::vector<int> outputs, info;
    //! Block columns of nothing but information; empty if others hold information too.
    std::vector<int> info_columns;

private:
    using circulant = ldpc_circulants::circulant;
    //! Plans copies of up to `copies` columns. False if shared memory is too small, not
    //! counting the threads' words.
    bool build(const ldpc_decoding&, int shared_bytes_a_block, int copies);
    void choose_copies(const ldpc_code&, int copies);
    void choose_begins(const ldpc_code&);
    void make_steps(const ldpc_code&);
    std::vector<edge>
    edges_of(int row, const ldpc_circulants&, std::vector<size_t>& seen);
    void share(std::vector<edge>, step&);
    void mark_late();
    void place_words(int shared_at, int shared_bytes_a_block);
    void list_places(const ldpc_decoding&);
    void list_sources();
    void list_info_columns(const ldpc_code&);
    std::vector<std::array<int, groups>> d_pairs;    //!< of rows
    std::vector<int> d_order;                        //!< of rows
    std::vector<std::vector<const circulant*>> d_of; //!< each block column, in order
    std::vector<char> d_is_own, d_is_fixed;
};

} // namespace gr::cudaphy::kernels
