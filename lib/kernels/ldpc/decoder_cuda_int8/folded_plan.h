/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"
#include <array>
#include <vector>

namespace gr::cudaphy::kernels {

/*!
 * \brief Who does what, and where everything lies, in the CUDA kernel of int8 arithmetic
 * for a quasi-cyclic code so long that a block has room for one codeword only.
 *
 * The code is folded: with h half the lifting size, thread j takes checks j and j + h of
 * every block row in the halves of its registers, and a word of shared memory holds bits
 * i and i + h of a block column, from some bit on that suits the column. A circulant
 * that begins d bits further on then pairs thread j with word (j + d) mod h, its halves
 * exchanged where j + d passes h but not 2 h.
 *
 * Where there is room, a column has a copy of its words behind them, with the halves
 * exchanged: then word j + d is always there as it is wanted. Such a column is written
 * back from the bit on that its last check began with, each thread its own word, so that
 * no thread needs an address.
 *
 * Two groups of threads take two rows without a common column at once, a row each, where
 * the code has such pairs (ldpc_row_pairs.h). Else they share the edges of each row, and
 * tell one another the least of theirs. A step's loads are under way while the step
 * before is at work, but for columns that this one writes.
 */
struct ldpc_cuda_folded_plan {
    static constexpr int groups = 2;

    struct edge {
        int column;     //!< block column
        int shift;      //!< in words, less than half
        bool exchanged; //!< halves, where thread j finds word j + shift
        int turn;       //!< as ldpc_fixed_schedule::edge
        int missing;    //!< check without this edge, or -1
        bool is_own;    //!< no other thread has this word, in any row
        bool is_late;   //!< written by the step before
        //! Where the column has a copy: as `exchanged` of its next edge in turn; whether
        //! that one, or the parity checks after an iteration, have a shift.
        bool is_copied, next_exchanged, next_moves;
        int rest_shift; //!< as `shift` and `exchanged` after an iteration
        bool rest_exchanged;
    };
    //! A row, or a pair of them.
    struct step {
        std::array<std::vector<edge>, groups> edges;
        std::array<int, groups> first{}; //!< of its messages: two bytes each
        int turns = 1;
        std::array<bool, groups> tells{}; //!< whether each group's row does
        bool has_late = false;
    };

    //! \throws std::invalid_argument where the code does not fit a block so.
    ldpc_cuda_folded_plan(const ldpc_decoding&, int shared_bytes_a_block);

    int half = 0;          //!< of the lifting size: threads of a group at work
    int group_threads = 0; //!< a multiple of 32
    //! Whether a group's other threads leave at once; not where no whole warp is left,
    //! which it takes to put bits out.
    bool idle_leave() const { return half >= 32; }
    bool in_pairs = false; //!< whether each group has a row of its own
    std::vector<step> steps;
    //! Of each block column: the bit in its first word's lower half, or in its upper
    //! one, where `exchanged`, after an iteration; its first word; whether it has a copy.
    std::vector<int> begins, first_word;
    std::vector<char> exchanged, copied;
    std::array<ldpc_cuda_store, groups> stores;
    //! In shared memory: behind the L, where rows are shared, the least of each thread's
    //! edges, for two rows in turn; then two words for all; the groups' words.
    int least_at = 0, scratch_at = 0;
    int threads() const { return groups * group_threads; }

    //! Source, as ldpc_decoding::sources(), of each half of the words that hold L.
    std::vector<int> source_of;
    //! Two numbers for each word but copies, in the order of the received bits, so that
    //! threads side by side read bytes side by side. Their lower 20 bits: 2 + the source
    //! of a half; the upper 12 of the first one, and 8 of the other: which word; its
    //! highest one: whether there is a copy.
    std::vector<int> sources;
    static constexpr int source_bits = 20, word_bits = 12;
    //! Of each bit that goes out, and of each information bit: its half of a word.
    std::vector<int> outputs, info;
    std::vector<int> info_columns; //!< block columns, where all their bits are such

private:
    using circulant = ldpc_circulants::circulant;
    //! With copies of up to `copies` columns; whether all but a thread's words fits.
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
