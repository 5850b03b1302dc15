/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The decoder in float32: one block for each codeword, one thread for each check of a
// layer, a barrier after each layer.
//
// A check reads L and adds its messages to L. With flooding it adds them to a second set
// of L, which begins with the received values. Both sets and the checks' states lie in
// shared memory if they fit (cuda.cu chooses).

#include "kernels/ldpc/decoder/schedule.h"
#include "kernels/ldpc/decoder/tuning.cuh"
#include <cuda_fp16.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = ldpc_decoder_tuned.most_threads;
constexpr int bits_a_word = 32;

//! What of a codeword's state lies in shared memory. The rest lies in a workspace.
enum class shared_state { l_and_states, l_alone, none };

//! The messages of a check with min-sum. The signs of messages to slots from 32 on stand
//! in further words.
struct alignas(16) check_state {
    float to_least;     //!< magnitude of the message to the bit `least`
    float to_others;    //!< magnitude of the message to all other bits
    unsigned least;     //!< slot of the bit with the least |q|
    unsigned negatives; //!< signs of the messages to slots 0 ... 31, a bit each
};

struct alignas(16) check_entry {
    int first, stride, degree; //!< as ldpc_schedule::check
    int further_signs;         //!< index of its first further word
};

template <typename Index>
struct cuda_plan {
    const check_entry* checks;
    const int* layer_start;
    const Index* columns;
    const int* sources;        //!< as ldpc_decoding::sources(); null: the bits in order
    const int* positions;      //!< null: the first output_bits
    const float* scales;       //!< of each iteration
    const int* information;    //!< columns, (k)
    const uint32_t* crc_terms; //!< (k); null: the parity checks decide
    const int* telling;        //!< checks, (telling_count); null: all of them
    int check_count, telling_count, layers, n, variables, output_bits, output_bytes, k,
        crc_bits;
    int max_iterations;
    float offset, llr_scale;
    bool early_stop, positive_is_one, packed;
    ldpc_decoder::number type; //!< of the LLRs

    // Of each resident block; null if unused or in shared memory:
    float* l;             //!< (l_size): variables, or twice that with flooding
    check_state* states;  //!< (checks)
    unsigned* more_signs; //!< (sign_words)
    float* messages;      //!< of sum-product, (edges)
    float* known;         //!< (known_size): degrees x threads
    size_t l_size, sign_words, edges, known_size;
};

struct cuda_batch {
    const void* llr;
    uint8_t* bits;
    int* iterations;
    int* ok;
    float* soft; //!< null: not wanted
    size_t words;
};

//! Where a block keeps its codeword's state.
struct block_state {
    float* l;
    float* sums; //!< with flooding: L of the next iteration
    check_state* states;
    unsigned* more_signs;
    float* messages;
    float* known;
};

__device__ float message(const check_state& state, unsigned slot, unsigned negatives)
{
    const float magnitude = slot == state.least ? state.to_least : state.to_others;
    return __uint_as_float(__float_as_uint(magnitude) | (negatives >> slot % bits_a_word)
                                                            << 31);
}

//! Adds a check's message r to the L of a bit.
template <bool Flooding>
__device__ void add_message(const block_state& at, int column, float q, float r)
{
    if constexpr (Flooding) {
        at.sums[column] = __fadd_rn(at.sums[column], r);
    } else {
        at.l[column] = __fadd_rn(q, r);
    }
}

