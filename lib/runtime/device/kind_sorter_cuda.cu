/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "runtime/device/kind_sorter_cuda.h"

namespace gr::cudaphy {
namespace {

constexpr int copy_threads = 256;

template <typename Word>
__device__ void copy_words(const copied_piece& piece)
{
    const auto* from = reinterpret_cast<const Word*>(piece.from);
    auto* to = reinterpret_cast<Word*>(piece.to);
    const auto words = static_cast<unsigned>(piece.bytes / sizeof(Word));
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < words; i += copy_threads) {
        to[i] = from[i];
    }
}

__global__ void __launch_bounds__(copy_threads) copy_list(const copied_piece* pieces)
{
    const auto piece = pieces[blockIdx.x];
    const auto misfit = reinterpret_cast<size_t>(piece.from) |
                        reinterpret_cast<size_t>(piece.to) | piece.bytes;
    if (misfit % sizeof(uint4) == 0) {
        copy_words<uint4>(piece);
    } else if (misfit % sizeof(uint2) == 0) {
        copy_words<uint2>(piece);
    } else if (misfit % sizeof(unsigned) == 0) {
        copy_words<unsigned>(piece);
    } else {
        copy_words<char>(piece);
    }
}

} // namespace

void copy_pieces(queue& work_queue, const copied_piece* pieces, size_t count)
{
    if (count == 0) {
        return;
    }
    cuda_device_scope scope(work_queue.device());
    copy_list<<<static_cast<unsigned>(count), copy_threads, 0, stream_of(work_queue)>>>(
        pieces);
    cuda_check_launch("the order of a batch's frames");
}

} // namespace gr::cudaphy
