/* SPDX-License-Identifier: GPL-3.0-or-later */
// One block a codeword, one thread a check of a layer, a barrier after each layer.
//
// L (4 bytes a bit) and the checks' states (16 bytes a check: the two magnitudes that its
// messages can have, which bit has the least one, and the messages' signs) lie in shared
// memory where they fit into what the device lets a block have, 227 KB on compute
// capability 9.0: 23 KB for 802.11n 1944 1/2, 209 KB for a DVB-S2 short frame of rate
// 1/2. A longer code's states, and then its L too (a DVB-S2 normal frame's 253 KB), lie
// in a workspace in device memory; as many blocks run as it has room for, and each takes
// the next codewords of the batch.
//
// A check's columns are read by slot: neighbouring threads read neighbouring entries, and
// in a quasi-cyclic code neighbouring L.
#include "kernels/common/device_memory.cuh"
#include "kernels/ldpc/ldpc_decoder_makers.h"
#include <algorithm>
#include <climits>
#include <type_traits>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = 512;
//! Blocks a multiprocessor that work in device memory: two, so that one has work while
//! the other waits at a barrier; more would only crowd the L2 cache.
constexpr int most_resident = 2;
constexpr int bits_a_word = 32;

//! What a check remembers of its messages. Bits from the 33rd on have their signs in
//! further words.
struct alignas(16) check_state {
    float to_least;     //!< magnitude of the message to the bit `least`
    float to_others;    //!< and to all other bits
    unsigned least;     //!< slot
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
    const int* sources;   //!< as ldpc_decoding::sources(); null: the bits in order
    const int* positions; //!< null: the first output_bits
    const float* scales;  //!< of each iteration
    int check_count, layers, n, variables, output_bits;
    int max_iterations;
    bool early_stop, positive_is_one;
    float* l;                //!< (resident, variables), null where L is in shared memory
    check_state* states;     //!< (resident, checks), null where in shared memory
    unsigned* further_signs; //!< (resident, further_words)
    size_t further_words;
};

//! A block's place for its codeword.
struct workplace {
    float* l;
    check_state* states;
    unsigned* further_signs;
};

__device__ float message(const check_state& state, unsigned slot, unsigned negatives)
{
    const float magnitude = slot == state.least ? state.to_least : state.to_others;
    return __uint_as_float(__float_as_uint(magnitude) | (negatives >> slot % bits_a_word)
                                                            << 31);
}

//! One check's turn: q = L - r, the new r, L = q + r.
template <typename Index>
__device__ void update(const cuda_plan<Index>& plan,
                       const workplace& at,
                       int number,
                       float scale,
                       bool first_iteration)
{
    const check_entry check = plan.checks[number];
    const Index* __restrict__ column = plan.columns + check.first;
    unsigned* further = at.further_signs + check.further_signs;
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

    check_state now{ __fmul_rn(second, scale), __fmul_rn(least, scale), least_slot, 0 };
    for (int begin = 0; begin < check.degree; begin += bits_a_word) {
        const unsigned negatives = old_signs(old, begin);
        const int end = min(begin + bits_a_word, check.degree);
        unsigned now_negative = 0;
#pragma unroll 4
        for (int slot = begin; slot < end; ++slot) {
            float& l = at.l[column[slot * check.stride]];
            const float q = __fsub_rn(l, message(old, slot, negatives));
            const unsigned negative = (signs ^ __float_as_uint(q)) >> 31;
            now_negative |= negative << slot % bits_a_word;
            l = __fadd_rn(q, message(now, slot, now_negative));
        }
        if (begin == 0) {
            now.negatives = now_negative;
        } else {
            further[begin / bits_a_word - 1] = now_negative;
        }
    }
    at.states[number] = now;
}

//! Whether an odd number of a check's bits decide 1.
template <typename Index>
__device__ bool fails(const cuda_plan<Index>& plan, const float* l, int number)
{
    const check_entry check = plan.checks[number];
    const Index* __restrict__ column = plan.columns + check.first;
    bool parity = false;
#pragma unroll 4
    for (int slot = 0; slot < check.degree; ++slot) {
        parity ^= l[column[slot * check.stride]] < 0.0f;
    }
    return parity;
}

//! Whether every check holds; the same answer for the whole block. A word that is not
//! done mostly shows it in the first checks, one a thread, and pays for no others.
template <typename Index>
__device__ bool is_codeword(const cuda_plan<Index>& plan, const float* l)
{
    int check = threadIdx.x;
    if (__syncthreads_or(check < plan.check_count && fails(plan, l, check))) {
        return false;
    }
    bool failed = false;
    for (check += blockDim.x; check < plan.check_count && !failed; check += blockDim.x) {
        failed = fails(plan, l, check);
    }
    return !__syncthreads_or(failed);
}

