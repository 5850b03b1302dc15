/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr5g_transport_block.h>
#include <numeric>

namespace gr::cudaphy::kernels::nr5g {
namespace {

using number = ldpc_decoder::number;

void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("nr5g: " + problem);
    }
}

rate_matcher make_matcher(const segmentation& parts, int limited, const transmission& how)
{
    rate_matcher::parameters p;
    p.base_graph = parts.base_graph;
    p.lifting_size = parts.lifting_size;
    p.fillers = parts.fillers;
    p.modulation_order = how.modulation_order;
    p.redundancy_version = how.redundancy_version;
    p.limited_buffer = limited;
    return rate_matcher(p);
}

std::vector<int> lengths(const segmentation& parts, size_t coded, const transmission& how)
{
    require(coded <= INT32_MAX, "more than 2^31 coded bits");
    return coded_lengths(
        static_cast<int>(coded), how.layers, how.modulation_order, parts.blocks);
}

} // namespace

transport_block_encoder::transport_block_encoder(const segmentation& parts,
                                                 int limited_buffer,
                                                 backend where,
                                                 int device)
    : d_segmentation(parts), d_limited_buffer(limited_buffer),
      d_queue(queue::make(where, device))
{
    make_matcher(parts, limited_buffer, {}); // throws for wrong parameters
}

void transport_block_encoder::encode(view<const uint8_t> payload,
                                     const transmission& how,
                                     view<uint8_t> coded)
{
    const std::lock_guard<std::mutex> turn(d_turn);
    const auto& parts = d_segmentation;
    const auto matcher = make_matcher(parts, d_limited_buffer, how);
    const auto each = lengths(parts, coded.size(), how);
    std::vector<uint8_t> blocks(size_t(parts.blocks) * parts.block_bits);
    segment(parts, payload, blocks);
    const int rows = matcher.rows(matcher.reach(each.back())); // the longest
    auto& encoder = d_encoders[rows];
    const auto code = parts.code(rows);
    if (!encoder) {
        encoder = ldpc_encoder::make(code, d_queue->where(), d_queue->device());
    }
    const array<uint8_t> info(*d_queue, blocks);
    array<uint8_t> words(*d_queue, size_t(parts.blocks) * code->n());
    encoder->run(info, words, *d_queue);
    auto encoded = words.to_host();
    uint8_t* out = coded.data();
    for (int i = 0; i < parts.blocks; ++i) {
        const size_t start = size_t(i) * code->n();
        const size_t size = each[i];
        matcher.match({ encoded.data() + start, size_t(code->n()) }, { out, size });
        out += size;
    }
}

transport_block_decoder::transport_block_decoder(const segmentation& parts,
                                                 const parameters& wanted,
                                                 backend where,
                                                 int device)
    : d_segmentation(parts), d_parameters(wanted), d_queue(queue::make(where, device))
{
    auto& decoding = d_parameters.decoding;
    require(decoding.llr == number::float32 || decoding.llr == number::int8,
            "transport blocks take LLRs in float32 or int8");
    decoding.early_stop = true;
    decoding.whole_words = false;
    decoding.packed = false;
    decoding.stop_crc = parts.stop_crc();
    d_soft_bits = matcher({}).soft_bits();
    // Throws for parameters that the decoder does not take.
    ldpc_decoder::make(parts.code(4), decoding, d_queue->where(), d_queue->device());
    clear();
}

rate_matcher transport_block_decoder::matcher(const transmission& how) const
{
    return make_matcher(d_segmentation, d_parameters.limited_buffer, how);
}

void transport_block_decoder::clear()
{
    auto empty = make_buffer();
    const std::lock_guard<std::mutex> turn(d_turn);
    d_own = std::move(empty);
}

size_t transport_block_decoder::bytes_of_buffer() const
{
    const bool floats = d_parameters.decoding.llr == number::float32;
    return size_t(d_segmentation.blocks) *
           (size_t(d_soft_bits) * (floats ? sizeof(float) : 1) +
            d_segmentation.block_bits + sizeof(int));
}

