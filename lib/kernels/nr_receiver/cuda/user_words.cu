/* SPDX-License-Identifier: GPL-3.0-or-later */
// A user's codewords: decoders, orders, and what is reported of them.
#include "kernels/nr_receiver/cuda/user.cuh"
#include "kernels/nr_receiver/packed_bits.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

using access = nr5g::soft_buffer_access;

//! Remainders of x^0, x^1 ... x^(count - 1).
std::vector<uint32_t> powers(const nr5g::crc& code, size_t count)
{
    std::vector<uint32_t> out;
    const uint64_t mask = (uint64_t{ 1 } << code.bits) - 1;
    uint64_t value = 1;
    for (size_t i = 0; i < count; ++i) {
        out.push_back(static_cast<uint32_t>(value));
        value <<= 1;
        if (value > mask) {
            value = (value & mask) ^ code.polynomial;
        }
    }
    return out;
}

} // namespace

void user_cuda::make_word(size_t index)
{
    const auto& of = d_user.channel->codewords()[index];
    const auto& parts = of.blocks;
    auto& one = d_words[index];
    auto& job = one.job;
    one.layers.first = of.first_layer;
    one.layers.layers = of.layers;
    job.blocks = parts.blocks;
    job.block_bits = parts.block_bits;
    job.block_bytes = parts.block_bits / 8;
    job.order = of.coding.order;
    job.coded = of.coded;
    job.unit = of.layers * of.coding.order;
    const auto each =
        nr5g::coded_lengths(of.coded, of.layers, of.coding.order, parts.blocks);
    job.least = each.front();
    job.shorter = static_cast<int>(std::count(each.begin(), each.end(), each.front()));
    job.places = static_cast<int>(access::places(*d_user.decoders[index]));
    const int own_bits = parts.block_bits - parts.block_crc.bits;
    job.own_bytes = own_bits / 8;
    job.payload_bytes = parts.payload / 8;
    job.ok_at = (job.payload_bytes + 15) / 16 * 16;
    job.record = (job.ok_at + 2 * job.blocks * sizeof(int) + 15) / 16 * 16;
    // The longest code that a retransmission may need.
    const auto matcher = access::matcher(*d_user.decoders[index], {});
    one.most_received = std::max(parts.code(matcher.rows(job.places))->n(), job.places);

    const size_t crc_bits = parts.transport_crc.bits;
    const auto power =
        powers(parts.transport_crc, size_t(own_bits) * parts.blocks + crc_bits);
    std::vector<uint32_t> term(own_bits), factor(size_t(parts.blocks) * crc_factors);
    for (int i = 0; i < own_bits; ++i) {
        term[i % 8 * job.own_bytes + i / 8] = power[own_bits - 1 - i];
    }
    for (int i = 0; i < parts.blocks; ++i) {
        const size_t behind = size_t(own_bits) * (parts.blocks - 1 - i);
        std::copy_n(power.begin() + behind, crc_bits, factor.begin() + i * crc_factors);
    }
    one.signs = std::make_unique<device_memory<int8_t>>(d_user.bits[index]->signs());
    one.term = std::make_unique<device_memory<uint32_t>>(term);
    one.factor = std::make_unique<device_memory<uint32_t>>(factor);
    job.signs = one.signs->data();
    job.term = one.term->data();
    job.factor = one.factor->data();
}

int user_cuda::reach_of(size_t codeword, int version) const
{
    const auto& of = d_user.channel->codewords()[codeword];
    const auto matcher = access::matcher(*d_user.decoders[codeword],
                                         { of.layers, of.coding.order, version });
    const auto& job = d_words[codeword].job;
    return matcher.reach(job.least + (job.shorter < job.blocks ? job.unit : 0));
}

void user_cuda::prepare_word(size_t codeword, int at, const gpu_order& order)
{
    auto& one = d_words[codeword];
    auto& job = one.job;
    if (at == 0) {
        one.rows = 0;
        one.with_harq = false;
    }
    const auto& of = d_user.channel->codewords()[codeword];
    const auto matcher =
        access::matcher(*d_user.decoders[codeword],
                        { of.layers, of.coding.order, order.redundancy_version });
    int reach = reach_of(codeword, order.redundancy_version);
    word_order wanted{ matcher.start(), 0, nullptr, nullptr, nullptr };
    if (order.held) {
        one.with_harq = true;
        auto& held = *order.held;
        auto& in_gpu = access::in_gpu(held);
        auto* memory = dynamic_cast<soft_memory*>(in_gpu.get());
        const bool on_host = !in_gpu && !access::soft(held).empty();
        if (in_gpu && (!memory || memory->device() != d_device)) {
            // Another GPU's: by way of the host.
            if (access::reach(held) > 0) {
                access::soft(held).resize(size_t(job.blocks) * job.places);
                access::bits(held).resize(size_t(job.blocks) * job.block_bits);
                access::passed(held).resize(job.blocks);
                in_gpu->fetch(
                    access::soft(held), access::bits(held), access::passed(held));
            }
            memory = nullptr;
        }
        if (!memory) {
            auto made = std::make_shared<soft_memory>(
                d_device, job.blocks, job.places, job.block_bits);
            if ((on_host || in_gpu) && access::reach(held) > 0) {
                made->store(access::soft(held), access::bits(held), access::passed(held));
            }
            access::soft(held) = {};
            access::bits(held) = {};
            access::passed(held) = {};
            memory = made.get();
            in_gpu = std::move(made);
        }
        wanted.combined = access::reach(held) > 0;
        wanted.soft = memory->soft();
        wanted.bits = memory->bits();
        wanted.passed = memory->passed();
        reach = std::max(reach, access::reach(held));
    }
    one.rows = std::max(one.rows, matcher.rows(reach));
    d_memory->in.host<word_order>(one.wanted)[at] = wanted;
}

