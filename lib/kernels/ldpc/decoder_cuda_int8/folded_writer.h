/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cuda_int8/base_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/folded_plan.h"
#include <set>

namespace gr::cudaphy::kernels {

// The form for one codeword a block (ldpc_cuda_folded_plan.h says where everything lies).
// A row goes from barrier to barrier: a thread takes the least of the other group's
// edges, finishes its own, and stores the least of its edges of the next row. Written by
// ldpc_cuda_folded_visit.cc (an iteration), ldpc_cuda_folded_output.cc (who is done, and
// what goes out) and ldpc_cuda_folded_source.cc (all else).
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
    //! Steps whose checks are looked at in turn, all others last: before a codeword is
    //! decoded some of the first are odd, as a rule. Even numbers.
    static constexpr std::array<size_t, 3> looks{ 2, 6, 18 };

    // The frame.

    void begin();
    void receive();
    void clear_messages();
    void iterate();
    //! What `each` says for one group after the other, each for its own threads alone.
    template <typename Each>
    void for_groups(Each each)
    {
        const name others = label(), past = label();
        say("@%s bra %s;", d_is_last, others);
        d_store = d_plan.stores[0];
        each(0);
        say("bra %s;", past);
        say("%s:", others);
        d_store = d_plan.stores[last_group];
        each(last_group);
        say("%s:", past);
    }

    //! A barrier in one group's part: the groups come there from different places of the
    //! program, and a part of a warp may have left.
    void meet() { say("barrier.sync 0;"); }

    // An iteration.

    //! What a thread has in hand of its part of a row.
    struct in_hand {
        std::vector<name> address, l, old, q; //!< l: the word as it is stored
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
    //! Halves exchanged where the edge says so; on the way out of shared memory or back.
    name turned(const ldpc_cuda_folded_plan::edge&, const name& value, in_hand& now);
    void
    store(const ldpc_cuda_folded_plan::edge&, const name& value, int e, in_hand& now);
    //! Predicate: this thread's check, in the half `missing` is in, is the missing one.
    name is_missing(int missing);
    //! Bits of the half that check `missing` is in.
    unsigned half_of(int missing) const
    {
        return missing < d_plan.half ? 0xffffu : 0xffff0000u;
    }
    void add_parity(name& parity, const name& l, int missing);
    //! Threads that stay; those of whole warps among them.
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

    // Who is done, and what goes out.

    name check_rows(size_t first, size_t last);
    name find_bad(size_t looked_at);
    name look_at_information();
    name least_of_columns();
    name any(const name& here); //!< predicate of the block, of one of each thread
    void put_out(const name& bad);
    void put_bits();

    const ldpc_cuda_folded_plan& d_plan;

    name d_j, d_w, d_limit;    //!< of this thread in its group; its word; end of a column
    name d_zero;               //!< as only the program itself knows
    name d_mine, d_partner;    //!< where this and the partner's least lie
    name d_is_last;            //!< predicate: of the last group
    name d_in_group, d_worker; //!< number in the group; among all threads that stay
    name d_word_received;      //!< the codeword's received values
    std::map<int, name> d_own; //!< L of columns that the row before has in hand
};

} // namespace gr::cudaphy::kernels
