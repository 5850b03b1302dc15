/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/kernel.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>
#include <memory>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using form = ldpc_cuda_kernel::form;

constexpr auto tuned = ldpc_cuda_tuned();

template <typename Plan>
std::unique_ptr<Plan> plan_of(const ldpc_decoding& decoding, int shared_bytes)
{
    try {
        return std::make_unique<Plan>(decoding, shared_bytes);
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

//! The form for pairs, unless it needs device memory and the folded form fits.
form choice(const ldpc_decoding& decoding, int shared_bytes)
{
    const auto pairs = plan_of<ldpc_cuda_plan>(decoding, shared_bytes);
    return tuned.folds_long_codes && (!pairs || pairs->device_words > 0) &&
                   plan_of<ldpc_cuda_folded_plan>(decoding, shared_bytes)
               ? form::folded
               : form::pairs;
}

} // namespace

ldpc_cuda_kernel::ldpc_cuda_kernel(const ldpc_decoding& decoding,
                                   int shared_bytes_a_block,
                                   form wanted)
{
    ldpc_cuda_source alone;
    *this = ldpc_cuda_kernel(decoding, shared_bytes_a_block, wanted, alone);
    source = alone.text();
}

//! Adds the part of the program for this code to `to`.
ldpc_cuda_kernel::ldpc_cuda_kernel(const ldpc_decoding& decoding,
                                   int shared_bytes_a_block,
                                   form wanted,
                                   ldpc_cuda_source& to)
{
    const auto take = [&](auto plan) {
        to.add(decoding, plan);
        sources = std::move(plan.sources);
        outputs = std::move(plan.outputs);
        info = std::move(plan.info);
    };
    const auto take_store = [&](const ldpc_cuda_store& store) {
        threads = store.threads;
        registers = store.registers;
        shared_bytes = store.shared_bytes;
        workspace_words = store.workspace_words;
    };
    if (wanted == form::chosen) {
        wanted = choice(decoding, shared_bytes_a_block);
    }
    if (wanted == form::folded) {
        const ldpc_cuda_folded_plan plan(decoding, shared_bytes_a_block);
        codewords = 1;
        take_store(plan.stores[0]);
        take(plan);
    } else {
        const ldpc_cuda_plan plan(decoding, shared_bytes_a_block);
        codewords = 2 * plan.pairs;
        take_store(plan);
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
    // Only in whole warps, because idle lanes would cost what the form gains. Only if
    // both forms stop after the same iteration, because results must not depend on the
    // batch.
    return decoding.code->circulants().lifting_size % 64 == 0 &&
           (!decoding.parameters.early_stop || decoding.parameters.stop_crc.bits > 0) &&
           choice(decoding, shared_bytes_a_block) == form::pairs &&
           plan_of<ldpc_cuda_folded_plan>(decoding, shared_bytes_a_block);
}

std::vector<std::vector<int>>
ldpc_cuda_mixed_kernel::groups(const std::vector<ldpc_decoding>& decodings,
                               int shared_bytes_a_block)
{
    struct group {
        int threads, registers;
        size_t circulants;
        std::vector<int> codes;
    };
    std::vector<group> all;
    for (size_t i = 0; i < decodings.size(); ++i) {
        const ldpc_cuda_kernel one(decodings[i], shared_bytes_a_block);
        const size_t circulants = decodings[i].code->circulants().all.size();
        auto fits = std::find_if(all.begin(), all.end(), [&](const auto& other) {
            return other.threads == one.threads && other.registers == one.registers &&
                   other.circulants + circulants <= tuned.most_circulants &&
                   other.codes.size() < ldpc_cuda_source::most_codes;
        });
        if (fits == all.end()) {
            all.push_back({ one.threads, one.registers, 0, {} });
            fits = all.end() - 1;
        }
        fits->circulants += circulants;
        fits->codes.push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> out;
    for (auto& one : all) {
        if (one.codes.size() > 1) {
            out.push_back(std::move(one.codes));
        }
    }
    return out;
}

ldpc_cuda_mixed_kernel::ldpc_cuda_mixed_kernel(
    const std::vector<ldpc_decoding>& decodings, int shared_bytes_a_block)
{
    ldpc_cuda_source all(static_cast<int>(decodings.size()));
    for (const auto& decoding : decodings) {
        codes.push_back(
            ldpc_cuda_kernel(decoding, shared_bytes_a_block, form::chosen, all));
        threads = std::max(threads, codes.back().threads);
        shared_bytes = std::max(shared_bytes, codes.back().shared_bytes);
    }
    source = all.text();
}

} // namespace gr::cudaphy::kernels
