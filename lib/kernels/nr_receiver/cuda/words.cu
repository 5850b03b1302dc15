/* SPDX-License-Identifier: GPL-3.0-or-later */
// Codewords before and behind the decoder (nr5g_transport_block.cc, rate_matching.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/words.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int recover_threads = 256, at_once = 4, payload_threads = 128;

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
    int8_t *received, *soft;
    int received_count, soft_count;

    __device__ void put(int place, int value) const
    {
        if (place < received_count) {
            received[place] = int8_t(value);
        }
        if (place < soft_count) {
            soft[place] = int8_t(value);
        }
    }
};

//! The bits of a symbol, which lie together.
template <int Order>
__device__ void load_symbol(const int8_t* from, char (&bits)[Order])
{
    if constexpr (Order == 8) {
        memcpy(bits, __builtin_assume_aligned(from, 8), 8);
    } else if constexpr (Order == 4) {
        memcpy(bits, __builtin_assume_aligned(from, 4), 4);
    } else {
        for (int i = 0; i < Order; i += 2) {
            memcpy(bits + i, __builtin_assume_aligned(from + i, 2), 2);
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
    const int step = gridDim.x * recover_threads;
    const int first = blockIdx.x * recover_threads + threadIdx.x;
    for (int s = first; s < from.symbols; s += step) {
        char bits[Order], signs[Order];
        load_symbol<Order>(from.llr + s * Order, bits);
        load_symbol<Order>(from.signs + s * Order, signs);
        int place = wanted.start + s;
        for (int i = 0; i < Order; ++i, place += from.symbols) {
            place -= place >= job.places ? job.places : 0;
            to.put(place, (bits[i] ^ signs[i]) - signs[i]);
        }
    }
    for (int k = from.bits + first; k < job.places; k += step) {
        const int place = wanted.start + k;
        to.put(place - (place >= job.places ? job.places : 0), 0);
    }
    for (int place = job.places + first; place < job.width; place += step) {
        to.put(place, 0); // never sent
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
            to.put(place, value);
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
                          soft,
                          job.received,
                          soft && usable ? job.places : 0 };
    if (held || !usable || from.bits > job.places) {
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

//! a · b modulo the CRC's polynomial.
__device__ uint32_t product(uint32_t a, uint32_t b, int bits, uint32_t polynomial)
{
    uint32_t sum = 0;
    for (int i = bits - 1; i >= 0; --i) {
        const uint32_t top = sum >> (bits - 1) & 1;
        sum = (sum << 1 & ((bits == 32 ? 0u : 1u << bits) - 1)) ^ (top ? polynomial : 0);
        sum ^= b >> i & 1 ? a : 0;
    }
    return sum;
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
    for (int step = 16; step; step /= 2) {
        remainder ^= __shfl_xor_sync(0xFFFFFFFFu, remainder, step);
    }
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = remainder;
    }
    some = __syncthreads_or(some);
    if (threadIdx.x) {
        return;
    }
    for (int i = 1; i < payload_threads / 32; ++i) {
        remainder ^= parts[i];
    }
    word_report& report = job.report[slot];
    atomicXor(&report.remainder,
              product(remainder, job.factor[block], job.crc_bits, job.polynomial));
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
    const int a_block = recover_threads * at_once;
    recover<<<dim3((job.width + a_block - 1) / a_block, job.blocks, slots),
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
