/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cuda_int8/base_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/folded_plan.h"
#include <set>

namespace gr::cudaphy::kernels {

// Writes the form for one codeword a block (folded_plan.h says where every value lies).
// Between two barriers a thread takes the least of the other group's edges, finishes its
// own edges, and stores the least of its edges of the next row. folded_visit.cc writes an
// iteration, folded_output.cc the votes and the output, folded_source.cc all else.
class ldpc_cuda_folded_writer : private ldpc_cuda_base_writer
{
public:
    ldpc_cuda_folded_writer(const ldpc_decoding& decoding,
                            const ldpc_cuda_folded_plan& plan,
                            const ldpc_cuda_part& part)
        : ldpc_cuda_base_writer(decoding, plan.stores[0], part), d_plan(plan)
    {
    }

    //! The code's part of the program.
    std::string text();

private:
    static constexpr int last_group = ldpc_cuda_folded_plan::groups - 1;

    // Parts of the program.

    void begin();
    void receive();
    void clear_messages();
    void iterate();
    //! Writes what each(group) writes once for each group, for that group's threads.
    template <typename Each>
    void for_groups(Each each)
    {
        const name others = label(), past = label();
        emit("@%s bra %s;", d_is_last, others);
        d_store = d_plan.stores[0];
        each(0);
        emit("bra %s;", past);
        emit("%s:", others);
        d_store = d_plan.stores[last_group];
        each(last_group);
        emit("%s:", past);
    }

    //! A barrier within one group's part. It is barrier.sync because the groups reach it
    //! at different places of the program, and a part of a warp may have left.
    void block_barrier() { emit("barrier.sync 0;"); }

    // An iteration.

    //! What a thread has loaded of its part of a row.
    struct in_hand {
        std::vector<name> address, l, old, q; //!< l: the word as stored
        std::map<int, name> of_shift;         //!< addresses
        std::map<int, name> passes;           //!< predicate: the address wrapped
        std::vector<int> early, late;
        std::unique_ptr<node> early_tree, all;
    };
    void visit_all(int group);
    void fetch(size_t row, int group, bool late, in_hand& now);
    void take(size_t row, int group, bool late, in_hand& now);
    void give_least(size_t row, in_hand& now);
    void finish(size_t row, int group, in_hand& now);
    void keep_messages(size_t row, int group, const std::vector<name>& message);
    void fetch_words_ahead(size_t row, int group);
    void shorten();
    void fill_shortened(int first, int part);

    bool moves_late(size_t step) const;
    bool hands_on(size_t row, int group, const ldpc_cuda_folded_plan::edge&) const;
    void forget_addresses(const std::vector<ldpc_cuda_folded_plan::edge>& edges);
    name address_of(int shift, in_hand& now);
    //! `value` with its halves exchanged if the edge wants it; for loads and for stores.
    name turned(const ldpc_cuda_folded_plan::edge&, const name& value, in_hand& now);
    void
    store(const ldpc_cuda_folded_plan::edge&, const name& value, int e, in_hand& now);
    //! Predicate: this thread's check, in the half of `missing`, is check `missing`.
    name is_missing(int missing);
    //! Mask of the half that check `missing` is in.
    unsigned half_of(int missing) const
    {
        return missing < d_plan.half ? 0xffffu : 0xffff0000u;
    }
    void add_parity(name& parity, const name& l, int missing);
    //! Threads that stay to the end; of a group, those in whole warps.
    int workers() const
    {
        return d_plan.idle_leave() ? 2 * d_plan.half : d_plan.threads();
    }
    int whole_of_group() const
    {
        return d_plan.idle_leave() ? d_plan.half / 32 * 32 : d_plan.group_threads;
    }
    int column_at(int column) const { return 4 * d_plan.first_word[column]; }
    int least_at(size_t row) const
    {
        return d_plan.least_at + (row % 2) * 4 * d_plan.threads();
    }

    // Votes and output.

    name check_rows(size_t first, size_t last);
    name find_bad(size_t looked_at);
    name look_at_information();
    name least_of_columns();
    name any(const name& here); //!< predicate of the block: true for some thread
    void put_out(const name& bad);
    void put_bits();

    const ldpc_cuda_folded_plan& d_plan;

    name d_j;                  //!< number of this thread's checks in its group
    name d_w, d_limit;         //!< addresses of this thread's word, of a column's end
    name d_zero;               //!< 0, which the driver's compiler cannot know
    name d_mine, d_partner;    //!< addresses of this thread's and its partner's least
    name d_is_last;            //!< predicate: of the last group
    name d_in_group, d_worker; //!< number in the group, among all threads that stay
    name d_word_received;      //!< the codeword's received values
    std::map<int, name> d_own; //!< L of columns that the row before left in registers
};

} // namespace gr::cudaphy::kernels