void user_cuda::choose(std::vector<uint64_t>& key, const float2* grid)
{
    d_estimate.grid = d_layers.grid = grid;
    for (size_t i = 0; i < d_words.size(); ++i) {
        auto& one = d_words[i];
        auto& of = one.decoders[one.rows];
        if (!of.decoder) {
            const auto& parts = d_user.channel->codewords()[i].blocks;
            const auto code = parts.code(one.rows);
            auto wanted = access::parameters(*d_user.decoders[i]).decoding;
            wanted.packed = true;
            wanted.stop_crc = parts.stop_crc();
            of.n = code->n();
            of.decoder = ldpc_decoder::make(code, wanted, backend::cuda, d_device);
        }
        one.chosen = &of;
        one.job.received = of.n;
        one.job.width = one.with_harq ? std::max(of.n, one.job.places) : of.n;
        key.push_back(uint64_t(one.rows) * 2 + one.with_harq);
    }
}

void user_cuda::decode(int slots, queue& queue)
{
    const auto stream = stream_of(queue);
    const auto of = [](auto* data, size_t size) { return view(data, size); };
    const auto& job = d_layers;
    const bool in_registers = separated() == way::in_registers;
    if (in_registers) {
        launch_separation(job, d_words.front().layers, slots, stream);
    } else if (d_many) {
        d_many->run(job, slots, stream);
    } else {
        separate(slots, queue);
    }
    for (size_t i = 0; i < d_words.size(); ++i) {
        auto& one = d_words[i];
        const auto& words = one.job;
        if (!in_registers) {
            launch_select(job, one.layers, slots, stream);
        }
        auto* const separated_x = one.layers.x ? one.layers.x : job.x;
        auto* const separated_noise = one.layers.noise ? one.layers.noise : job.noise;
        if (d_precoding) {
            d_precoding->run(separated_x, separated_noise, slots, stream);
        }
        const bool kept = d_precoding && d_precoding->has_ptrs();
        const auto* const x = kept ? d_precoding->x() : separated_x;
        const auto* const noise = kept ? d_precoding->noise() : separated_noise;
        const size_t own = size_t(slots) * (words.coded / words.order);
        auto& work = d_memory->work;
        d_user.bits[i]->demapper().run(
            view<const complex64>(reinterpret_cast<const complex64*>(x), own),
            view<const float>(noise, own),
            of(work.at<int8_t>(one.llr), own * words.order),
            queue);
        launch_recovery(words, slots, stream);
        const size_t blocks = size_t(slots) * words.blocks;
        one.chosen->decoder->run(
            view<const int8_t>(words.received_llr, blocks * words.received),
            ldpc_decoder::results{
                of(work.at<uint8_t>(one.decoded), blocks * words.block_bytes),
                of(work.at<int>(one.iterations), blocks),
                of(work.at<int>(one.passed), blocks) },
            queue);
        launch_payload(words, slots, stream);
    }
}

//! Up to 16 antennas: by the equalizer, with its inputs in memory.
void user_cuda::separate(int slots, queue& queue)
{
    const auto& job = d_layers;
    launch_gather(job, slots, stream_of(queue));
    const auto of = [](auto* data, size_t size) { return view(data, size); };
    const auto complex = [](const float2* data, size_t size) {
        return view<const complex64>(reinterpret_cast<const complex64*>(data), size);
    };
    const size_t data = size_t(slots) * job.data, all = data * job.layers;
    const auto y = complex(job.received, data * d_antennas);
    const auto h = complex(job.channel, all * d_antennas);
    const view<complex64> x(reinterpret_cast<complex64*>(job.x), all);
    const auto noise = of(job.noise, all);
    const auto status = of(d_memory->work.at<int>(d_status), data);
    if (d_white) {
        const view<const float> n0(job.n0, slots);
        d_equalizer->run(y, h, n0, x, noise, status, queue);
    } else {
        const auto r = complex(job.covariances, data * d_antennas * d_antennas);
        d_equalizer->run(y, h, r, x, noise, status, queue);
    }
}

