/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder_cuda_int8/word_steps.h"
#include <algorithm>
#include <cuda_fp16.h>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_codes = ldpc_cuda_source::most_codes;

//! The words of a launch. A block takes one word.
struct launched_words {
    ldpc_words_cuda of_code[most_codes];
    unsigned first_block[most_codes];
    int codes;
};

__device__ float magnitude(float value) { return fabsf(value); }
__device__ float magnitude(float16 value)
{
    return fabsf(__half2float(__ushort_as_half(value.bits)));
}

//! The block's steps. All threads of the block call it, in whole warps.
template <typename Llr>
__device__ float steps_of(const ldpc_words_cuda& words, unsigned word)
{
    __shared__ int total;
    const auto* const llr = static_cast<const Llr*>(words.llr) + size_t{ word } * words.n;
    constexpr int group = ldpc_word_steps::group;
    const int spacing = ldpc_word_steps::spacing(words.n);
    return words.rule.of_word([&](float least) {
        if (threadIdx.x == 0) {
            total = 0;
        }
        __syncthreads();
        const int lane = threadIdx.x % group;
        int found = 0;
        for (int i = threadIdx.x / group * group * spacing + lane; i < words.n;
             i += blockDim.x * spacing) {
            found += magnitude(llr[i]) >= least;
        }
        found = __reduce_add_sync(~0u, found);
        if (lane == 0 && found != 0) {
            atomicAdd(&total, found);
        }
        __syncthreads();
        const int sum = total;
        __syncthreads(); // before the next count begins at 0
        return sum;
    });
}

__device__ int code_of_block(const launched_words& all)
{
    int code = 0;
    while (code + 1 < all.codes && all.first_block[code + 1] <= blockIdx.x) {
        ++code;
    }
    return code;
}

template <typename Llr>
__global__ void choose_steps_kernel(const launched_words all)
{
    const int code = code_of_block(all);
    const unsigned word = blockIdx.x - all.first_block[code];
    const float steps = steps_of<Llr>(all.of_code[code], word);
    if (threadIdx.x == 0) {
        all.of_code[code].steps[word] = __float_as_int(steps);
    }
}

template <typename Llr>
__global__ void soft_from_steps_kernel(const launched_words all)
{
    const int code = code_of_block(all);
    const auto& words = all.of_code[code];
    const unsigned word = blockIdx.x - all.first_block[code];
    const float steps = steps_of<Llr>(words, word);
    float* const soft = words.soft + size_t{ word } * words.outputs;
    for (int i = threadIdx.x; i < words.outputs; i += blockDim.x) {
        soft[i] = __fdiv_rn(soft[i], steps);
    }
}

void launch(void (*of_floats)(launched_words),
            void (*of_halves)(launched_words),
            const char* name,
            const std::vector<ldpc_words_cuda>& words,
            ldpc_decoder::number type,
            queue& queue)
{
    if (words.empty()) {
        return;
    }
    launched_words all{};
    unsigned blocks = 0;
    int longest = 0;
    for (const auto& one : words) {
        all.of_code[all.codes] = one;
        all.first_block[all.codes++] = blocks;
        blocks += one.words;
        longest = std::max(longest, one.n / ldpc_word_steps::spacing(one.n));
    }
    const int threads = std::clamp(longest / 4 / 32 * 32, 32, 512);
    auto* const kernel = type == ldpc_decoder::number::float16 ? of_halves : of_floats;
    kernel<<<blocks, threads, 0, stream_of(queue)>>>(all);
    cuda_check_launch(name);
}

} // namespace

void ldpc_with_steps_cuda(const std::vector<ldpc_words_cuda>& words,
                          ldpc_decoder::number type,
                          queue& queue,
                          const std::function<void()>& decode)
{
    launch(choose_steps_kernel<float>,
           choose_steps_kernel<float16>,
           "choose_steps_kernel",
           words,
           type,
           queue);
    decode();
    auto with_soft = words;
    with_soft.erase(std::remove_if(with_soft.begin(),
                                   with_soft.end(),
                                   [](const auto& one) { return !one.soft; }),
                    with_soft.end());
    launch(soft_from_steps_kernel<float>,
           soft_from_steps_kernel<float16>,
           "soft_from_steps_kernel",
           with_soft,
           type,
           queue);
}

} // namespace gr::cudaphy::kernels
