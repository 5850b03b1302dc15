/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/ldpc/encoder/accumulator.cuh"
#include "kernels/ldpc/encoder/encoding_plan.h"
#include "kernels/ldpc/encoder/makers.h"
#include "kernels/ldpc/encoder/side_by_side.cuh"
#include "kernels/ldpc/encoder/sliced.cuh"
#include "kernels/ldpc/encoder/strings.cuh"
#include <algorithm>
#include <climits>
#include <numeric>

namespace gr::cudaphy::kernels {
namespace {

constexpr int encoder_threads = 1024;
constexpr int most_warps = encoder_threads / 32;
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

struct encoder_plan {
    const int *level, *start, *chain, *info;
    const void *target, *source; //!< of the kernel's Index
    int levels, chain_length, slots;
    words_form info_form, word_form;
    void* workspace; //!< of every block in turn, where shared memory does not hold it
};

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

// Any code. One block encodes as many codewords as a word has bits, side by side, in
// shared memory: 8 of n = 64800 take 65 KB.
template <typename Word, typename Index, bool Shared, bool Wide>
__global__ void __launch_bounds__(encoder_threads)
    ldpc_encode(encoder_plan plan, const uint8_t* info, uint8_t* words, size_t batch)
{
    constexpr int codewords = 8 * sizeof(Word);
    extern __shared__ unsigned shared[];
    unsigned* const totals = shared;
    const size_t slots = plan.slots + extra_slots;
    Word* const place = Shared ? reinterpret_cast<Word*>(shared + most_warps)
                               : static_cast<Word*>(plan.workspace) + blockIdx.x * slots;
    const auto* const target = static_cast<const Index*>(plan.target);
    const auto* const source = static_cast<const Index*>(plan.source);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;

    for (size_t first = static_cast<size_t>(blockIdx.x) * codewords; first < batch;
         first += static_cast<size_t>(gridDim.x) * codewords) {
        const int count =
            static_cast<int>(min(batch - first, static_cast<size_t>(codewords)));

        take_words<Wide>(
            plan.info_form,
            info + first * plan.info_form.bytes,
            count,
            place,
            [&](size_t i) { return plan.info[i]; },
            threadIdx.x,
            blockDim.x);
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

        put_words<Wide>(
            plan.word_form,
            words + first * plan.word_form.bytes,
            count,
            place,
            [](size_t i) { return i; },
            threadIdx.x,
            blockDim.x);
        __syncthreads(); // before the next words overwrite the places
    }
}

int device_attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    cuda_check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

//! The plan on the device and the launch that suits it.
class device_plan
{
    using kernel = void (*)(encoder_plan, const uint8_t*, uint8_t*, size_t);

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
        const bool wide =
            (d_plan.info_form.packed || aligned(info, d_plan.info_form.bits)) &&
            (d_plan.word_form.packed || aligned(words, d_plan.word_form.bits));
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
          d_info(plan.info), d_threads(plan.slots <= 4096 ? 256 : encoder_threads)
    {
        const ldpc_encoder_bytes bytes(code, p);
        d_plan.level = d_level.data();
        d_plan.start = d_start.data();
        d_plan.chain = d_chain.data();
        d_plan.info = d_info.data();
        d_plan.levels = static_cast<int>(steps.level.size()) - 1;
        d_plan.chain_length = static_cast<int>(plan.chain.size());
        d_plan.slots = plan.slots;
        d_plan.info_form = { bytes.info, code.k(), p.packed_input };
        d_plan.word_form = { bytes.word, code.n(), p.packed_output };
        const size_t slots = plan.slots + extra_slots;
        const bool small = slots <= 65536;
        if (small) {
            put_indices(d_short, steps);
        } else {
            put_indices(d_long, steps);
        }

        // The widest word with which an SM holds two blocks; else the narrowest one, if a
        // block fits.
        const size_t room =
            device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
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
            const size_t processors =
                device_attribute(cudaDevAttrMultiProcessorCount, device);
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
    encoder_plan d_plan{};
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
        d_words = make_words(*code, p);
        if (!d_words) {
            d_plan = std::make_unique<device_plan>(
                *code, ldpc_encoding_plan(*code), p, d_device);
        }
    }
    ~ldpc_encoder_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_words.reset();
        d_plan.reset();
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue& q) override
    {
        const size_t batch = encoder_batch(d_bytes, info, words);
        if (batch == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        if (d_words) {
            d_words->launch(info.data(), words.data(), batch, stream_of(q));
        } else {
            d_plan->launch(info.data(), words.data(), batch, stream_of(q));
        }
    }

private:
    //! Nothing if the code is of no such form.
    std::unique_ptr<device_words_encoder> make_words(const ldpc_code& code,
                                                     const parameters& p) const
    {
        if (auto made = accumulator_encoder::make(code, p, d_device)) {
            return made;
        }
        const auto tables = ldpc_circulant_tables::make(code);
        if (!tables) {
            return {};
        }
        if (strings_encoder::suits(*tables, p)) {
            if (auto made = strings_encoder::make(*tables, d_bytes, p, d_device)) {
                return made;
            }
        }
        return sliced_encoder::make(*tables, d_bytes, p, d_device);
    }

    ldpc_encoder_bytes d_bytes;
    int d_device;
    std::unique_ptr<device_words_encoder> d_words; //!< if the code's form allows it
    std::unique_ptr<device_plan> d_plan;           //!< else
};

} // namespace

CUDAPHY_CUDA_MAKER_2(ldpc_encoder,
                     ldpc_encoder_cuda,
                     ldpc_code::sptr,
                     ldpc_encoder::parameters)

} // namespace gr::cudaphy::kernels
