/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/ldpc/encoder/encoding_plan.h"
#include "kernels/ldpc/encoder/makers.h"
#include <algorithm>
#include <climits>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = 1024;
constexpr int most_warps = most_threads / 32;
constexpr size_t most_workspace = size_t{ 256 } << 20; // bytes, of all blocks

//! The plan's steps in groups, one for each lane of a warp, so that a warp reads
//! neighbours. Steps with fewer sources than others of their group read place `slots`;
//! lanes without a step write place `slots + 1`.
struct grouped_steps {
    std::vector<int> level{ 0 };  //!< groups level[l]..level[l + 1] - 1
    std::vector<int> start{ 0 };  //!< of a group's sources, in warps
    std::vector<uint32_t> target; //!< (groups, 32)
    std::vector<uint32_t> source; //!< (start[groups], 32); place `slots` is 0

    explicit grouped_steps(const ldpc_encoding_plan& plan)
    {
        const auto count = [&](int s) { return plan.start[s + 1] - plan.start[s]; };
        const auto zero = static_cast<uint32_t>(plan.slots);
        for (size_t l = 0; l + 1 < plan.level.size(); ++l) {
            std::vector<int> steps(plan.level[l + 1] - plan.level[l]);
            std::iota(steps.begin(), steps.end(), plan.level[l]);
            std::stable_sort(steps.begin(), steps.end(), [&](int a, int b) {
                return count(a) > count(b);
            });
            for (size_t first = 0; first < steps.size(); first += 32) {
                const size_t last = std::min(first + 32, steps.size());
                const int most = count(steps[first]);
                for (int e = 0; e < most; ++e) {
                    for (size_t i = first; i < first + 32; ++i) {
                        source.push_back(i < last && e < count(steps[i])
                                             ? plan.source[plan.start[steps[i]] + e]
                                             : zero);
                    }
                }
                for (size_t i = first; i < first + 32; ++i) {
                    target.push_back(i < last ? plan.target[steps[i]] : zero + 1);
                }
                start.push_back(start.back() + most);
            }
            level.push_back(static_cast<int>(start.size()) - 1);
        }
    }
};

constexpr int extra_slots = 2;

struct cuda_plan {
    const int *level, *start, *chain, *info;
    const void *target, *source; //!< of the kernel's Index
    int levels, chain_length, k, n, slots;
    bool packed_input, packed_output;
    size_t info_bytes, word_bytes;
    void* workspace; //!< of every block in turn, where shared memory does not hold it
};

//! Byte i of word j becomes byte j of word i.
__device__ void transpose_bytes(unsigned (&x)[4])
{
    const unsigned a = __byte_perm(x[0], x[1], 0x5140);
    const unsigned b = __byte_perm(x[2], x[3], 0x5140);
    const unsigned c = __byte_perm(x[0], x[1], 0x7362);
    const unsigned d = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(a, b, 0x5410);
    x[1] = __byte_perm(a, b, 0x7632);
    x[2] = __byte_perm(c, d, 0x5410);
    x[3] = __byte_perm(c, d, 0x7632);
}

//! bits[j]: bit w is the lowest bit of byte j at `from` + w `stride`, w < count. Four
//! bytes of a word move at once: byte j of sums[g] gathers the bits of words 8 g..8 g
//! + 7.
template <int Codewords>
__device__ void
load_four(const uint8_t* from, size_t stride, int count, unsigned (&bits)[4])
{
#pragma unroll
    for (int g = 0; g < 4; ++g) {
        bits[g] = 0;
    }
#pragma unroll
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            const unsigned bytes = *reinterpret_cast<const unsigned*>(from + w * stride);
            bits[w / 8] |= (bytes & 0x01010101u) << w % 8;
        }
    }
    transpose_bytes(bits);
}

template <int Codewords>
__device__ void store_four(uint8_t* to, size_t stride, int count, unsigned (&bits)[4])
{
    transpose_bytes(bits);
#pragma unroll
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            *reinterpret_cast<unsigned*>(to + w * stride) =
                bits[w / 8] >> w % 8 & 0x01010101u;
        }
    }
}

//! As load_four(), of eight bits packed in a byte.
template <int Codewords>
__device__ void
load_packed(const uint8_t* from, size_t stride, int count, unsigned (&bits)[8])
{
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        bits[j] = 0;
    }
