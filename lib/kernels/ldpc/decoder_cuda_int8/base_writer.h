/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"
#include <map>
#include <memory>
#include <vector>

namespace gr::cudaphy::kernels {

// The arithmetic: binary16 numbers, two a register. With u = 2^-11, the spacing of
// binary16 between 1/2 and 1, and C = 1/2 + 128 u, an L is kept as C + L u and a message
// as T = C + r u, the latter as the last byte of T, whose first byte is always 0x38. Then
//   q = (C + L u) - T              is exact,
//   T = m s + C                    one fused multiply-add, rounds r to whole steps,
//   C + L u = min(1, max(0, q + T)) one saturating addition: L from -1152 to 896,
// and the signed least magnitude of two q is one instruction (min.xorsign.abs).

//! Which of a program's codes is written, and the names that it shares with the others.
struct ldpc_cuda_part {
    ptx_names& names;
    int code, codes;
};

//! What both forms of the kernel share: that arithmetic, and a thread's words.
class ldpc_cuda_base_writer : protected ptx_writer
{
protected:
    static constexpr const char* center = "0x38803880";   // C twice
    static constexpr const char* greatest = "0x3c003c00"; // L's greatest, 1, twice

    ldpc_cuda_base_writer(const ldpc_decoding& decoding,
                          const ldpc_cuda_store& store,
                          const ldpc_cuda_part& part)
        : ptx_writer(part.names), d_part(part), d_parameters(decoding.parameters),
          d_code(*decoding.code), d_store(store), d_outputs(decoding.output_bits()),
          d_bytes(static_cast<int>(decoding.output_bytes()))
    {
    }

    // The frame.

    void begin_arguments();
    //! This block among those of the code.
    name block_number();
    //! This thread's warp as a mask, where thread `number` is one of `threads`.
    name lanes(const name& number, int threads);
    void begin_arithmetic();
    name argument64(int offset);
    name argument32(const char* type, int offset);

    // A thread's words.

    void name_registers();
    //! Finds a place for this block's words on the device that no other block uses.
    //! `scratch_at`: a word of shared memory, 0 before and after.
    void take_slot(int scratch_at);
    void leave_slot();
    //! One of this thread's words, wherever it is.
    name word(int number)
    {
        const auto here = d_in_hand.find(number);
        if (here != d_in_hand.end()) {
            return here->second;
        }
        return number < d_store.register_words ? d_registers[number]
               : is_on_device(number)          ? load_from_device(number)
                                               : load(d_t4, word_at(number));
    }
    void set_word(int number, const name& value)
    {
        if (number < d_store.register_words) {
            say("mov.b32 %s, %s;", d_registers[number], value);
        } else if (is_on_device(number)) {
            say("st.global.b32 [%s+%d], %s;", d_device, device_at(number), value);
        } else {
            say("st.shared.b32 [%s+%d], %s;", d_t4, word_at(number), value);
        }
    }
    bool is_on_device(int word) const
    {
        return word >= d_store.register_words + d_store.shared_words;
    }
    name load_from_device(int word)
    {
        return b32("ld.global.b32", "[%s+%d]", d_device, device_at(word));
    }
    int word_at(int word) const
    {
        return d_store.shared_at + 4 * d_store.stride * (word - d_store.register_words);
    }
    int device_at(int word) const
    {
        return 4 * d_store.threads *
               (word - d_store.register_words - d_store.shared_words);
    }

    // Pieces of arithmetic.

    name load(const name& address, int offset)
    {
        return b32("ld.shared.b32", "[%s+%d]", address, offset);
    }
    //! As load(); reads nothing where this thread is idle, and its value is anything.
    name load_at_work(const name& address, int offset)
    {
        if (d_active.empty()) {
            return load(address, offset);
        }
        // A copy of what is never written, or the translator would keep the value of the
        // iteration before.
        const name value = b32("mov.b32", "%s", d_undefined);
        say("@%s ld.shared.b32 %s, [%s+%d];", d_active, value, address, offset);
        return value;
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
    bool has_crc() const { return d_parameters.stop_crc.bits > 0; }

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

    // Iterations.

    //! Begins their loop at that label, with the factor of each in d_scale.
    void begin_iterations(const name& again);
    //! Counts one; whether it was the last.
    name count_iteration();

    // Received values.

    int llr_bytes() const;
    //! A received value at `address` + `offset`, 0 where `guard` is false.
    name received_value(const name& guard, const name& address, int offset);
    //! C + L u of two received values.
    name received_pair(const name (&value)[2]);

    const ldpc_cuda_part d_part;
    const ldpc_decoder::parameters& d_parameters;
    const ldpc_code& d_code;
    ldpc_cuda_store d_store;
    const int d_outputs;
    const int d_bytes;

    name d_llr, d_bits, d_iterations, d_ok, d_soft, d_scales, d_sources, d_places, d_info;
    name d_batch, d_steps, d_most_iterations, d_slot_count, d_workspace, d_slots;
    name d_t, d_t4, d_memory;
    name d_active, d_undefined; //!< predicate, empty: all threads are at work
    name d_upper, d_center, d_most, d_least, d_scale, d_odd, d_iteration;
    name d_device, d_slot; //!< this thread's words on the device; the block's place there
    std::vector<name> d_registers; //!< words in registers
    std::map<int, name> d_in_hand; //!< words elsewhere that are loaded already
};

} // namespace gr::cudaphy::kernels