//! Updates one check by min-sum.
template <bool Flooding, typename Index>
__device__ void min_sum(const cuda_plan<Index>& plan,
                        const block_state& at,
                        int number,
                        float scale,
                        bool first_iteration)
{
    const check_entry check = plan.checks[number];
    const Index* __restrict__ column = plan.columns + check.first;
    unsigned* further = at.more_signs + check.further_signs;
    const auto old_signs = [&](const check_state& state, int slot) {
        return slot == 0         ? state.negatives
               : first_iteration ? 0u
                                 : further[slot / bits_a_word - 1];
    };

    check_state old{ 0.0f, 0.0f, 0, 0 };
    if (!first_iteration) {
        old = at.states[number];
    }
    float least = ldpc_decoding::clamp;
    float second = ldpc_decoding::clamp;
    unsigned least_slot = 0;
    unsigned signs = 0; // bit 31: the product of all signs
    for (int begin = 0; begin < check.degree; begin += bits_a_word) {
        const unsigned negatives = old_signs(old, begin);
        const int end = min(begin + bits_a_word, check.degree);
#pragma unroll 4
        for (int slot = begin; slot < end; ++slot) {
            const float l = at.l[column[slot * check.stride]];
            const float q = __fsub_rn(l, message(old, slot, negatives));
            const float magnitude = fabsf(q);
            signs ^= __float_as_uint(q);
            second = fminf(second, fmaxf(least, magnitude));
            least_slot = magnitude < least ? slot : least_slot;
            least = fminf(least, magnitude);
        }
    }

    const auto weakened = [&](float magnitude) {
        return fmaxf(__fsub_rn(__fmul_rn(magnitude, scale), plan.offset), 0.0f);
    };
    check_state now{ weakened(second), weakened(least), least_slot, 0 };
    for (int begin = 0; begin < check.degree; begin += bits_a_word) {
        const unsigned negatives = old_signs(old, begin);
        const int end = min(begin + bits_a_word, check.degree);
        unsigned now_negative = 0;
#pragma unroll 4
        for (int slot = begin; slot < end; ++slot) {
            const int here = column[slot * check.stride];
            const float q = __fsub_rn(at.l[here], message(old, slot, negatives));
            const unsigned negative = (signs ^ __float_as_uint(q)) >> 31;
            now_negative |= negative << slot % bits_a_word;
            add_message<Flooding>(at, here, q, message(now, slot, now_negative));
        }
        if (begin == 0) {
            now.negatives = now_negative;
        } else {
            further[begin / bits_a_word - 1] = now_negative;
        }
    }
    at.states[number] = now;
}

//! The message of two bits of a check to the third one, all as magnitudes.
__device__ float box_plus(float a, float b)
{
    const float far = expf(-__fadd_rn(a, b));
    const float near = expf(-fabsf(__fsub_rn(a, b)));
    const float change = __fdiv_rn(__fsub_rn(far, near), __fadd_rn(1.0f, near));
    return fmaxf(__fadd_rn(fminf(a, b), log1pf(change)), 0.0f);
}

//! Updates one check by sum-product: forwards and then backwards along its bits.
template <bool Flooding, typename Index>
__device__ void sum_product(const cuda_plan<Index>& plan,
                            const block_state& at,
                            int number,
                            bool first_iteration)
{
    const check_entry check = plan.checks[number];
    const Index* __restrict__ column = plan.columns + check.first;
    float* r = at.messages + check.first;
    float* known = at.known + threadIdx.x;
    constexpr float nothing = 1e30f; // beyond every LLR: the sum of no bits is even

    const auto q_of = [&](int edge) {
        return __fsub_rn(at.l[column[edge]], first_iteration ? 0.0f : r[edge]);
    };
    float before = nothing;
    unsigned signs = 0; // bit 31: the product of all signs
    for (int slot = 0; slot < check.degree; ++slot) {
        const float q = q_of(slot * check.stride);
        known[slot * blockDim.x] = before;
        before = box_plus(before, fabsf(q));
        signs ^= __float_as_uint(q);
    }
    float behind = nothing;
    for (int slot = check.degree - 1; slot >= 0; --slot) {
        const int edge = slot * check.stride;
        const float q = q_of(edge);
        const float combined = box_plus(known[slot * blockDim.x], behind);
        const unsigned negative = (signs ^ __float_as_uint(q)) & 0x80000000u;
        const float now = __uint_as_float(
            __float_as_uint(fminf(combined, ldpc_decoding::clamp)) | negative);
        r[edge] = now;
        add_message<Flooding>(at, column[edge], q, now);
        behind = box_plus(behind, fabsf(q));
    }
}

