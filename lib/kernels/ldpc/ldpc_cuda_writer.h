/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/ldpc_cuda_plan.h"
#include "kernels/ldpc/ptx_writer.h"
#include <map>
#include <memory>
#include <set>

namespace gr::cudaphy::kernels {

// The arithmetic: binary16 numbers, two codewords a register. With u = 2^-11, the spacing
// of binary16 between 1/2 and 1, and C = 1/2 + 128 u, an L is kept as C + L u and a
// message as T = C + r u, the latter as the last byte of T, whose first byte is always
// 0x38. Then
//   q = (C + L u) - T              is exact,
//   T = m s + C                    one fused multiply-add, rounds r to whole steps,
//   C + L u = min(1, max(0, q + T)) one saturating addition: L from -1152 to 896,
// and the signed least magnitude of two q is one instruction (min.xorsign.abs).
//
// An L lies in shared memory, a word for the two codewords of a pair: column c, bit i at
// (c z + i) words. A private column's word holds its received value and its message, a
// byte each and codeword, both + 128.
//
// The address of bit (i + shift) mod z is the lesser of i + shift and i + shift - z as
// unsigned numbers.
//
// The parts of the program are written by ldpc_cuda_receive.cc, ldpc_cuda_visit.cc (an
// iteration), ldpc_cuda_vote.cc (who is done) and ldpc_cuda_output.cc, and put together
// by ldpc_cuda_source.cc.
class kernel_writer : private ptx_writer
{
public:
    kernel_writer(const ldpc_decoding& decoding, const ldpc_cuda_plan& plan)
        : d_parameters(decoding.parameters), d_code(*decoding.code), d_plan(plan),
          d_outputs(decoding.output_bits()),
          d_bytes(static_cast<int>(decoding.output_bytes()))
    {
    }

    std::string text();

private:
    static constexpr const char* center = "0x38803880"; // C twice

    // Where things are.

    //! Address of bit (i + shift) mod z of block column 0; a column's own is 4 z further.
    name place(int shift)
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
    int word_at(int word) const
    {
        return 4 * (d_plan.z * d_plan.shared_columns +
                    (word - d_plan.register_words) * d_plan.threads);
    }
    int flags_at() const { return word_at(d_plan.register_words + d_plan.shared_words); }
    //! One of this thread's words, wherever it is.
    name word(int number)
    {
        const auto here = d_in_hand.find(number);
        if (here != d_in_hand.end()) {
            return here->second;
        }
        return number < d_plan.register_words ? d_registers[number]
               : is_on_device(number)         ? load_from_device(number)
                                              : load(d_t4, word_at(number));
    }
    void set_word(int number, const name& value)
    {
        if (number < d_plan.register_words) {
            say("mov.b32 %s, %s;", d_registers[number], value);
        } else if (is_on_device(number)) {
            say("st.global.b32 [%s+%d], %s;", d_device, device_at(number), value);
        } else {
            say("st.shared.b32 [%s+%d], %s;", d_t4, word_at(number), value);
        }
    }
    bool is_on_device(int word) const
    {
        return word >= d_plan.register_words + d_plan.shared_words;
    }
    int device_at(int word) const
    {
        return 4 * d_plan.threads * (word - d_plan.register_words - d_plan.shared_words);
    }
    name load_from_device(int word)
    {
        return b32("ld.global.b32", "[%s+%d]", d_device, device_at(word));
    }

    // Pieces of arithmetic.

    name load(const name& address, int offset)
    {
        return b32("ld.shared.b32", "[%s+%d]", address, offset);
    }
    void store(const name& address, int offset, const name& value, int missing = -1)
    {
        const name guard = missing < 0 ? d_active : guard_against(missing);
        if (guard.empty()) {
            say("st.shared.b32 [%s+%d], %s;", address, offset, value);
        } else {
            say("@%s st.shared.b32 [%s+%d], %s;", guard, address, offset, value);
        }
    }
    //! True where this thread is at work and its check is not `missing`.
    name guard_against(int missing)
    {
        const name here = p();
        say("setp.ne.u32 %s, %s, %d;", here, d_check, missing);
        if (!d_active.empty()) {
            say("and.pred %s, %s, %s;", here, here, d_active);
        }
        return here;
    }
    //! Messages T of bytes (first, first + 1) of a packed word.
    name unpacked(const name& word, int first)
    {
        return b32(
            "prmt.b32", "%s, %s, 0x%s", word, d_upper, first == 0 ? "4140" : "4342");
    }
    name sub(const name& a, const name& b) { return b32("sub.rn.f16x2", "%s, %s", a, b); }
    name saturated_sum(const name& a, const name& b)
    {
        return b32("add.rn.sat.f16x2", "%s, %s", a, b);
    }
    name less(const name& a, const name& b)
    {
        return b32("min.xorsign.abs.f16x2", "%s, %s", a, b);
    }
    name scaled(const name& least)
    {
        return b32("fma.rn.f16x2", "%s, %s, %s", least, d_scale, d_center);
    }