void transport_block_decoder::settle(soft_buffer& buffer) const
{
    const size_t size = size_t(d_segmentation.blocks) * d_soft_bits;
    if (d_parameters.decoding.llr == number::float32) {
        buffer.d_soft.resize(size);
    } else {
        buffer.d_soft_int8.resize(size);
    }
    buffer.d_bits.resize(size_t(d_segmentation.blocks) * d_segmentation.block_bits);
    buffer.d_passed.resize(d_segmentation.blocks);
    if (buffer.d_in_gpu) {
        if (buffer.d_reach > 0) {
            buffer.d_in_gpu->fetch(buffer.d_soft_int8, buffer.d_bits, buffer.d_passed);
        }
        buffer.d_in_gpu.reset();
    }
}

transport_block_decoder::soft_buffer transport_block_decoder::make_buffer() const
{
    soft_buffer out;
    out.d_bytes = bytes_of_buffer();
    settle(out);
    return out;
}

transport_block_decoder::outcome transport_block_decoder::decode(view<const float> llr,
                                                                 const transmission& how,
                                                                 view<uint8_t> payload)
{
    return decode(llr, how, payload, d_own);
}

transport_block_decoder::outcome transport_block_decoder::decode(view<const int8_t> llr,
                                                                 const transmission& how,
                                                                 view<uint8_t> payload)
{
    return decode(llr, how, payload, d_own);
}

transport_block_decoder::outcome transport_block_decoder::decode(view<const float> llr,
                                                                 const transmission& how,
                                                                 view<uint8_t> payload,
                                                                 soft_buffer& buffer)
{
    require(d_parameters.decoding.llr == number::float32,
            "llr is float32, but this decoder takes int8");
    return decode_any(llr, how, payload, buffer);
}

transport_block_decoder::outcome transport_block_decoder::decode(view<const int8_t> llr,
                                                                 const transmission& how,
                                                                 view<uint8_t> payload,
                                                                 soft_buffer& buffer)
{
    require(d_parameters.decoding.llr == number::int8,
            "llr is int8, but this decoder takes float32");
    return decode_any(llr, how, payload, buffer);
}

template <typename T>
std::vector<T>& transport_block_decoder::soft_of(soft_buffer& buffer)
{
    if constexpr (std::is_same_v<T, float>) {
        return buffer.d_soft;
    } else {
        return buffer.d_soft_int8;
    }
}

template <typename T>
transport_block_decoder::outcome
transport_block_decoder::decode_any(view<const T> llr,
                                    const transmission& how,
                                    view<uint8_t> payload,
                                    soft_buffer& buffer)
{
    const std::lock_guard<std::mutex> turn(d_turn);
    require(buffer.bytes() == bytes_of_buffer(),
            "the soft buffer is of another transport block");
    require(payload.size() == size_t(d_segmentation.payload),
            "payload has " + std::to_string(payload.size()) +
                " bits, the transport block " + std::to_string(d_segmentation.payload));
    settle(buffer);
    add(llr, how, buffer);
    return decode_held<T>(payload, buffer);
}

transport_block_decoder::outcome
transport_block_decoder::decode_int8(view<uint8_t> payload, soft_buffer& buffer)
{
    const std::lock_guard<std::mutex> turn(d_turn);
    settle(buffer);
    return decode_held<int8_t>(payload, buffer);
}

template <typename T>
transport_block_decoder::outcome
transport_block_decoder::decode_held(view<uint8_t> payload, soft_buffer& buffer)
{
    auto& block_passed = buffer.d_passed;
    outcome out{ false, {}, std::vector<int>(d_segmentation.blocks) };
    std::vector<int> open;
    for (int i = 0; i < d_segmentation.blocks; ++i) {
        if (!block_passed[i]) {
            open.push_back(i);
        }
    }
    if (!open.empty()) {
        decode_blocks<T>(open, true, buffer, out);
        decode_zeros_again<T>(open, buffer, out);
    }
    out.block_ok = block_passed;
    const bool passed = std::all_of(
        block_passed.begin(), block_passed.end(), [](int ok) { return ok != 0; });
    out.ok = desegment(d_segmentation, buffer.d_bits, payload) && passed;
    if (passed && !out.ok) {
        // One block passed its CRC by chance, so the next call decodes all blocks anew.
        std::fill(block_passed.begin(), block_passed.end(), 0);
    }
    return out;
}