__device__ float received(float llr, bool positive_is_one)
{
    const float number = isnan(llr) ? 0.0f : llr;
    const float clamped =
        fmaxf(fminf(number, ldpc_decoding::clamp), -ldpc_decoding::clamp);
    return positive_is_one ? -clamped : clamped;
}

template <typename Index, bool LShared, bool StatesShared>
__global__ void __launch_bounds__(most_threads) ldpc_decode(const cuda_plan<Index> plan,
                                                            const float* __restrict__ llr,
                                                            uint8_t* __restrict__ bits,
                                                            int* __restrict__ iterations,
                                                            int* __restrict__ ok,
                                                            size_t batch)
{
    extern __shared__ check_state block_memory[];
    workplace at;
    if constexpr (StatesShared) {
        at.states = block_memory;
    } else {
        at.states = plan.states + size_t{ blockIdx.x } * plan.check_count;
    }
    if constexpr (LShared) {
        at.l = reinterpret_cast<float*>(block_memory +
                                        (StatesShared ? plan.check_count : 0));
    } else {
        at.l = plan.l + size_t{ blockIdx.x } * plan.variables;
    }
    at.further_signs = plan.further_signs + size_t{ blockIdx.x } * plan.further_words;

    for (size_t word = blockIdx.x; word < batch; word += gridDim.x) {
        for (int column = threadIdx.x; column < plan.variables; column += blockDim.x) {
            const int i = plan.sources ? plan.sources[column] : column;
            at.l[column] = i == ldpc_decoding::punctured ? 0.0f
                           : i == ldpc_decoding::shortened
                               ? ldpc_decoding::clamp
                               : received(llr[word * plan.n + i], plan.positive_is_one);
        }
        __syncthreads();

        bool good = false;
        int iteration = 0;
        for (;; ++iteration) {
            const bool last = iteration == plan.max_iterations;
            if (last || plan.early_stop) {
                good = is_codeword(plan, at.l);
                if (last || good) {
                    break;
                }
            }
            const float scale = plan.scales[iteration];
            for (int layer = 0; layer < plan.layers; ++layer) {
                const int end = plan.layer_start[layer + 1];
                for (int check = plan.layer_start[layer] + threadIdx.x; check < end;
                     check += blockDim.x) {
                    update(plan, at, check, scale, iteration == 0);
                }
                __syncthreads();
            }
        }

        for (int i = threadIdx.x; i < plan.output_bits; i += blockDim.x) {
            const int position = plan.positions ? plan.positions[i] : i;
            bits[word * plan.output_bits + i] = at.l[position] < 0.0f;
        }
        if (threadIdx.x == 0) {
            iterations[word] = iteration;
            ok[word] = good;
        }
        __syncthreads(); // before the next word takes L's place
    }
}

//! The checks with the places of their further sign words, and how many there are.
std::vector<check_entry> entries(const ldpc_schedule& schedule, size_t& further_words)
{
    std::vector<check_entry> out;
    further_words = 0;
    for (const auto& check : schedule.checks) {
        out.push_back(
            { check.first, check.stride, check.degree, static_cast<int>(further_words) });
        further_words += (check.degree - 1) / bits_a_word;
    }
    return out;
}

//! The tables and the workspace of one plan. Lives and dies with its device current.
template <typename Index>
class cuda_tables
{
    using kernel = void (*)(cuda_plan<Index>, const float*, uint8_t*, int*, int*, size_t);

public:
    cuda_tables(const ldpc_decoding& decoding, const ldpc_schedule& schedule, int device)
        : d_checks(entries(schedule, d_further_words)),
          d_layer_start(schedule.layer_start), d_columns(schedule.columns),
          d_sources(decoding.sources()), d_positions(decoding.output_positions()),
          d_scales(decoding.scales)
    {
        const size_t checks = schedule.checks.size();
        const size_t variables = decoding.code->variables();
        choose_places(variables * sizeof(float), checks * sizeof(check_state), device);
        d_threads = std::min(most_threads, (schedule.max_layer + 31) / 32 * 32);
        d_threads = std::max(d_threads, 32);

        if (!d_l_shared || !d_states_shared || d_further_words) {
            d_resident = resident_blocks(device);
        }
        d_l = std::make_unique<device_memory<float>>(d_l_shared ? 0
                                                                : d_resident * variables);
        d_states = std::make_unique<device_memory<check_state>>(
            d_states_shared ? 0 : d_resident * checks);
        d_further = std::make_unique<device_memory<unsigned>>(
            d_further_words ? d_resident * d_further_words : 0);

        const auto& p = decoding.parameters;
        d_plan = { d_checks.data(),
                   d_layer_start.data(),
                   d_columns.data(),
                   d_sources.data(),
                   d_positions.data(),
                   d_scales.data(),
                   static_cast<int>(checks),
                   static_cast<int>(schedule.layer_start.size()) - 1,
                   decoding.code->n(),
                   static_cast<int>(variables),
                   decoding.output_bits(),
                   p.max_iterations,
                   p.early_stop,
                   p.llr_positive == 1,
                   d_l->data(),
                   d_states->data(),
                   d_further->data(),
                   d_further_words };
    }

