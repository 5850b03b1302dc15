/* SPDX-License-Identifier: GPL-3.0-or-later */
// Codewords before and behind the decoder (nr5g_transport_block.cc, rate_matching.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/words.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int recover_threads = 256, at_once = 4, payload_threads = 256;

__device__ int saturated(int value) { return max(-128, min(127, value)); }

//! A block's bits in a transmission.
struct sent_block {
    const int8_t *llr, *signs; //!< of its first bit
    int bits, symbols;
};

__device__ sent_block find_block(const words_cuda& job, int slot, int block)
{
    const int bits = job.least + (block >= job.shorter ? job.unit : 0);
    const int longer = max(0, block - job.shorter);
    const size_t begin = size_t(block) * job.least + size_t(longer) * job.unit;
    return { job.llr + size_t(slot) * job.coded + begin,
             job.signs + begin,
             bits,
             bits / job.order };
}

//! Where a block's soft bits go: the decoder's input and, with HARQ, the soft buffer.
struct soft_places {
    int8_t *received, *soft; //!< soft: of all places, or null
    int received_count;

    __device__ void put(int place, int value) const
    {
        if (place < received_count) {
            received[place] = int8_t(value);
        }
        if (soft) {
            soft[place] = int8_t(value);
        }
    }
    //! Zeros where nothing was sent, of which some places may be the buffer's alone.
    __device__ void clear(int first, int last, int thread, int threads) const
    {
        const int end = soft ? last : min(last, received_count);
        for (int place = first + thread; place < end; place += threads) {
            put(place, 0);
        }
    }
};

//! The bits of a symbol, which lie together, four in a word.
template <int Order>
__device__ void load_symbol(const int8_t* from, uint32_t (&bits)[(Order + 3) / 4])
{
    if constexpr (Order == 8) {
        const uint2 both = *reinterpret_cast<const uint2*>(from);
        bits[0] = both.x;
        bits[1] = both.y;
    } else if constexpr (Order == 4) {
        bits[0] = *reinterpret_cast<const uint32_t*>(from);
    } else {
        const auto* const pairs = reinterpret_cast<const uint16_t*>(from);
        for (int i = 0; i < Order / 2; ++i) {
            bits[i / 2] = i % 2 ? bits[i / 2] | uint32_t(pairs[i]) << 16 : pairs[i];
        }
    }
}

// Each place gets one bit at most: a symbol a thread, whose bits go to so many parts of
// the buffer. Bit i of symbol s is bit i J + s from the redundancy version's start.
template <int Order>
__device__ void spread(const words_cuda& job,
                       const sent_block& from,
                       const word_order& wanted,
                       const soft_places& to)
{
    const int threads = gridDim.x * recover_threads;
    const int thread = blockIdx.x * recover_threads + threadIdx.x;
    for (int s = thread; s < from.symbols; s += threads) {
        uint32_t bits[(Order + 3) / 4], signs[(Order + 3) / 4];
        load_symbol<Order>(from.llr + s * Order, bits);
        load_symbol<Order>(from.signs + s * Order, signs);
        int place = wanted.start + s;
        for (int i = 0; i < Order; ++i, place += from.symbols) {
            if (i % 4 == 0) {
                bits[i / 4] = __vsub4(bits[i / 4] ^ signs[i / 4], signs[i / 4]);
            }
            place -= place >= job.places ? job.places : 0;
            to.put(place, int8_t(bits[i / 4] >> 8 * (i % 4)));
        }
    }
    const int behind = wanted.start + from.bits;
    if (behind <= job.places) {
        to.clear(0, wanted.start, thread, threads);
        to.clear(behind, job.places, thread, threads);
    } else {
        to.clear(behind - job.places, wanted.start, thread, threads);
    }
    // The decoder's input may be longer than the buffer.
    for (int place = job.places + thread; place < to.received_count; place += threads) {
        to.received[place] = 0;
    }
}

// Any transmission: neighbouring places a thread.
__device__ void gather(const words_cuda& job,
                       const sent_block& from,
                       const word_order& wanted,
                       const soft_places& to,
                       const int8_t* held,
                       bool usable)
{
    for (int first = (blockIdx.x * recover_threads + threadIdx.x) * at_once;
         first < job.width;
         first += gridDim.x * recover_threads * at_once) {
        int k0 = first - wanted.start;
        k0 += k0 < 0 ? job.places : 0;
        for (int i = 0; i < at_once && first + i < job.width; ++i, ++k0) {
            const int place = first + i;
            int value = held && place < job.places ? held[place] : 0;
            k0 -= k0 == job.places ? job.places : 0;
            // The transmission may wrap around the buffer several times.
            for (int k = k0; usable && place < job.places && k < from.bits;
                 k += job.places) {
                const int plane = k / from.symbols;
                const int at = (k - plane * from.symbols) * job.order + plane;
                const int sign = from.signs[at];
                value = saturated(value + ((from.llr[at] ^ sign) - sign));
            }
            if (place < job.places) {
                to.put(place, value);
            } else if (place < to.received_count) {
                to.received[place] = 0;
            }
        }
    }
}