//! Whether a telling check is odd.
template <typename Index>
__device__ bool fails(const cuda_plan<Index>& plan, const float* l, int number)
{
    const check_entry check = plan.checks[plan.telling ? plan.telling[number] : number];
    const Index* __restrict__ column = plan.columns + check.first;
    bool parity = false;
#pragma unroll 4
    for (int slot = 0; slot < check.degree; ++slot) {
        parity ^= l[column[slot * check.stride]] < 0.0f;
    }
    return parity;
}

//! Whether every telling check holds; the same for the whole block. Early out: an
//! undecoded word usually fails one of the first blockDim.x checks, so these are tested
//! before the rest.
template <typename Index>
__device__ bool fulfils_checks(const cuda_plan<Index>& plan, const float* l)
{
    int check = threadIdx.x;
    if (__syncthreads_or(check < plan.telling_count && fails(plan, l, check))) {
        return false;
    }
    bool failed = false;
    for (check += blockDim.x; check < plan.telling_count && !failed;
         check += blockDim.x) {
        failed = fails(plan, l, check);
    }
    return !__syncthreads_or(failed);
}

//! Whether the information bits pass the CRC; the same for the whole block.
template <typename Index>
__device__ bool passes_crc(const cuda_plan<Index>& plan, const float* l)
{
    unsigned own = 0;
    for (int i = threadIdx.x; i < plan.k; i += blockDim.x) {
        own ^= l[plan.information[i]] < 0.0f ? plan.crc_terms[i] : 0u;
    }
    // An undecoded word fails at the second bit of the remainder, on average.
    for (int bit = 0; bit < plan.crc_bits; ++bit) {
        if (__syncthreads_count(own >> bit & 1) & 1) {
            return false;
        }
    }
    return true;
}

//! Whether the least L of the information bits is not 0; the same for the whole block.
//! Early out: most words have a 1 among their first blockDim.x information bits.
template <typename Index>
__device__ bool is_decided(const cuda_plan<Index>& plan, const float* l)
{
    int i = threadIdx.x;
    if (__syncthreads_or(i < plan.k && l[plan.information[i]] < 0.0f)) {
        return true;
    }
    float least = ldpc_decoding::clamp;
    for (; i < plan.k; i += blockDim.x) {
        least = fminf(least, l[plan.information[i]]);
    }
    const bool one = __syncthreads_or(least < 0.0f);
    const bool unknown = __syncthreads_or(least == 0.0f);
    return one || !unknown;
}

template <typename Index>
__device__ float received(const cuda_plan<Index>& plan, const void* llr, size_t i)
{
    float value = 0;
    switch (plan.type) {
    case ldpc_decoder::number::float32:
        value = static_cast<const float*>(llr)[i];
        break;
    case ldpc_decoder::number::float16:
        value = __half2float(static_cast<const __half*>(llr)[i]);
        break;
    case ldpc_decoder::number::int8:
        value = static_cast<const int8_t*>(llr)[i];
        break;
    }
    const float number = isnan(value) ? 0.0f : value * plan.llr_scale;
    const float clamped =
        fmaxf(fminf(number, ldpc_decoding::clamp), -ldpc_decoding::clamp);
    return plan.positive_is_one ? -clamped : clamped;
}

//! Sets L of all columns of H to the received values.
template <typename Index>
__device__ void
load(const cuda_plan<Index>& plan, const void* llr, size_t word, float* to)
{
    for (int column = threadIdx.x; column < plan.variables; column += blockDim.x) {
        const int i = plan.sources ? plan.sources[column] : column;
        float value = i == ldpc_decoding::shortened ? ldpc_decoding::clamp : 0.0f;
        if (i >= 0) {
            value = received(plan, llr, word * plan.n + i);
        }
        to[column] = value;
    }
}