    //! C + L u of a private column's word.
    name private_l(const name& word)
    {
        return saturated_sum(sub(unpacked(word, 0), d_center), unpacked(word, 2));
    }
    bool has_crc() const { return d_parameters.stop_crc.bits > 0; }

    // The frame.

    name argument64(int offset);
    name argument32(const char* type, int offset);
    void begin();
    void name_registers();
    void clear_messages();
    void take_slot();
    void leave_slot();
    void iterate();

    // Receiving.

    //! A received bit on its way.
    struct arrival {
        static constexpr int tabled = 1;
        int from = 0; //!< -1: punctured, -2: shortened; tabled: `source` says
        name source;  //!< bit of the codeword, from the table
        name address[2];
        name value[2];
    };
    void receive();
    arrival request(int block_column, int lifting_size);
    name in_place(const arrival&);
    int llr_bytes() const;

    // An iteration.

    //! A tree over some of a check's q, whose leaves get the product of the signs and the
    //! least magnitude of all others: 3 (n - 2) operations for n leaves, as from both
    //! ends of a list, but of logarithmic depth.
    struct node {
        name value;
        int edge = -1; //!< of a leaf
        std::unique_ptr<node> left, right;
    };
    std::unique_ptr<node> tree(const std::vector<name>& q, const std::vector<int>& edges);
    std::unique_ptr<node> joined(std::unique_ptr<node> left, std::unique_ptr<node> right);
    const name& least_of(node& at);
    void give_others(node& at, const name& outside, std::vector<name>& out);
    //! What a thread has in hand of its check.
    struct in_hand {
        std::vector<name> address, q, old, words;
        std::vector<int> early; //!< edges read before the barrier
        std::unique_ptr<node> early_tree;
    };

    void take(const ldpc_cuda_plan::row& row, int e, in_hand& now);
    in_hand prepare(const ldpc_cuda_plan::row& row, const std::set<int>& written);
    void visit(size_t number, in_hand now);
    void keep(size_t row, const ldpc_cuda_plan::edge& edge, const name& l);
    void fetch_ahead(size_t row);
    void visit_all();
    void shorten();

    // Who is done.

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

    // Putting out.

    //! One thread's bit of 32 that go out.
    struct output_group {
        name pair, number; //!< of the block; the how manieth 32 of the pair's
        name item, value;  //!< which bit, and its L u for both codewords
        name exists;       //!< predicate
        name pair_of_all;  //!< of the batch
    };
    void put_out(const name& which, const name& good);
    void put_bits(const name& which);
    void put_packed(const name& which);
    void put_any(const name& which, bool hard);
    output_group
    output(const name& group, int further, int groups, const name& lane_index);
    name is_wanted(const output_group& of, int lane, const name& which);
    void put_hard(const output_group& of,
                  int lane,
                  const name& which,
                  const name& lane_index,
                  const name& down,
                  const name& few);
    void put_soft(const output_group& of, int lane, const name& which);

    const ldpc_decoder::parameters& d_parameters;
    const ldpc_code& d_code;
    const ldpc_cuda_plan& d_plan;
    const int d_outputs;
    const int d_bytes;

    name d_llr, d_bits, d_iterations, d_ok, d_soft, d_scales, d_sources, d_places, d_info;
    name d_batch, d_steps, d_most_iterations, d_slot_count, d_workspace, d_slots;
    name d_t, d_t4, d_i4, d_w, d_check, d_pair, d_active, d_memory;
    name d_of_pair, d_lane_shift, d_flag; //!< flag: address of the next vote's word
    name d_first_word, d_present; //!< the pair's first codeword; bits of those that exist
    name d_exists[2], d_received[2]; //!< the pair's codewords
    name d_own_received[2];          //!< from this thread's check on
    name d_upper, d_center, d_most, d_least, d_scale, d_odd, d_running, d_iteration;
    name d_device, d_slot; //!< this thread's words on the device; the block's place there
    std::vector<name> d_registers; //!< words in registers
    std::map<int, name> d_in_hand; //!< words elsewhere that are loaded already
};

} // namespace gr::cudaphy::kernels