//! Blocks are of places or symbols; code blocks; slots.
__global__ void __launch_bounds__(recover_threads) recover(const words_cuda job)
{
    const int slot = blockIdx.z, block = blockIdx.y;
    const word_order& wanted = job.wanted[slot];
    const auto from = find_block(job, slot, block);
    const bool usable = job.state[slot].usable;
    int8_t* const soft = wanted.soft ? wanted.soft + size_t(block) * job.places : nullptr;
    const int8_t* const held = wanted.combined ? soft : nullptr;
    const soft_places to{ job.received_llr +
                              (size_t(slot) * job.blocks + block) * job.received,
                          usable ? soft : nullptr,
                          job.received };
    if (held || !usable || from.bits > job.places || job.order == 1) {
        gather(job, from, wanted, to, held, usable);
    } else if (job.order == 2) {
        spread<2>(job, from, wanted, to);
    } else if (job.order == 4) {
        spread<4>(job, from, wanted, to);
    } else if (job.order == 6) {
        spread<6>(job, from, wanted, to);
    } else if (job.order == 8) {
        spread<8>(job, from, wanted, to);
    } else {
        spread<10>(job, from, wanted, to);
    }
}

//! The exclusive or of a warp's values.
__device__ uint32_t combined(uint32_t value)
{
    for (int step = 16; step; step /= 2) {
        value ^= __shfl_xor_sync(0xFFFFFFFFu, value, step);
    }
    return value;
}

//! A code block and slot a block.
__global__ void __launch_bounds__(payload_threads) take_payload(const words_cuda job)
{
    __shared__ uint32_t parts[payload_threads / 32];
    const int slot = blockIdx.y, block = blockIdx.x;
    const size_t word = size_t(slot) * job.blocks + block;
    const word_order& wanted = job.wanted[slot];
    uint8_t* const payload = job.payload(slot);
    const int first = block * job.own_bytes;
    if (!job.state[slot].usable) {
        for (int i = threadIdx.x; i < job.own_bytes && first + i < job.payload_bytes;
             i += payload_threads) {
            payload[first + i] = 0;
        }
        if (threadIdx.x == 0) {
            job.block_ok(slot)[block] = job.block_iterations(slot)[block] = 0;
        }
        return;
    }
    const size_t held = size_t(block) * job.block_bytes;
    const bool before = wanted.soft && wanted.combined && wanted.passed[block];
    const uint8_t* const bits =
        before ? wanted.bits + held : job.decoded + word * job.block_bytes;
    uint32_t remainder = 0;
    bool some = false;
    for (int i = threadIdx.x; i < job.block_bytes; i += payload_threads) {
        const uint8_t byte = bits[i];
        some |= byte != 0;
        if (i < job.own_bytes) {
            for (int bit = 0; bit < 8; ++bit) {
                remainder ^=
                    byte >> (7 - bit) & 1 ? job.term[bit * job.own_bytes + i] : 0;
            }
            if (first + i < job.payload_bytes) {
                payload[first + i] = byte;
            }
        }
        if (wanted.soft && !before) {
            wanted.bits[held + i] = byte;
        }
    }
    remainder = combined(remainder);
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = remainder;
    }
    some = __syncthreads_or(some);
    const int lane = threadIdx.x;
    if (lane >= 32) {
        return;
    }
    remainder = combined(lane < payload_threads / 32 ? parts[lane] : 0);
    // Where the block stands in the transport block: a bit of the remainder a lane.
    remainder =
        combined(remainder >> lane & 1 ? job.factor[block * crc_factors + lane] : 0);
    if (lane) {
        return;
    }
    word_report& report = job.report[slot];
    atomicXor(&report.remainder, remainder);
    const int ok = before || job.passed[word];
    if (ok && !before && !some) {
        atomicOr(&report.doubtful, 1);
    }
    job.block_ok(slot)[block] = ok;
    job.block_iterations(slot)[block] = before ? 0 : job.iterations[word];
    if (wanted.soft) {
        wanted.passed[block] = ok;
    }
}

//! A slot a warp: whether the transport block's CRC holds.
__global__ void conclude(const words_cuda job)
{
    const int slot = blockIdx.x, lane = threadIdx.x;
    word_report& report = job.report[slot];
    if (!job.state[slot].usable) {
        return;
    }
    bool all = true;
    for (int i = lane; i < job.blocks; i += 32) {
        all &= job.block_ok(slot)[i] != 0;
    }
    all = __all_sync(0xFFFFFFFFu, all);
    double capacity = 0;
    for (int i = lane; i < job.capacity_parts; i += 32) {
        capacity += job.capacity[slot * job.capacity_parts + i];
    }
    capacity = warp_sum(capacity);
    const bool ok = all && report.remainder == 0;
    if (lane == 0) {
        report.ok = ok;
        report.capacity = capacity;
    }
    if (all && !ok && job.wanted[slot].soft) {
        // A block passed its CRC by chance: the next transmission decodes all anew.
        for (int i = lane; i < job.blocks; i += 32) {
            job.wanted[slot].passed[i] = 0;
        }
    }
}

} // namespace

void launch_recovery(const words_cuda& job, int slots, cudaStream_t stream)
{
    // Symbols a thread each, or several neighbouring places.
    const int symbols = (job.least + job.unit) / job.order;
    const int threads = std::max(symbols, job.width / (2 * at_once));
    recover<<<dim3((threads + recover_threads - 1) / recover_threads, job.blocks, slots),
              recover_threads,
              0,
              stream>>>(job);
    cuda_check_launch("nr receiver, rate recovery");
}

void launch_payload(const words_cuda& job, int slots, cudaStream_t stream)
{
    take_payload<<<dim3(job.blocks, slots), payload_threads, 0, stream>>>(job);
    conclude<<<slots, 32, 0, stream>>>(job);
    cuda_check_launch("nr receiver, CRCs");
}

} // namespace gr::cudaphy::kernels::nr