//! Writes the block's hard decisions, and L if it is wanted.
template <typename Index>
__device__ void
write_out(const cuda_plan<Index>& plan, const float* l, const cuda_batch& to, size_t word)
{
    const auto value = [&](int i) { return l[plan.positions ? plan.positions[i] : i]; };
    uint8_t* bits = to.bits + word * plan.output_bytes;
    for (int i = threadIdx.x; i < plan.output_bytes; i += blockDim.x) {
        unsigned byte = 0;
        if (plan.packed) {
            const int end = min(8, plan.output_bits - 8 * i);
            for (int bit = 0; bit < end; ++bit) {
                byte |= unsigned{ value(8 * i + bit) < 0.0f } << (7 - bit);
            }
        } else {
            byte = value(i) < 0.0f;
        }
        bits[i] = static_cast<uint8_t>(byte);
    }
    if (to.soft) {
        float* soft = to.soft + word * plan.output_bits;
        for (int i = threadIdx.x; i < plan.output_bits; i += blockDim.x) {
            const float l = plan.positive_is_one ? -value(i) : value(i);
            soft[i] = __fdiv_rn(l, plan.llr_scale);
        }
    }
}

//! Where this block's state lies. Sum-product has no check states.
template <shared_state Where, bool SumProduct, bool Flooding, typename Index>
__device__ block_state state_of_block(const cuda_plan<Index>& plan,
                                      check_state* block_memory)
{
    const size_t block = blockIdx.x;
    block_state at{};
    if constexpr (Where == shared_state::l_and_states) {
        at.states = block_memory;
        at.l = reinterpret_cast<float*>(block_memory + plan.check_count);
    } else {
        at.states = plan.states + block * plan.check_count;
        at.l = Where == shared_state::l_alone ? reinterpret_cast<float*>(block_memory)
                                              : plan.l + block * plan.l_size;
    }
    if constexpr (Flooding) {
        at.sums = at.l + plan.variables;
    }
    if constexpr (SumProduct) {
        at.messages = plan.messages + block * plan.edges;
        at.known = plan.known + block * plan.known_size;
    } else {
        at.more_signs = plan.more_signs + block * plan.sign_words;
    }
    return at;
}

template <typename Index, shared_state Where, bool SumProduct, bool Flooding>
__global__ void __launch_bounds__(most_threads)
    ldpc_decode(const cuda_plan<Index> plan, const cuda_batch batch)
{
    extern __shared__ check_state block_memory[];
    block_state at = state_of_block<Where, SumProduct, Flooding>(plan, block_memory);

    for (size_t word = blockIdx.x; word < batch.words; word += gridDim.x) {
        load(plan, batch.llr, word, at.l);
        __syncthreads();

        bool good = false;
        int iteration = 0;
        for (;; ++iteration) {
            const bool last = iteration == plan.max_iterations;
            if (last || plan.early_stop) {
                good = (plan.crc_terms ? passes_crc(plan, at.l)
                                       : fulfils_checks(plan, at.l)) &&
                       is_decided(plan, at.l);
                if (last || good) {
                    break;
                }
            }
            if constexpr (Flooding) {
                load(plan, batch.llr, word, at.sums);
                __syncthreads();
            }
            const float scale = plan.scales[iteration];
            for (int layer = 0; layer < plan.layers; ++layer) {
                const int end = plan.layer_start[layer + 1];
                for (int check = plan.layer_start[layer] + threadIdx.x; check < end;
                     check += blockDim.x) {
                    if constexpr (SumProduct) {
                        sum_product<Flooding>(plan, at, check, iteration == 0);
                    } else {
                        min_sum<Flooding>(plan, at, check, scale, iteration == 0);
                    }
                }
                __syncthreads();
            }
            if constexpr (Flooding) {
                float* const before = at.l;
                at.l = at.sums;
                at.sums = before;
            }
        }

        write_out(plan, at.l, batch, word);
        if (threadIdx.x == 0) {
            batch.iterations[word] = iteration;
            batch.ok[word] = good;
        }
        __syncthreads(); // before the next word overwrites L
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
