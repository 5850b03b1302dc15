/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/device_memory.cuh"
#include "kernels/ldpc/ldpc_encoder_makers.h"
#include "kernels/ldpc/ldpc_encoding_plan.h"
#include <algorithm>
#include <climits>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = 1024;
constexpr int most_warps = most_threads / 32;
constexpr size_t most_workspace = size_t{ 256 } << 20; // bytes, of all blocks

struct cuda_plan {
    const int *target, *start, *source, *level, *chain, *info;
    int levels, chain_length, k, n, slots;
    void* workspace; //!< of every block in turn, where shared memory does not hold it
};

//! Inclusive prefix sums, modulo 2, of the chain's places: every thread sums a run of its
//! own, the runs' sums are summed over the block, and the runs are summed once more from
//! there. Runs of odd length keep the threads of a warp in different banks.
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

// One block encodes as many codewords as a word has bits, a bit each, so that a sum of
// the plan is one instruction for all of them. The words lie in shared memory: 32
// codewords of 802.11's n = 1944 take 12 KB, 8 of DVB-S2's n = 64800 take 65 KB. Bytes
// come in and go out Width at a time, neighbouring threads at neighbouring positions;
// each is touched once.
template <typename Word, bool Shared, int Width>
__global__ void __launch_bounds__(most_threads)
    ldpc_encode(cuda_plan plan, const uint8_t* info, uint8_t* words, size_t batch)
{
    constexpr int codewords = 8 * sizeof(Word);
    extern __shared__ unsigned shared[];
    unsigned* const totals = shared;
    Word* const place =
        Shared ? reinterpret_cast<Word*>(shared + most_warps)
               : static_cast<Word*>(plan.workspace) +
                     static_cast<size_t>(blockIdx.x) * static_cast<size_t>(plan.slots);
    const size_t k = plan.k;
    const size_t n = plan.n;

    for (size_t first = static_cast<size_t>(blockIdx.x) * codewords; first < batch;
         first += static_cast<size_t>(gridDim.x) * codewords) {
        const int count =
            static_cast<int>(min(batch - first, static_cast<size_t>(codewords)));

        const uint8_t* const in = info + first * k;
        for (size_t i = size_t{ Width } * threadIdx.x; i < k;
             i += size_t{ Width } * blockDim.x) {
            unsigned bits[Width] = {};
#pragma unroll 8
            for (int w = 0; w < codewords; ++w) {
                unsigned bytes = 0;
                if (w < count) {
                    if constexpr (Width == 4) {
                        bytes = *reinterpret_cast<const unsigned*>(in + w * k + i);
                    } else {
                        bytes = in[w * k + i];
                    }
                }
#pragma unroll
                for (int j = 0; j < Width; ++j) {
                    bits[j] |= (bytes >> 8 * j & 1u) << w;
                }
            }
#pragma unroll
            for (int j = 0; j < Width; ++j) {
                place[plan.info[i + j]] = static_cast<Word>(bits[j]);
            }
        }
        __syncthreads();

        for (int l = 0; l < plan.levels; ++l) {
            const int last = plan.level[l + 1];
            for (int s = plan.level[l] + static_cast<int>(threadIdx.x); s < last;
                 s += blockDim.x) {
                const int end = plan.start[s + 1];
                unsigned sum = 0;
                for (int e = plan.start[s]; e < end; ++e) {
                    sum ^= place[plan.source[e]];
                }
                place[plan.target[s]] = static_cast<Word>(sum);
            }
            __syncthreads();
        }
        if (plan.chain_length) {
            sum_chain(place, plan.chain, plan.chain_length, totals);
        }

        uint8_t* const out = words + first * n;
        for (size_t i = size_t{ Width } * threadIdx.x; i < n;
             i += size_t{ Width } * blockDim.x) {
            unsigned bits[Width];
#pragma unroll
            for (int j = 0; j < Width; ++j) {
                bits[j] = place[i + j];
            }
#pragma unroll 8
            for (int w = 0; w < codewords; ++w) {
                if (w < count) {
                    unsigned bytes = 0;
#pragma unroll
                    for (int j = 0; j < Width; ++j) {
                        bytes |= (bits[j] >> w & 1u) << 8 * j;
                    }
                    if constexpr (Width == 4) {
                        *reinterpret_cast<unsigned*>(out + w * n + i) = bytes;
                    } else {
                        out[w * n + i] = static_cast<uint8_t>(bytes);
                    }
                }
            }
        }
        __syncthreads(); // before the next words take the places
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
    device_plan(const ldpc_code& code, const ldpc_encoding_plan& plan, int device)
        : d_target(plan.target), d_start(plan.start), d_source(plan.source),
          d_level(plan.level), d_chain(plan.chain),
          d_info(plan.info), d_plan{ d_target.data(),
                                     d_start.data(),
                                     d_source.data(),
                                     d_level.data(),
                                     d_chain.data(),
                                     d_info.data(),
                                     static_cast<int>(plan.level.size()) - 1,
                                     static_cast<int>(plan.chain.size()),
                                     code.k(),
                                     code.n(),
                                     plan.slots,
                                     nullptr },
          d_threads(plan.slots <= 4096 ? 256 : most_threads)
    {
        // The widest word of which an SM holds two blocks; else the narrowest, if one
        // fits.
        const size_t slots = plan.slots;
        const size_t room = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        const auto fits = [&](size_t word) {
            return most_warps * sizeof(unsigned) + slots * word <= room;
        };
        if (fits(2 * sizeof(uint32_t))) {
            choose<uint32_t, true>(room);
        } else if (fits(2 * sizeof(uint16_t))) {
            choose<uint16_t, true>(room);
        } else if (fits(sizeof(uint8_t))) {
            choose<uint8_t, true>(room);
        } else {
            choose<uint32_t, false>(room);
            const size_t bytes = slots * sizeof(uint32_t);
            const size_t processors = attribute(cudaDevAttrMultiProcessorCount, device);
            d_most_blocks =
                std::max<size_t>(std::min(2 * processors, most_workspace / bytes), 1);
            d_workspace =
                std::make_unique<device_memory<uint32_t>>(d_most_blocks * slots);
            d_plan.workspace = d_workspace->data();
        }
    }

    void
    launch(const uint8_t* info, uint8_t* words, size_t batch, cudaStream_t stream) const
    {
        const auto aligned = [](const uint8_t* data, int length) {
            return reinterpret_cast<uintptr_t>(data) % 4 == 0 && length % 4 == 0;
        };
        const bool wide = aligned(info, d_plan.k) && aligned(words, d_plan.n);
        const size_t blocks = (batch + d_codewords - 1) / d_codewords;
        (wide ? d_wide
              : d_narrow)<<<static_cast<unsigned>(std::min(blocks, d_most_blocks)),
                            d_threads,
                            d_shared,
                            stream>>>(d_plan, info, words, batch);
        cuda_check_launch("ldpc_encode");
    }

private:
    template <typename Word, bool Shared>
    void choose(size_t room)
    {
        d_codewords = 8 * sizeof(Word);
        d_shared = most_warps * sizeof(unsigned);
        if (Shared) {
            d_shared += static_cast<size_t>(d_plan.slots) * sizeof(Word);
        }
        d_wide = ldpc_encode<Word, Shared, 4>;
        d_narrow = ldpc_encode<Word, Shared, 1>;
        for (const auto one : { d_wide, d_narrow }) {
            // The limit belongs to the kernel, not to this plan: always the most.
            cuda_check(cudaFuncSetAttribute(one,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(room)),
                       "cudaFuncSetAttribute");
        }
    }

    std::unique_ptr<device_memory<uint32_t>> d_workspace;
    device_memory<int> d_target, d_start, d_source, d_level, d_chain, d_info;
    cuda_plan d_plan;
    int d_threads;
    size_t d_codewords = 0, d_shared = 0;
    size_t d_most_blocks = INT_MAX;
    kernel d_wide = nullptr, d_narrow = nullptr;
};

class ldpc_encoder_cuda : public ldpc_encoder
{
public:
    ldpc_encoder_cuda(ldpc_code::sptr code, int device)
        : d_code(std::move(code)), d_device(device)
    {
        cuda_device_scope scope(d_device);
        d_plan =
            std::make_unique<device_plan>(*d_code, ldpc_encoding_plan(*d_code), d_device);
    }
    ~ldpc_encoder_cuda() override
    {
        cuda_device_scope scope(d_device);
        d_plan.reset();
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue& q) override
    {
        const size_t batch = encoder_batch(*d_code, info, words);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        d_plan->launch(info.data(), words.data(), batch, stream_of(q));
    }

private:
    ldpc_code::sptr d_code;
    int d_device;
    std::unique_ptr<device_plan> d_plan;
};

} // namespace

std::unique_ptr<ldpc_encoder> make_ldpc_encoder_cuda(ldpc_code::sptr code, int device)
{
    return std::make_unique<ldpc_encoder_cuda>(std::move(code), device);
}

} // namespace gr::cudaphy::kernels
