/* SPDX-License-Identifier: GPL-3.0-or-later */
// A word modulo g(x) is the sum of x^i modulo g(x) over its bits i that are 1. A thread
// takes 32 bits of several words: it reads each x^i once for all of them. Only words that
// leave a remainder are corrected, a block a word.
#include "kernels/bch/correct.cuh"
#include "kernels/bch/galois_field.h"
#include "kernels/bch/makers.h"
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/common/run_checks.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! A code's tables on the device.
class device_code
{
public:
    device_code(const bch_code& code, const bch_packing& p)
        : device_code(code, p, galois_field(code.m(), code.polynomial()))
    {
    }

    cuda_code code{};

    size_t remainder_length() const
    {
        return static_cast<size_t>(code.parts) * remainder_words;
    }

    void launch_divide(const uint8_t* words,
                       int count,
                       uint8_t* out,
                       uint32_t* remainders,
                       size_t batch,
                       cudaStream_t stream) const
    {
        const auto blocks = (batch + words_of_a_block - 1) / words_of_a_block;
        divide<<<static_cast<unsigned>(blocks), division_threads, 0, stream>>>(
            code, words, count, out, code.k, remainders, batch);
        cuda_check_launch("bch divide");
    }

private:
    device_code(const bch_code& from, const bch_packing& p, const galois_field& field)
        : d_powers(powers_of(from)), d_exp(field.exp_table()), d_log(field.log_table())
    {
        code.powers = d_powers.data();
        code.exp = d_exp.data();
        code.log = d_log.data();
        code.n = from.n();
        code.k = from.k();
        code.t = from.t();
        code.order = static_cast<int>(field.order());
        code.groups = groups_of(from);
        code.parts = parts_of(from);
        code.packed_input = p.packed_input;
        code.packed_output = p.packed_output;
    }

    static int groups_of(const bch_code& code) { return (code.n() + 31) / 32; }
    static int parts_of(const bch_code& code)
    {
        constexpr int bits = 32 * remainder_words;
        return (code.n() - code.k() + bits - 1) / bits;
    }

    static std::vector<uint32_t> powers_of(const bch_code& code)
    {
        const size_t groups = groups_of(code);
        const size_t length = static_cast<size_t>(parts_of(code)) * remainder_words;
        std::vector<uint32_t> all(length * 32 * groups);
        const auto& g = code.generator();
        const size_t parity = g.size() - 1;
        // x^(n - 1 - i) modulo g(x), from i = n - 1 down.
        std::vector<uint8_t> power(parity);
        power[parity - 1] = 1;
        for (int i = code.n() - 1; i >= 0; --i) {
            for (size_t at = 0; at < parity; ++at) {
                if (power[at]) {
                    const size_t word = at / 32;
                    const size_t part = word / remainder_words;
                    const size_t r = word % remainder_words;
                    all[((part * 32 + i % 32) * remainder_words + r) * groups + i / 32] |=
                        1u << (31 - at % 32);
                }
            }
            const bool leaves = power[0];
            for (size_t at = 0; at < parity; ++at) {
                const uint8_t next = at + 1 < parity ? power[at + 1] : 0;
                power[at] = next ^ (leaves ? g[at + 1] : 0);
            }
        }
        return all;
    }

    device_memory<uint32_t> d_powers;
    device_memory<uint16_t> d_exp, d_log;
};

class on_device
{
public:
    on_device(const bch_code& code, const bch_packing& p, int device) : d_device(device)
    {
        const cuda_device_scope scope(d_device);
        d_code = std::make_unique<device_code>(code, p);
    }
    ~on_device()
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_code.reset();
    }
    int device() const { return d_device; }
    device_code* operator->() const { return d_code.get(); }

private:
    int d_device;
    std::unique_ptr<device_code> d_code;
};

unsigned blocks_of(size_t batch) { return static_cast<unsigned>((batch + 127) / 128); }