#pragma unroll 8
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            const unsigned byte = from[w * stride];
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                bits[j] |= (byte >> (7 - j) & 1u) << w;
            }
        }
    }
}

template <int Codewords>
__device__ void
store_packed(uint8_t* to, size_t stride, int count, const unsigned (&bits)[8])
{
#pragma unroll 8
    for (int w = 0; w < Codewords; ++w) {
        if (w < count) {
            unsigned byte = 0;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                byte |= (bits[j] >> w & 1u) << (7 - j);
            }
            to[w * stride] = static_cast<uint8_t>(byte);
        }
    }
}

//! Inclusive prefix sums, modulo 2, of the chain's places. Every thread sums a run; the
//! block computes the prefix sums of the runs' sums; then every thread computes its run's
//! prefix sums. Runs have odd length, so that the threads of a warp use different banks.
template <typename Word>
__device__ void sum_chain(Word* place, const int* chain, int length, unsigned* totals)
{
    const size_t run = (length + blockDim.x - 1) / blockDim.x | 1;
    const size_t first = min(threadIdx.x * run, static_cast<size_t>(length));
    const size_t last = min(first + run, static_cast<size_t>(length));
    unsigned own = 0;
    for (size_t i = first; i < last; ++i) {
        own ^= place[chain[i]];
    }
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    unsigned through = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, through, distance);
        if (lane >= distance) {
            through ^= other;
        }
    }
    if (lane == 31) {
        totals[warp] = through;
    }
    __syncthreads();
    unsigned sum = through ^ own;
    for (int w = 0; w < warp; ++w) {
        sum ^= totals[w];
    }
    for (size_t i = first; i < last; ++i) {
        const int at = chain[i];
        sum ^= place[at];
        place[at] = static_cast<Word>(sum);
    }
    __syncthreads();
}

// One block encodes as many codewords as a word has bits, so that a sum of the plan is
// one instruction for all of them. The words lie in shared memory: 32 codewords of
// 802.11's n = 1944 take 12 KB, 8 of DVB-S2's n = 64800 take 65 KB. Neighbouring threads
// load and store neighbouring bytes, four at a time (Wide) or one, and each byte once.
template <typename Word, typename Index, bool Shared, bool Wide>
__global__ void __launch_bounds__(most_threads)
    ldpc_encode(cuda_plan plan, const uint8_t* info, uint8_t* words, size_t batch)
{
    constexpr int codewords = 8 * sizeof(Word);
    extern __shared__ unsigned shared[];
    unsigned* const totals = shared;
    const size_t slots = plan.slots + extra_slots;
    Word* const place = Shared ? reinterpret_cast<Word*>(shared + most_warps)
                               : static_cast<Word*>(plan.workspace) + blockIdx.x * slots;
    const auto* const target = static_cast<const Index*>(plan.target);
    const auto* const source = static_cast<const Index*>(plan.source);
    const size_t k = plan.k;
    const size_t n = plan.n;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;

    for (size_t first = static_cast<size_t>(blockIdx.x) * codewords; first < batch;
         first += static_cast<size_t>(gridDim.x) * codewords) {
        const int count =
            static_cast<int>(min(batch - first, static_cast<size_t>(codewords)));

        const uint8_t* const in = info + first * plan.info_bytes;
        if (plan.packed_input) {
            for (size_t i = threadIdx.x; i < plan.info_bytes; i += blockDim.x) {
                unsigned bits[8];
                load_packed<codewords>(in + i, plan.info_bytes, count, bits);
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    if (8 * i + j < k) {
                        place[plan.info[8 * i + j]] = static_cast<Word>(bits[j]);
                    }
                }
            }
        } else if (Wide) {
            for (size_t i = size_t{ 4 } * threadIdx.x; i < k;
                 i += size_t{ 4 } * blockDim.x) {
                unsigned bits[4];
                load_four<codewords>(in + i, k, count, bits);
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    place[plan.info[i + j]] = static_cast<Word>(bits[j]);
                }
            }
        } else {
            for (size_t i = threadIdx.x; i < k; i += blockDim.x) {
                unsigned bits = 0;
#pragma unroll 8
                for (int w = 0; w < codewords; ++w) {
                    bits |= w < count ? (in[w * k + i] & 1u) << w : 0u;
                }
                place[plan.info[i]] = static_cast<Word>(bits);
            }
        }
        if (threadIdx.x == 0) {
            place[plan.slots] = 0;
        }
        __syncthreads();

        for (int l = 0; l < plan.levels; ++l) {
            const int last = plan.level[l + 1];
            for (int group = plan.level[l] + warp; group < last; group += warps) {
                const int end = plan.start[group + 1];
                unsigned sum = 0;
#pragma unroll 4
                for (int e = plan.start[group]; e < end; ++e) {
                    sum ^= place[source[static_cast<size_t>(e) * 32 + lane]];
                }
                place[target[static_cast<size_t>(group) * 32 + lane]] =
                    static_cast<Word>(sum);
            }
            __syncthreads();
        }
        if (plan.chain_length) {
            sum_chain(place, plan.chain, plan.chain_length, totals);
        }

        uint8_t* const out = words + first * plan.word_bytes;
        if (plan.packed_output) {
            for (size_t i = threadIdx.x; i < plan.word_bytes; i += blockDim.x) {
                unsigned bits[8];
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    bits[j] = 8 * i + j < n ? place[8 * i + j] : 0u;
                }
                store_packed<codewords>(out + i, plan.word_bytes, count, bits);
            }
        } else if (Wide) {
            for (size_t i = size_t{ 4 } * threadIdx.x; i < n;
                 i += size_t{ 4 } * blockDim.x) {
                unsigned bits[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    bits[j] = place[i + j];
                }
                store_four<codewords>(out + i, n, count, bits);
            }
        } else {
            for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
                const unsigned bits = place[i];
#pragma unroll 8
                for (int w = 0; w < codewords; ++w) {
                    if (w < count) {
                        out[w * n + i] = static_cast<uint8_t>(bits >> w & 1u);
                    }
                }
            }
        }
        __syncthreads(); // before the next words overwrite the places
    }
}

