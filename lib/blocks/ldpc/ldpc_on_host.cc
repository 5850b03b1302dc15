/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/ldpc_on_host.h"
#include "blocks/ldpc/ldpc_sizes.h"
#include <algorithm>

namespace gr::cudaphy {

ldpc_on_host_decoder::ldpc_on_host_decoder(
    kernels::ldpc_code::sptr code,
    const kernels::ldpc_decoder::parameters& parameters,
    const resolved_backend& where,
    int max_batch)
    : d_code(code), d_parameters(parameters), d_max_batch(max_batch),
      d_queue(queue::make(where.where, where.device)),
      d_kernel(kernels::ldpc_decoder::make(code, parameters, where.where, where.device))
{
    d_kernel->prepare();
    if (where.where == backend::cuda) {
        d_llr = array<char>(*d_queue, d_max_batch * code->n() * llr_bytes(parameters));
        d_bits = array<uint8_t>(*d_queue, d_max_batch * output_bytes(*code, parameters));
        d_status = array<int>(*d_queue, 2 * d_max_batch);
    }
}

void ldpc_on_host_decoder::run(const void* llr, size_t frames, uint8_t* bits, float* soft)
{
    d_iterations.resize(frames);
    d_ok.resize(frames);
    for (size_t first = 0; first < frames; first += d_max_batch) {
        run_batch(static_cast<const char*>(llr),
                  first,
                  std::min(d_max_batch, frames - first),
                  bits,
                  soft);
    }
}

void ldpc_on_host_decoder::run_batch(
    const char* llr, size_t first, size_t frames, uint8_t* bits, float* soft)
{
    const size_t n = d_code->n(), bytes_in = n * llr_bytes(d_parameters);
    const size_t bytes_out = output_bytes(*d_code, d_parameters);
    const size_t soft_out = output_bits(*d_code, d_parameters);
    llr += first * bytes_in;
    bits += first * bytes_out;
    soft = soft ? soft + first * soft_out : nullptr;
    auto *iterations = d_iterations.data() + first, *ok = d_ok.data() + first;
    const bool on_device = d_queue->where() == backend::cuda;
    if (!on_device) {
        d_kernel->run({ llr, frames * n, d_parameters.llr },
                      { { bits, frames * bytes_out },
                        { iterations, frames },
                        { ok, frames },
                        { soft, soft ? frames * soft_out : 0 } },
                      *d_queue);
        return;
    }
    if (soft && d_soft.size() == 0) {
        d_soft = array<float>(*d_queue, d_max_batch * soft_out);
    }
    d_queue->copy_in(d_llr.data(), llr, frames * bytes_in);
    d_kernel->run({ d_llr.data(), frames * n, d_parameters.llr },
                  { { d_bits.data(), frames * bytes_out },
                    { d_status.data(), frames },
                    { d_status.data() + d_max_batch, frames },
                    { d_soft.data(), soft ? frames * soft_out : 0 } },
                  *d_queue);
    d_queue->copy_out(bits, d_bits.data(), frames * bytes_out);
    d_queue->copy_out(iterations, d_status.data(), frames * sizeof(int));
    d_queue->copy_out(ok, d_status.data() + d_max_batch, frames * sizeof(int));
    if (soft) {
        d_queue->copy_out(soft, d_soft.data(), frames * soft_out * sizeof(float));
    }
    d_queue->synchronize();
}

ldpc_on_host_encoder::ldpc_on_host_encoder(
    kernels::ldpc_code::sptr code,
    const kernels::ldpc_encoder::parameters& parameters,
    const resolved_backend& where,
    int max_batch)
    : d_max_batch(max_batch), d_info_bytes(bytes_of(code->k(), parameters.packed_input)),
      d_word_bytes(bytes_of(code->n(), parameters.packed_output)),
      d_queue(queue::make(where.where, where.device)),
      d_kernel(kernels::ldpc_encoder::make(code, parameters, where.where, where.device))
{
    if (where.where == backend::cuda) {
        d_info = array<uint8_t>(*d_queue, d_max_batch * d_info_bytes);
        d_words = array<uint8_t>(*d_queue, d_max_batch * d_word_bytes);
    }
}

void ldpc_on_host_encoder::run(const uint8_t* info, size_t frames, uint8_t* words)
{
    for (size_t first = 0; first < frames; first += d_max_batch) {
        const size_t batch = std::min(d_max_batch, frames - first);
        const auto* from = info + first * d_info_bytes;
        auto* to = words + first * d_word_bytes;
        if (d_queue->where() != backend::cuda) {
            d_kernel->run(
                { from, batch * d_info_bytes }, { to, batch * d_word_bytes }, *d_queue);
            continue;
        }
        d_queue->copy_in(d_info.data(), from, batch * d_info_bytes);
        d_kernel->run({ d_info.data(), batch * d_info_bytes },
                      { d_words.data(), batch * d_word_bytes },
                      *d_queue);
        d_queue->copy_out(to, d_words.data(), batch * d_word_bytes);
        d_queue->synchronize();
    }
}

} // namespace gr::cudaphy
