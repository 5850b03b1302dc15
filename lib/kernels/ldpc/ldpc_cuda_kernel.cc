/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/ldpc_cuda_kernel.h"
#include "kernels/ldpc/ldpc_cuda_source.h"
#include <memory>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using form = ldpc_cuda_kernel::form;

constexpr bool folds_long_codes = true;

template <typename Plan>
std::unique_ptr<Plan> plan_of(const ldpc_decoding& decoding, int shared_bytes)
{
    try {
        return std::make_unique<Plan>(decoding, shared_bytes);
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

//! Pairs, unless they need room in device memory and a single codeword fits.
form choice(const ldpc_decoding& decoding, int shared_bytes)
{
    const auto pairs = plan_of<ldpc_cuda_plan>(decoding, shared_bytes);
    return folds_long_codes && (!pairs || pairs->device_words > 0) &&
                   plan_of<ldpc_cuda_folded_plan>(decoding, shared_bytes)
               ? form::folded
               : form::pairs;
}

} // namespace

ldpc_cuda_kernel::ldpc_cuda_kernel(const ldpc_decoding& decoding,
                                   int shared_bytes_a_block,
                                   form wanted)
{
    const auto take = [&](auto plan) {
        source = ldpc_cuda_source(decoding, plan);
        sources = std::move(plan.sources);
        outputs = std::move(plan.outputs);
        info = std::move(plan.info);
    };
    const auto place = [&](const ldpc_cuda_store& store) {
        threads = store.threads;
        shared_bytes = store.shared_bytes;
        workspace_words = store.workspace_words;
    };
    if (wanted == form::chosen) {
        wanted = choice(decoding, shared_bytes_a_block);
    }
    if (wanted == form::folded) {
        const ldpc_cuda_folded_plan plan(decoding, shared_bytes_a_block);
        codewords = 1;
        place(plan.stores[0]);
        take(plan);
    } else {
        const ldpc_cuda_plan plan(decoding, shared_bytes_a_block);
        codewords = 2 * plan.pairs;
        place(plan);
        take(plan);
    }
}

bool ldpc_cuda_kernel::is_for(const ldpc_decoding& decoding, int shared_bytes_a_block)
{
    return plan_of<ldpc_cuda_plan>(decoding, shared_bytes_a_block) ||
           choice(decoding, shared_bytes_a_block) == form::folded;
}

bool ldpc_cuda_kernel::is_one_a_block(const ldpc_decoding& decoding,
                                      int shared_bytes_a_block)
{
    return choice(decoding, shared_bytes_a_block) == form::folded;
}

bool ldpc_cuda_kernel::folds_few(const ldpc_decoding& decoding, int shared_bytes_a_block)
{
    // In whole warps, or idle lanes would take back what it gains; and not where it would
    // stop after another iteration.
    return decoding.code->circulants().lifting_size % 64 == 0 &&
           (!decoding.parameters.early_stop || decoding.parameters.stop_crc.bits > 0) &&
           choice(decoding, shared_bytes_a_block) == form::pairs &&
           plan_of<ldpc_cuda_folded_plan>(decoding, shared_bytes_a_block);
}

} // namespace gr::cudaphy::kernels