int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    cuda_check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

//! The plan on the device and the launch that suits it.
class device_plan
{
    using kernel = void (*)(cuda_plan, const uint8_t*, uint8_t*, size_t);

public:
    device_plan(const ldpc_code& code,
                const ldpc_encoding_plan& plan,
                const ldpc_encoder::parameters& p,
                int device)
        : device_plan(code, plan, grouped_steps(plan), p, device)
    {
    }

    void
    launch(const uint8_t* info, uint8_t* words, size_t batch, cudaStream_t stream) const
    {
        const auto aligned = [](const uint8_t* data, int length) {
            return reinterpret_cast<uintptr_t>(data) % 4 == 0 && length % 4 == 0;
        };
        const bool wide = (d_plan.packed_input || aligned(info, d_plan.k)) &&
                          (d_plan.packed_output || aligned(words, d_plan.n));
        const size_t blocks = (batch + d_codewords - 1) / d_codewords;
        (wide ? d_wide
              : d_narrow)<<<static_cast<unsigned>(std::min(blocks, d_most_blocks)),
                            d_threads,
                            d_shared,
                            stream>>>(d_plan, info, words, batch);
        cuda_check_launch("ldpc_encode");
    }

private:
    device_plan(const ldpc_code& code,
                const ldpc_encoding_plan& plan,
                const grouped_steps& steps,
                const ldpc_encoder::parameters& p,
                int device)
        : d_level(steps.level), d_start(steps.start), d_chain(plan.chain),
          d_info(plan.info), d_threads(plan.slots <= 4096 ? 256 : most_threads)
    {
        const ldpc_encoder_bytes bytes(code, p);
        d_plan.level = d_level.data();
        d_plan.start = d_start.data();
        d_plan.chain = d_chain.data();
        d_plan.info = d_info.data();
        d_plan.levels = static_cast<int>(steps.level.size()) - 1;
        d_plan.chain_length = static_cast<int>(plan.chain.size());
        d_plan.k = code.k();
        d_plan.n = code.n();
        d_plan.slots = plan.slots;
        d_plan.packed_input = p.packed_input;
        d_plan.packed_output = p.packed_output;
        d_plan.info_bytes = bytes.info;
        d_plan.word_bytes = bytes.word;
        const size_t slots = plan.slots + extra_slots;
        const bool small = slots <= 65536;
        if (small) {
            put_indices(d_short, steps);
        } else {
            put_indices(d_long, steps);
        }

        // The widest word with which an SM holds two blocks; else the narrowest one, if a
        // block fits.
        const size_t room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        const auto fits = [&](size_t word) {
            return most_warps * sizeof(unsigned) + slots * word <= room;
        };
        if (small && fits(2 * sizeof(uint32_t))) {
            choose<uint32_t, uint16_t, true>(room);
        } else if (small && fits(2 * sizeof(uint16_t))) {
            choose<uint16_t, uint16_t, true>(room);
        } else if (small && fits(sizeof(uint8_t))) {
            choose<uint8_t, uint16_t, true>(room);
        } else if (fits(sizeof(uint8_t))) {
            choose<uint8_t, uint32_t, true>(room);
        } else {
            if (small) {
                choose<uint32_t, uint16_t, false>(room);
            } else {
                choose<uint32_t, uint32_t, false>(room);
            }
            const size_t bytes_each = slots * sizeof(uint32_t);
            const size_t processors = attribute(cudaDevAttrMultiProcessorCount, device);
            d_most_blocks = std::max<size_t>(
                std::min(2 * processors, most_workspace / bytes_each), 1);
            d_workspace =
                std::make_unique<device_memory<uint32_t>>(d_most_blocks * slots);
            d_plan.workspace = d_workspace->data();
        }
    }