class bch_encoder_cuda : public bch_encoder
{
public:
    bch_encoder_cuda(const bch_code::sptr& code, const bch_packing& p, int device)
        : d_in(bch_bytes(code->k(), p.packed_input)),
          d_out(bch_bytes(code->n(), p.packed_output)), d_on(*code, p, device)
    {
        d_on->code.in_bytes = d_in;
        d_on->code.out_bytes = d_out;
        const cuda_device_scope scope(device);
        d_remainders = std::make_unique<device_memory<uint32_t>>(
            words_at_a_time * d_on->remainder_length());
    }
    ~bch_encoder_cuda() override
    {
        const cuda_device_scope scope(d_on.device(), std::nothrow);
        d_remainders.reset();
    }

    void run(view<const uint8_t> info, view<uint8_t> words, queue& q) override
    {
        check_queue("bch_encoder", q, backend::cuda);
        const size_t batch = bch_batch("bch_encoder", info, d_in, words, d_out);
        const cuda_device_scope scope(d_on.device());
        const auto stream = stream_of(q);
        for (size_t first = 0; first < batch; first += words_at_a_time) {
            const size_t count = std::min(words_at_a_time, batch - first);
            uint8_t* const out = words.data() + first * d_out;
            d_on->launch_divide(info.data() + first * d_in,
                                d_on->code.k,
                                out,
                                d_remainders->data(),
                                count,
                                stream);
            append<<<blocks_of(count), 128, 0, stream>>>(
                d_on->code, d_remainders->data(), out, count);
            cuda_check_launch("bch append");
        }
    }

private:
    static constexpr size_t words_at_a_time = 65536;

    size_t d_in, d_out;
    on_device d_on;
    std::unique_ptr<device_memory<uint32_t>> d_remainders;
};

class bch_decoder_cuda : public bch_decoder
{
public:
    bch_decoder_cuda(const bch_code::sptr& code, const bch_packing& p, int device)
        : d_in(bch_bytes(code->n(), p.packed_input)),
          d_out(bch_bytes(code->k(), p.packed_output)), d_on(*code, p, device)
    {
        d_on->code.in_bytes = d_in;
        d_on->code.out_bytes = d_out;
        cuda_check(
            cudaDeviceGetAttribute(&d_processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
    }

    size_t workspace_bytes(size_t batch) const override
    {
        return (batch * d_on->remainder_length() + batch + 1) * sizeof(uint32_t);
    }

    void run(view<const uint8_t> words,
             view<uint8_t> info,
             view<int32_t> corrected,
             view<uint8_t> workspace,
             queue& q) override
    {
        check_queue("bch_decoder", q, backend::cuda);
        const size_t batch = bch_decoder_batch(words, d_in, info, d_out, corrected);
        check_workspace("bch_decoder", "batch", workspace.size(), workspace_bytes(batch));
        if (batch == 0) {
            return;
        }
        const cuda_device_scope scope(d_on.device());
        const auto stream = stream_of(q);
        auto* const remainders = reinterpret_cast<uint32_t*>(workspace.data());
        auto* const list = remainders + batch * d_on->remainder_length();
        cuda_check(cudaMemsetAsync(list, 0, sizeof(uint32_t), stream), "cudaMemsetAsync");
        d_on->launch_divide(
            words.data(), d_on->code.n, info.data(), remainders, batch, stream);
        find_wrong<<<blocks_of(batch), 128, 0, stream>>>(
            remainders,
            static_cast<int>(d_on->remainder_length()),
            corrected.data(),
            list,
            batch);
        cuda_check_launch("bch find_wrong");
        const auto blocks =
            std::min<size_t>(batch, 4 * static_cast<size_t>(d_processors));
        correct<<<static_cast<unsigned>(blocks), correction_threads, 0, stream>>>(
            d_on->code, remainders, list, info.data(), corrected.data());
        cuda_check_launch("bch correct");
    }

private:
    size_t d_in, d_out;
    on_device d_on;
    int d_processors = 1;
};

} // namespace

CUDAPHY_CUDA_MAKER_2(bch_encoder, bch_encoder_cuda, bch_code::sptr, bch_packing)

CUDAPHY_CUDA_MAKER_2(bch_decoder, bch_decoder_cuda, bch_code::sptr, bch_packing)

} // namespace gr::cudaphy::kernels
