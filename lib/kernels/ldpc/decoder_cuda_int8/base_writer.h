/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_writer.h"
#include "kernels/ldpc/decoder_cuda_int8/store.h"
#include <map>
#include <memory>
#include <vector>

namespace gr::cudaphy::kernels {

// The arithmetic takes binary16 numbers, two in each register. Let u = 2^-11, the spacing
// of binary16 between 1/2 and 1, and C = 1/2 + 128 u. An L is stored as C + L u. A
// message r is T = C + r u; its first byte is always 0x38, so only its last byte is
// stored. Then
//   q = (C + L u) - T              is exact,
//   T = m s + C                    one fused multiply-add, rounds r to whole steps,
//   C + L u = min(1, max(0, q + T)) one saturating addition: L from -1152 to 896,
// and the signed least magnitude of two q is one instruction (min.xorsign.abs).

//! The code that is written: number `code` of `codes` that share a program and its names.
struct ldpc_cuda_part {
    ptx_names& names;
    int code, codes;
};

//! Shared by both forms: the arithmetic, and access to a thread's words.
class ldpc_cuda_base_writer : protected ptx_writer
{
protected:
    static constexpr const char* center = "0x38803880";   // C twice
    static constexpr const char* greatest = "0x3c003c00"; // L's greatest, 1, twice

    ldpc_cuda_base_writer(const ldpc_decoding& decoding,
                          const ldpc_cuda_store& store,
                          const ldpc_cuda_part& part)
        : ptx_writer(part.names), d_part(part), d_parameters(decoding.parameters),
          d_code(*decoding.code), d_damps(decoding.damps()),
          d_corrects(decoding.corrects()),
          d_words_have_steps(decoding.words_have_steps()), d_store(store),
          d_outputs(decoding.output_bits()),
          d_bytes(static_cast<int>(decoding.output_bytes()))
    {
    }

    // Parts of the program.

    void begin_arguments();
    //! The number of this block among the code's blocks.
    name block_number();
    //! Mask of the lanes of this warp that exist if only `threads` threads are at work.
    name lanes(const name& number, int threads);
    void begin_arithmetic();
    name argument64(int offset);
    name argument32(const char* type, int offset);

    // A thread's words.

    void name_registers();
    //! Takes a slot of the workspace in device memory that no other block uses.
    //! \param scratch_at  a word of shared memory, 0 before and after
    void take_slot(int scratch_at);
    void leave_slot();
    //! Reads one of this thread's words from where it lies.
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
            emit("mov.b32 %s, %s;", d_registers[number], value);
        } else if (is_on_device(number)) {
            emit("st.global.b32 [%s+%d], %s;", d_device, device_at(number), value);
        } else {
            emit("st.shared.b32 [%s+%d], %s;", d_t4, word_at(number), value);
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
    //! As load(). An idle thread reads nothing and gets an arbitrary value.
    name load_at_work(const name& address, int offset)
    {
        if (d_active.empty()) {
            return load(address, offset);
        }
        // A copy of a register that is never written. Without it the driver's compiler
        // would keep the value of the iteration before.
        const name value = b32("mov.b32", "%s", d_undefined);
        emit("@%s ld.shared.b32 %s, [%s+%d];", d_active, value, address, offset);
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
    //! The greater magnitude, with the product of the signs.
    name greater(const name& a, const name& b)
    {
        return b32("max.xorsign.abs.f16x2", "%s, %s", a, b);
    }
    name less(const name& a, const name& b)
    {
        return b32("min.xorsign.abs.f16x2", "%s, %s", a, b);
    }
    //! The message of the others' least. \param old  the message before
    name scaled(const name& least, const name& old)
    {
        const name factor = d_damps ? damped_factor(least, old) : d_scale;
        return b32("fma.rn.f16x2", "%s, %s, %s", least, factor, d_center);
    }
    //! The factor, or a part of it in halves of a word where the sign changes. The least
    //! product that is not 0 is u u = 2^-22, which binary16 holds.
    name damped_factor(const name& least, const name& old)
    {
        const name product = b32("mul.rn.f16x2", "%s, %s", least, sub(old, d_center));
        const name changes = b32("set.lt.f16x2.f16x2", "%s, %s", product, d_nothing);
        return b32("fma.rn.f16x2", "%s, %s, %s", changes, d_scale_less, d_scale);
    }
    bool has_crc() const { return d_parameters.stop_crc.bits > 0; }

    //! A tree over some of a check's q. Each leaf gets the product of the signs and the
    //! least magnitude of all other leaves. It takes 3 (n - 2) operations for n leaves,
    //! as two passes over a list do, but in logarithmic depth.
    struct node {
        name value;
        name second;   //!< see `others`; empty before it is computed
        int edge = -1; //!< of a leaf
        std::unique_ptr<node> left, right;
    };
    std::unique_ptr<node> tree(const std::vector<name>& q, const std::vector<int>& edges);
    std::unique_ptr<node> joined(std::unique_ptr<node> left, std::unique_ptr<node> right);
    const name& least_of(node& at);
    //! Some bits of a check: the least q of them with the product of their signs, and, if
    //! messages are corrected, the second least with any sign, at most d_most. It is
    //! empty for a single bit.
    struct others {
        name least, second;
    };
    others others_of(node& at);
    others together(const others& a, const others& b)
    {
        return { less(a.least, b.least), d_corrects ? second_of(a, b) : name() };
    }
    name second_of(const others& a, const others& b);
    void give_others(node& at, const others& outside, std::vector<name>& out);
    //! The least q, or the corrected message, of a check's other bits.
    name corrected(const others& bits);

    // Iterations.

    //! Begins the loop at label `again`, with the iteration's factor in d_scale.
    void begin_iterations(const name& again);
    //! Counts an iteration. Predicate: it was the last one.
    name count_iteration();

    // Received values.

    int llr_bytes() const;
    //! The received value at `address` + `offset`; 0 if `guard` is false.
    name received_value(const name& guard, const name& address, int offset);
    //! The steps of word number `word` in a unit of LLR. Reads nothing if `guard`,
    //! unless it is empty, is false.
    name steps_of(const name& word, const name& guard = "");
    //! C + L u of two received values of words that have these steps.
    name received_pair(const name (&value)[2], const name (&steps)[2]);

    const ldpc_cuda_part d_part;
    const ldpc_decoder::parameters& d_parameters;
    const ldpc_code& d_code;
    const bool d_damps;
    const bool d_corrects;         //!< needs d_damps
    const bool d_words_have_steps; //!< each its own, where its iterations will stand
    ldpc_cuda_store d_store;
    const int d_outputs;
    const int d_bytes;

    name d_llr, d_bits, d_iterations, d_ok, d_soft, d_scales, d_sources, d_places, d_info;
    name d_batch, d_steps, d_most_iterations, d_slot_count, d_workspace, d_slots;
    name d_t, d_t4, d_memory;
    name d_active;    //!< predicate: this thread is at work; empty: all threads are
    name d_undefined; //!< never written
    name d_upper, d_center, d_most, d_least, d_scale, d_odd, d_iteration;
    name d_nothing;                                  //!< 0, twice, if d_damps
    name d_scale_less;                               //!< -damping * d_scale, if d_damps
    name d_half, d_minus_quarter, d_most_correction; //!< if d_corrects
    name d_device;                 //!< address of this thread's words in device memory
    name d_slot;                   //!< the block's slot there
    std::vector<name> d_registers; //!< words in registers
    std::map<int, name> d_in_hand; //!< other words that are in a register at the moment
};

} // namespace gr::cudaphy::kernels