    template <typename Index>
    void put_indices(std::vector<std::unique_ptr<device_memory<Index>>>& on_device,
                     const grouped_steps& steps)
    {
        for (const auto* all : { &steps.target, &steps.source }) {
            on_device.push_back(std::make_unique<device_memory<Index>>(*all));
        }
        d_plan.target = on_device[0]->data();
        d_plan.source = on_device[1]->data();
    }

    template <typename Word, typename Index, bool Shared>
    void choose(size_t room)
    {
        d_codewords = 8 * sizeof(Word);
        d_shared = most_warps * sizeof(unsigned);
        if (Shared) {
            d_shared += static_cast<size_t>(d_plan.slots + extra_slots) * sizeof(Word);
        }
        d_wide = ldpc_encode<Word, Index, Shared, true>;
        d_narrow = ldpc_encode<Word, Index, Shared, false>;
        for (const auto one : { d_wide, d_narrow }) {
            // The limit belongs to the kernel, which other plans share: always the
            // maximum.
            cuda_check(cudaFuncSetAttribute(one,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(room)),
                       "cudaFuncSetAttribute");
        }
    }

    std::unique_ptr<device_memory<uint32_t>> d_workspace;
    device_memory<int> d_level, d_start, d_chain, d_info;
    //! Targets and sources, in one of these.
    std::vector<std::unique_ptr<device_memory<uint16_t>>> d_short;
    std::vector<std::unique_ptr<device_memory<uint32_t>>> d_long;
    cuda_plan d_plan{};
    int d_threads;
    size_t d_codewords = 0, d_shared = 0;
    size_t d_most_blocks = INT_MAX;
    kernel d_wide = nullptr, d_narrow = nullptr;
};

class ldpc_encoder_cuda : public ldpc_encoder
{
public:
    ldpc_encoder_cuda(const ldpc_code::sptr& code, const parameters& p, int device)
        : d_bytes(*code, p), d_device(device)
    {
        cuda_device_scope scope(d_device);
        d_plan =
            std::make_unique<device_plan>(*code, ldpc_encoding_plan(*code), p, d_device);
    }
    ~ldpc_encoder_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_plan.reset();
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue& q) override
    {
        const size_t batch = encoder_batch(d_bytes, info, words);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        d_plan->launch(info.data(), words.data(), batch, stream_of(q));
    }

private:
    ldpc_encoder_bytes d_bytes;
    int d_device;
    std::unique_ptr<device_plan> d_plan;
};

} // namespace

CUDAPHY_CUDA_MAKER_2(ldpc_encoder,
                     ldpc_encoder_cuda,
                     ldpc_code::sptr,
                     ldpc_encoder::parameters)

} // namespace gr::cudaphy::kernels
