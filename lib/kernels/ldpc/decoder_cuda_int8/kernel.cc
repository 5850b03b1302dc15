/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder_cuda_int8/kernel.h"
#include "kernels/ldpc/decoder_cuda_int8/row_pairs.h"
#include "kernels/ldpc/decoder_cuda_int8/source.h"
#include "kernels/ldpc/decoder_cuda_int8/tuning.h"
#include <algorithm>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

//! The plan, or null if the code does not fit into a block.
template <typename Plan, typename... Arguments>
std::shared_ptr<const Plan> plan_if_it_fits(const Arguments&... arguments)
{
    try {
        return std::make_shared<const Plan>(arguments...);
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

} // namespace

ldpc_cuda_kernel::ldpc_cuda_kernel(const ldpc_decoding& decoding,
                                   int shared_bytes_a_block,
                                   form wanted)
    : d_decoding(decoding), d_wanted(wanted)
{
    const auto row_pairs = ldpc_row_pairs(*decoding.code);
    if (wanted == form::chosen) {
        // The form for pairs, unless it needs device memory and the folded form fits.
        d_pairs =
            plan_if_it_fits<ldpc_cuda_plan>(decoding, shared_bytes_a_block, row_pairs);
        const bool folds = ldpc_cuda_tuned().folds_long_codes && !decoding.corrects();
        if (folds && (!d_pairs || d_pairs->device_words > 0)) {
            d_folded = plan_if_it_fits<ldpc_cuda_folded_plan>(
                decoding, shared_bytes_a_block, row_pairs);
        }
        wanted = d_folded ? form::folded : form::pairs;
    }
    const auto take_store = [&](const ldpc_cuda_store& store) {
        threads = store.threads;
        registers = store.registers;
        shared_bytes = store.shared_bytes;
        workspace_words = store.workspace_words;
    };
    if (wanted == form::folded) {
        if (decoding.corrects()) { // both threads of a row would need the second least
            throw std::invalid_argument(
                "ldpc_decoder: CUDA's folded form corrects no messages");
        }
        d_pairs.reset();
        if (!d_folded) {
            d_folded = std::make_shared<const ldpc_cuda_folded_plan>(
                decoding, shared_bytes_a_block, row_pairs);
        }
        codewords = 1;
        take_store(d_folded->stores[0]);
    } else {
        if (!d_pairs) {
            d_pairs = std::make_shared<const ldpc_cuda_plan>(
                decoding, shared_bytes_a_block, row_pairs);
        }
        codewords = 2 * d_pairs->pairs;
        take_store(*d_pairs);
    }
}

bool ldpc_cuda_kernel::folds_few() const
{
    // Only in whole warps, because idle lanes would cost what the form gains. Only if
    // both forms stop after the same iteration, because results must not depend on the
    // batch.
    const auto& p = d_decoding.parameters;
    return d_pairs && d_decoding.code->circulants().lifting_size % 64 == 0 &&
           (!p.early_stop || p.stop_crc.bits > 0);
}

void ldpc_cuda_kernel::add_to(ldpc_cuda_source& all) const
{
    if (d_folded) {
        all.add(d_decoding, *d_folded);
    } else {
        all.add(d_decoding, *d_pairs);
    }
}

std::string ldpc_cuda_kernel::source() const
{
    ldpc_cuda_source alone;
    add_to(alone);
    return alone.text();
}

const std::vector<int>& ldpc_cuda_kernel::sources() const
{
    return d_folded ? d_folded->sources : d_pairs->sources;
}

const std::vector<int>& ldpc_cuda_kernel::outputs() const
{
    return d_folded ? d_folded->outputs : d_pairs->outputs;
}

const std::vector<int>& ldpc_cuda_kernel::info() const
{
    return d_folded ? d_folded->info : d_pairs->info;
}

std::vector<std::vector<int>>
ldpc_cuda_mixed_kernel::groups(const std::vector<ldpc_cuda_kernel::sptr>& all)
{
    struct group {
        int threads, registers;
        size_t circulants;
        std::vector<int> codes;
    };
    std::vector<group> groups;
    for (size_t i = 0; i < all.size(); ++i) {
        const auto& one = *all[i];
        if (one.is_folded()) {
            continue;
        }
        const size_t circulants = one.decoding().code->circulants().all.size();
        auto fits = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
            return other.threads == one.threads && other.registers == one.registers &&
                   other.circulants + circulants <= ldpc_cuda_tuned().most_circulants &&
                   other.codes.size() < ldpc_cuda_source::most_codes;
        });
        if (fits == groups.end()) {
            groups.push_back({ one.threads, one.registers, 0, {} });
            fits = groups.end() - 1;
        }
        fits->circulants += circulants;
        fits->codes.push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> out;
    for (auto& one : groups) {
        if (one.codes.size() > 1) {
            out.push_back(std::move(one.codes));
        }
    }
    return out;
}

ldpc_cuda_mixed_kernel::ldpc_cuda_mixed_kernel(
    const std::vector<ldpc_cuda_kernel::sptr>& codes)
    : codes(codes)
{
    for (const auto& code : codes) {
        threads = std::max(threads, code->threads);
        shared_bytes = std::max(shared_bytes, code->shared_bytes);
    }
}

std::string ldpc_cuda_mixed_kernel::source() const
{
    ldpc_cuda_source all(static_cast<int>(codes.size()));
    for (const auto& code : codes) {
        code->add_to(all);
    }
    return all.text();
}

} // namespace gr::cudaphy::kernels