    void launch(view<const float> llr,
                view<uint8_t> bits,
                view<int> iterations,
                view<int> ok,
                cudaStream_t stream) const
    {
        const size_t words = ok.size();
        const size_t most = d_resident ? d_resident : static_cast<size_t>(INT_MAX);
        d_kernel<<<static_cast<unsigned>(std::min(words, most)),
                   d_threads,
                   d_shared_bytes,
                   stream>>>(
            d_plan, llr.data(), bits.data(), iterations.data(), ok.data(), words);
        cuda_check_launch("ldpc_decode");
    }

private:
    void choose_places(size_t l_bytes, size_t state_bytes, int device)
    {
        int opt_in = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &opt_in, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
        const size_t room = opt_in;
        d_l_shared = l_bytes <= room;
        d_states_shared = l_bytes + state_bytes <= room;
        d_shared_bytes = (d_l_shared ? l_bytes : 0) + (d_states_shared ? state_bytes : 0);
        d_kernel = d_states_shared ? ldpc_decode<Index, true, true>
                   : d_l_shared    ? ldpc_decode<Index, true, false>
                                   : ldpc_decode<Index, false, false>;
        // The limit belongs to the kernel, not to this plan: always the most.
        cuda_check(cudaFuncSetAttribute(
                       d_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, opt_in),
                   "cudaFuncSetAttribute");
    }

    size_t resident_blocks(int device) const
    {
        int processors = 0;
        int blocks = 0;
        cuda_check(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
        cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                       &blocks, d_kernel, d_threads, d_shared_bytes),
                   "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        return static_cast<size_t>(processors) * std::clamp(blocks, 1, most_resident);
    }

    size_t d_further_words = 0;
    device_memory<check_entry> d_checks;
    device_memory<int> d_layer_start;
    device_memory<Index> d_columns;
    device_memory<int> d_sources;
    device_memory<int> d_positions;
    device_memory<float> d_scales;
    bool d_l_shared = false;
    bool d_states_shared = false;
    size_t d_shared_bytes = 0;
    kernel d_kernel = nullptr;
    int d_threads = 0;
    size_t d_resident = 0; //!< most blocks at a time; 0: any number
    std::unique_ptr<device_memory<float>> d_l;
    std::unique_ptr<device_memory<check_state>> d_states;
    std::unique_ptr<device_memory<unsigned>> d_further;
    cuda_plan<Index> d_plan{};
};

template <typename Index>
class ldpc_decoder_cuda : public ldpc_decoder
{
public:
    ldpc_decoder_cuda(const ldpc_decoding& decoding,
                      const ldpc_schedule& schedule,
                      int device)
        : d_decoding(decoding), d_device(device)
    {
        const cuda_device_scope scope(device);
        d_tables = std::make_unique<cuda_tables<Index>>(decoding, schedule, device);
    }
    ~ldpc_decoder_cuda() override
    {
        const cuda_device_scope scope(d_device);
        d_tables.reset();
    }

    void run(const received& llr, const results& to, queue& queue) override
    {
        if (d_decoding.batch(llr, to) > 0) {
            const cuda_device_scope scope(d_device);
            const auto* values = static_cast<const float*>(llr.data);
            d_tables->launch(
                { values, llr.size }, to.bits, to.iterations, to.ok, stream_of(queue));
        }
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    ldpc_decoding d_decoding;
    int d_device;
    std::unique_ptr<cuda_tables<Index>> d_tables;
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cuda(const ldpc_decoding& decoding,
                                                     int device)
{
    const ldpc_schedule schedule(*decoding.code, ldpc_schedule::layout::by_slot);
    if (decoding.code->variables() <= 65536) { // half the traffic of the tables
        return std::make_unique<ldpc_decoder_cuda<uint16_t>>(decoding, schedule, device);
    }
    return std::make_unique<ldpc_decoder_cuda<int>>(decoding, schedule, device);
}

} // namespace gr::cudaphy::kernels