template <typename T>
void transport_block_decoder::add(view<const T> llr,
                                  const transmission& how,
                                  soft_buffer& buffer)
{
    auto& soft = soft_of<T>(buffer);
    const auto from = matcher(how);
    const auto each = lengths(d_segmentation, llr.size(), how);
    size_t start = 0;
    for (int i = 0; i < d_segmentation.blocks; ++i) {
        const size_t start_of_block = size_t(i) * d_soft_bits;
        from.recover(llr.part(start, each[i]),
                     view<T>(soft.data() + start_of_block, d_soft_bits));
        start += each[i];
    }
    buffer.d_reach = std::max(buffer.d_reach, from.reach(each.back()));
}

template <typename T>
void transport_block_decoder::decode_blocks(const std::vector<int>& blocks,
                                            bool until_crc,
                                            soft_buffer& buffer,
                                            outcome& out)
{
    const auto& soft = soft_of<T>(buffer);
    const int rows = matcher({}).rows(buffer.d_reach);
    auto& [n, decoder] = d_stages[{ rows, until_crc }];
    if (!decoder) {
        const auto code = d_segmentation.code(rows);
        auto wanted = d_parameters.decoding;
        wanted.stop_crc = until_crc ? d_segmentation.stop_crc() : crc{};
        n = code->n();
        decoder = ldpc_decoder::make(code, wanted, d_queue->where(), d_queue->device());
    }
    // A limited buffer may end before the code's bits do. Bits beyond the buffer are
    // never sent.
    const size_t known = std::min(n, d_soft_bits);
    const size_t batch = blocks.size();
    const size_t k = d_segmentation.block_bits;
    std::vector<T> received(batch * n);
    for (size_t i = 0; i < batch; ++i) {
        std::copy_n(soft.data() + size_t(blocks[i]) * d_soft_bits,
                    known,
                    received.data() + i * n);
    }
    const array<T> llr(*d_queue, view<const T>(received));
    array<uint8_t> bits(*d_queue, batch * k);
    array<int> iterations(*d_queue, batch), ok(*d_queue, batch);
    decoder->run(view<const T>(llr),
                 ldpc_decoder::results{ bits.all(), iterations.all(), ok.all() },
                 *d_queue);
    const auto got = bits.to_host();
    const auto run = iterations.to_host();
    const auto passed = ok.to_host();
    for (size_t i = 0; i < batch; ++i) {
        std::copy_n(got.data() + i * k, k, buffer.d_bits.data() + blocks[i] * k);
        out.iterations[blocks[i]] += run[i];
        buffer.d_passed[blocks[i]] = passed[i];
    }
}

template <typename T>
void transport_block_decoder::decode_zeros_again(const std::vector<int>& blocks,
                                                 soft_buffer& buffer,
                                                 outcome& out)
{
    const auto& soft = soft_of<T>(buffer);
    auto& block_passed = buffer.d_passed;
    const size_t k = d_segmentation.block_bits;
    const auto bits_of = [&](int block) {
        return view<const uint8_t>(buffer.d_bits).part(block * k, k);
    };
    std::vector<int> doubtful;
    for (const int block : blocks) {
        const auto bits = bits_of(block);
        if (block_passed[block] &&
            std::count(bits.begin(), bits.end(), 0) == int64_t(k)) {
            const auto first = soft.begin() + size_t(block) * d_soft_bits;
            const bool nothing = std::count(first, first + d_soft_bits, 0) == d_soft_bits;
            block_passed[block] = 0;
            if (!nothing) {
                doubtful.push_back(block);
            }
        }
    }
    if (doubtful.empty()) {
        return;
    }
    decode_blocks<T>(doubtful, false, buffer, out);
    for (const int block : doubtful) {
        block_passed[block] = block_passed[block] &&
                              remainder(d_segmentation.stop_crc(), bits_of(block)) == 0;
    }
}

} // namespace gr::cudaphy::kernels::nr5g
