/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder_cuda_int8/base_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/plan.h"
#include <set>

namespace gr::cudaphy::kernels {

// Writes the form for pairs of codewords, which stand in the halves of registers
// (base_writer.h explains the arithmetic). L lies in shared memory, one word for the two
// codewords of a pair: column c, bit i at (c z + i) words. The word of a private column
// holds received value and message of both codewords, a byte each, + 128.
//
// The address of bit (i + shift) mod z is the lesser of i + shift and i + shift - z as
// unsigned numbers.
//
// receive.cc, visit.cc (an iteration), vote.cc (which codewords are decoded) and
// output.cc write the parts of the program; source.cc puts them together.
class kernel_writer : private ldpc_cuda_base_writer
{
public:
    kernel_writer(const ldpc_decoding& decoding,
                  const ldpc_cuda_plan& plan,
                  const ldpc_cuda_part& part)
        : ldpc_cuda_base_writer(decoding, plan, part), d_plan(plan)
    {
    }

    //! The code's part of the program.
    std::string text();

private:
    // Addresses.

    //! Address of bit (i + shift) mod z of block column 0. The next column is 4 z
    //! further.
    name address_of(int shift)
    {
        if (shift == 0) {
            return d_w;
        }
        const name beyond = b32("add.u32", "%s, %d", d_i4, 4 * shift);
        const name within = b32("add.u32", "%s, %d", d_i4, 4 * (shift - d_plan.z));
        const name least = b32("min.u32", "%s, %s", beyond, within);
        return b32("add.u32", "%s, %s", least, d_memory);
    }
    int column_at(int column) const { return 4 * d_plan.z * d_plan.position[column]; }
    int flags_at() const { return d_plan.flags_at(); }
    int whole_warps() const { return d_plan.threads / 32; }

    // Pieces of arithmetic.

    void store(const name& address, int offset, const name& value, int missing = -1)
    {
        const name guard = missing < 0 ? d_active : guard_against(missing);
        if (guard.empty()) {
            emit("st.shared.b32 [%s+%d], %s;", address, offset, value);
        } else {
            emit("@%s st.shared.b32 [%s+%d], %s;", guard, address, offset, value);
        }
    }
    //! Predicate: this thread is at work, and its check is not `missing`.
    name guard_against(int missing)
    {
        const name here = p();
        emit("setp.ne.u32 %s, %s, %d;", here, d_check, missing);
        if (!d_active.empty()) {
            emit("and.pred %s, %s, %s;", here, here, d_active);
        }
        return here;
    }
    //! C + L u from a private column's word.
    name private_l(const name& word)
    {
        return saturated_sum(sub(unpacked(word, 0), d_center), unpacked(word, 2));
    }

    // Parts of the program.

    void begin();
    void clear_messages();
    void iterate();

    // Receiving.

    //! A received bit that is being loaded.
    struct arrival {
        static constexpr int tabled = 1;
        int from = 0; //!< -1: punctured, -2: shortened, tabled: see `source`
        name source;  //!< bit of the codeword, read from the table
        name address[2];
        name value[2];
    };
    void receive();
    arrival request(int block_column, int lifting_size);
    name in_place(const arrival&);

    // An iteration.

    //! What a thread has loaded of its check.
    struct in_hand {
        std::vector<name> address, q, old, words;
        std::vector<int> early; //!< edges that are read before the barrier
        std::unique_ptr<node> early_tree;
    };

    void take(const ldpc_cuda_plan::row& row, int e, in_hand& now);
    in_hand prepare(const ldpc_cuda_plan::row& row, const std::set<int>& written);
    void visit(size_t number, in_hand now);
    void keep(size_t row, const ldpc_cuda_plan::edge& edge, const name& l);
    void fetch_ahead(size_t row);
    void visit_all();
    void shorten();

    // Votes: which codewords are decoded.

    void add_parity(name& parity, const name& l, int missing = -1);
    void note_parity(const name& parity);
    void check_all();
    name signs_of(const name& halves);
    void raise(const name& address, int offset, const name& bits);
    void look_at_information();
    void add_remainders(const name (&sums)[2]);
    name find_bad();
    void clear_votes(int first);
    name is_set(const name& mask, int lane);

    // Output.

    //! One thread's bit of a group of 32 output bits.
    struct output_group {
        name pair;        //!< index within the block
        name number;      //!< which group of 32 output bits of that pair
        name item, value; //!< the output bit, and its L u for both codewords
        name exists;      //!< predicate
        name pair_of_all; //!< index of the pair within the batch
    };
    void put_out(const name& which, const name& good);
    void put_bits(const name& which);
    void put_packed(const name& which);
    void put_any(const name& which, bool hard);
    output_group
    output(const name& group, int further, int groups, const name& lane_index);
    name is_wanted(const output_group& bits, int lane, const name& which);
    void put_hard(const output_group& bits,
                  int lane,
                  const name& which,
                  const name& lane_index,
                  const name& down,
                  const name& writes_bytes);
    void put_soft(const output_group& bits, int lane, const name& which);

    const ldpc_cuda_plan& d_plan;

    name d_i4, d_w, d_check, d_pair;
    name d_of_pair, d_lane_shift, d_flag; //!< d_flag: address of the next vote's word
    name d_first_word;                    //!< the pair's first codeword
    name d_present;                       //!< mask of the block's codewords that exist
    name d_exists[2], d_received[2];      //!< of the pair's codewords
    name d_own_received[2];               //!< as d_received, from this thread's check on
    name d_word_steps[2];                 //!< of this thread's pair
    name d_running;
};

} // namespace gr::cudaphy::kernels
