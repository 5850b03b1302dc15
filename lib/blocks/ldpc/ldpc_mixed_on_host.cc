/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_mixed_on_host.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include <algorithm>

namespace gr::cudaphy {

ldpc_mixed_on_host::ldpc_mixed_on_host(
    const std::vector<kernels::ldpc_code::sptr>& codes,
    const kernels::ldpc_decoder::parameters& parameters,
    const resolved_backend& where,
    const std::vector<int>& max_batch)
    : d_codes(codes), d_parameters(parameters), d_max_batch(max_batch),
      d_queue(queue::make(where.where, where.device)),
      d_kernel(
          kernels::ldpc_mixed_decoder::make(codes, parameters, where.where, where.device))
{
}

void ldpc_mixed_on_host::run(std::vector<group>& groups, bool soft)
{
    for (auto& one : groups) {
        const auto& code = *d_codes[one.code];
        one.bits.resize(one.frames * output_bytes(code, d_parameters));
        one.soft.resize(soft ? one.frames * output_bits(code, d_parameters) : 0);
        one.iterations.resize(one.frames);
        one.ok.resize(one.frames);
    }
    for (size_t turn = 0;; ++turn) {
        std::vector<piece> pieces;
        for (auto& one : groups) {
            const size_t most = d_max_batch[one.code];
            if (turn * most < one.frames) {
                const auto& code = *d_codes[one.code];
                pieces.push_back({ one,
                                   turn * most,
                                   std::min(most, one.frames - turn * most),
                                   code.n() * llr_bytes(d_parameters),
                                   size_t(output_bytes(code, d_parameters)),
                                   soft ? size_t(output_bits(code, d_parameters)) : 0 });
            }
        }
        if (pieces.empty()) {
            return;
        }
        d_queue->where() == backend::cuda ? decode_on_device(pieces, soft)
                                          : decode(pieces, soft);
    }
}

kernels::ldpc_decoder::results ldpc_mixed_on_host::results_of(
    const piece& which, uint8_t* bits, int* iterations, int* ok, float* soft)
{
    const size_t frames = which.frames;
    return { { bits, frames * which.bytes },
             { iterations, frames },
             { ok, frames },
             { soft, frames * which.bits } };
}

void ldpc_mixed_on_host::decode(const std::vector<piece>& pieces, bool soft)
{
    std::vector<kernels::ldpc_mixed_decoder::part> parts;
    for (const auto& one : pieces) {
        auto& of = one.of;
        const auto from = one.first;
        parts.push_back(
            { of.code,
              { one.llr(), one.frames * d_codes[of.code]->n(), d_parameters.llr },
              results_of(one,
                         of.bits.data() + from * one.bytes,
                         of.iterations.data() + from,
                         of.ok.data() + from,
                         soft ? of.soft.data() + from * one.bits : nullptr) });
    }
    d_kernel->run(parts, *d_queue);
}

void ldpc_mixed_on_host::decode_on_device(const std::vector<piece>& pieces, bool soft)
{
    // Each piece where a transaction of memory begins.
    const auto rounded = [](size_t bytes) { return (bytes + 127) / 128 * 128; };
    size_t llr = 0, bytes = 0, bits = 0, frames = 0;
    for (const auto& one : pieces) {
        llr += rounded(one.frames * one.llr_bytes);
        bytes += rounded(one.frames * one.bytes);
        bits += one.frames * one.bits;
        frames += one.frames;
    }
    const auto enlarge = [&](auto& memory, size_t size) {
        if (memory.size() < size) {
            memory = {};
            memory = std::decay_t<decltype(memory)>(*d_queue, size);
        }
    };
    enlarge(d_llr, llr);
    enlarge(d_bits, bytes);
    enlarge(d_soft, bits);
    enlarge(d_status, 2 * frames);

    std::vector<kernels::ldpc_mixed_decoder::part> parts;
    llr = bytes = bits = frames = 0;
    for (const auto& one : pieces) {
        const size_t size = one.frames * one.llr_bytes;
        d_queue->copy_in(d_llr.data() + llr, one.llr(), size);
        parts.push_back({ one.of.code,
                          { d_llr.data() + llr,
                            one.frames * d_codes[one.of.code]->n(),
                            d_parameters.llr },
                          results_of(one,
                                     d_bits.data() + bytes,
                                     d_status.data() + 2 * frames,
                                     d_status.data() + 2 * frames + one.frames,
                                     soft ? d_soft.data() + bits : nullptr) });
        llr += rounded(size);
        bytes += rounded(one.frames * one.bytes);
        bits += one.frames * one.bits;
        frames += one.frames;
    }
    d_kernel->run(parts, *d_queue);
    for (size_t i = 0; i < pieces.size(); ++i) {
        const auto& one = pieces[i];
        const auto& out = parts[i].out;
        auto& of = one.of;
        d_queue->copy_out(of.bits.data() + one.first * one.bytes,
                          out.bits.data(),
                          one.frames * one.bytes);
        d_queue->copy_out(of.iterations.data() + one.first,
                          out.iterations.data(),
                          one.frames * sizeof(int));
        d_queue->copy_out(
            of.ok.data() + one.first, out.ok.data(), one.frames * sizeof(int));
        if (soft) {
            d_queue->copy_out(of.soft.data() + one.first * one.bits,
                              out.soft.data(),
                              one.frames * one.bits * sizeof(float));
        }
    }
    d_queue->synchronize();
}

} // namespace gr::cudaphy