words_cuda user_cuda::on_host(size_t codeword) const
{
    auto out = d_words[codeword].job;
    out.records = d_memory->out.host<char>(d_words[codeword].records);
    return out;
}

void user_cuda::fetch(int slots, queue& queue) const
{
    for (size_t i = 0; i < d_words.size(); ++i) {
        const auto& job = d_words[i].job;
        queue.copy_out(on_host(i).records, job.records, slots * job.record);
    }
}

void user_cuda::report(int at, reception& out) const
{
    const auto& state = this->state(at);
    out.codewords.resize(d_words.size());
    for (size_t i = 0; i < d_words.size(); ++i) {
        const auto& one = d_words[i];
        const auto& found = d_memory->out.host<word_report>(one.report)[at];
        auto& block = out.codewords[i];
        const auto job = on_host(i);
        const int *const ok = job.block_ok(at), *const run = job.block_iterations(at);
        const view<const uint8_t> payload(job.payload(at), job.payload_bytes);
        block.ok = found.ok != 0;
        block.block_ok.assign(ok, ok + job.blocks);
        block.iterations.assign(run, run + job.blocks);
        if (d_packed) {
            block.payload.assign(payload.begin(), payload.end());
        } else {
            block.payload.resize(payload.size() * 8);
            for (size_t j = 0; j < payload.size(); ++j) {
                // A bit in each byte, the first one in the lowest; then each to 0 or 1.
                const uint64_t spread =
                    payload[j] * 0x0101010101010101u & 0x0102040810204080u;
                const uint64_t bits =
                    (spread + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
                std::memcpy(block.payload.data() + 8 * j, &bits, 8);
            }
        }
        const double symbols = one.job.coded / one.job.order;
        block.sinr_db =
            state.usable
                ? 10 *
                      std::log10(std::max(std::exp2(found.capacity / symbols) - 1, 1e-10))
                : -INFINITY;
    }
}

bool user_cuda::doubtful(size_t codeword, int at) const
{
    return d_memory->out.host<word_report>(d_words[codeword].report)[at].doubtful != 0;
}

void user_cuda::reached(size_t codeword, const gpu_order& order) const
{
    if (order.held) {
        int& reach = access::reach(*order.held);
        reach = std::max(reach, reach_of(codeword, order.redundancy_version));
    }
}

void user_cuda::settle(
    size_t codeword, int at, const gpu_order& order, queue& queue, reception& out)
{
    const auto& one = d_words[codeword];
    const auto& job = one.job;
    auto& block = out.codewords[codeword];
    auto alone = access::reserve(*d_user.decoders[codeword]);
    auto& held = order.held ? *order.held : alone;
    auto& soft = access::soft(held);
    auto& bits = access::bits(held);
    auto& passed = access::passed(held);
    soft.assign(size_t(job.blocks) * job.places, 0);
    bits.resize(size_t(job.blocks) * job.block_bits);
    passed.assign(job.blocks, 0);
    if (order.held) {
        access::in_gpu(held)->fetch(soft, bits, passed);
        access::in_gpu(held).reset();
    } else {
        access::reach(held) = reach_of(codeword, order.redundancy_version);
        const size_t size = size_t(job.blocks) * job.received;
        std::vector<int8_t> received(size);
        std::vector<uint8_t> decoded(size_t(job.blocks) * job.block_bytes);
        queue.copy_out(received.data(), job.received_llr + at * size, size);
        queue.copy_out(decoded.data(), job.decoded + at * decoded.size(), decoded.size());
        queue.synchronize();
        for (int i = 0; i < job.blocks; ++i) {
            std::copy_n(received.data() + size_t(i) * job.received,
                        std::min(job.received, job.places),
                        soft.data() + size_t(i) * job.places);
        }
        for (size_t i = 0; i < bits.size(); ++i) {
            bits[i] = decoded[i / 8] >> (7 - i % 8) & 1;
        }
        passed = block.block_ok;
    }
    for (int i = 0; i < job.blocks; ++i) {
        const auto first = bits.begin() + ptrdiff_t(i) * job.block_bits;
        const bool zeros = std::count(first, first + job.block_bits, 0) == job.block_bits;
        passed[i] = passed[i] && !(zeros && block.iterations[i] > 0);
    }
    std::vector<uint8_t> payload(size_t(job.payload_bytes) * 8);
    const auto got = access::decode_held(*d_user.decoders[codeword], payload, held);
    block.ok = got.ok;
    block.block_ok = got.block_ok;
    for (int i = 0; i < job.blocks; ++i) {
        block.iterations[i] = got.iterations[i] ? got.iterations[i] : block.iterations[i];
    }
    block.payload = d_packed ? packed_bits(payload) : std::move(payload);
}

} // namespace gr::cudaphy::kernels::nr
