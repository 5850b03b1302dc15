/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/codes/nr5g_dimensions.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr5g.h>

namespace gr::cudaphy::kernels::nr5g {
namespace {

constexpr int most_payload = 1 << 26; // fifty times the longest transport block
constexpr int most_blocks = 1 << 15;

void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("nr5g: " + problem);
    }
}

void require_size(const char* name, size_t given, size_t needed)
{
    require(given == needed,
            std::string(name) + " has " + std::to_string(given) +
                " bits, the transport block needs " + std::to_string(needed));
}

//! The least lifting size of all sets with columns · Z >= bits.
int lifting_size(int columns, int bits)
{
    for (int z = 2; z <= ldpc_tables::nr5g_graph::max_lifting_size; ++z) {
        if (columns * z >= bits && lifting_set(z) >= 0) {
            return z;
        }
    }
    throw std::logic_error("nr5g: a code block is too long");
}

} // namespace

int base_graph(int payload, double code_rate)
{
    require(payload >= 1,
            "a transport block has 1 bit or more, not " + std::to_string(payload));
    require(code_rate > 0 && code_rate <= 1,
            "a code rate is above 0 to 1, not " + std::to_string(code_rate));
    return payload <= 292 || (payload <= 3824 && code_rate <= 0.67) || code_rate <= 0.25
               ? 2
               : 1;
}

ldpc_code::sptr segmentation::code(int rows) const
{
    return ldpc_code::nr5g(base_graph, lifting_size, rows, fillers);
}

segmentation segment(int payload, int base_graph)
{
    require(base_graph == 1 || base_graph == 2,
            "the base graph is 1 or 2, not " + std::to_string(base_graph));
    require(payload >= 1 && payload <= most_payload,
            "a transport block has 1 to 2^26 bits, not " + std::to_string(payload));
    segmentation out;
    out.base_graph = base_graph;
    out.payload = payload;
    out.transport_crc = payload > 3824 ? crc24a : crc16;
    const int bits = out.payload_crc_bits();
    const int most = base_graph == 1 ? 8448 : 3840; // K_cb
    if (bits <= most) {
        out.blocks = 1;
        out.block_crc = {};
    } else {
        const int room = most - crc24b.bits;
        out.blocks = (bits + room - 1) / room;
        out.block_crc = crc24b;
    }
    require(bits % out.blocks == 0,
            std::to_string(payload) + " bits and their CRC do not fall into " +
                std::to_string(out.blocks) + " equal code blocks; the next that do are " +
                std::to_string(payload + out.blocks - bits % out.blocks));
    out.block_bits = bits / out.blocks + out.block_crc.bits;
    const int systematic = base_graph == 1 ? 22 : 10;
    const int filled = base_graph == 1 ? 22
                       : bits > 640    ? 10
                       : bits > 560    ? 9
                       : bits > 192    ? 8
                                       : 6; // K_b of section 5.2.2
    out.lifting_size = lifting_size(filled, out.block_bits);
    out.fillers = systematic * out.lifting_size - out.block_bits;
    return out;
}

void segment(const segmentation& how, view<const uint8_t> payload, view<uint8_t> blocks)
{
    require_size("payload", payload.size(), how.payload);
    require_size("blocks", blocks.size(), size_t(how.blocks) * how.block_bits);
    std::vector<uint8_t> bits(how.payload_crc_bits());
    attach(how.transport_crc, payload, bits);
    const size_t own = how.block_bits - how.block_crc.bits;
    for (int i = 0; i < how.blocks; ++i) {
        const view<const uint8_t> from(bits.data() + i * own, own);
        const auto block = blocks.part(size_t(i) * how.block_bits, how.block_bits);
        if (how.block_crc.bits) {
            attach(how.block_crc, from, block);
        } else {
            std::copy(from.begin(), from.end(), block.begin());
        }
    }
}

bool desegment(const segmentation& how, view<const uint8_t> blocks, view<uint8_t> payload)
{
    require_size("blocks", blocks.size(), size_t(how.blocks) * how.block_bits);
    require_size("payload", payload.size(), how.payload);
    std::vector<uint8_t> bits(how.payload_crc_bits());
    const size_t own = how.block_bits - how.block_crc.bits;
    for (int i = 0; i < how.blocks; ++i) {
        const auto* from = blocks.data() + size_t(i) * how.block_bits;
        std::copy(from, from + own, bits.begin() + i * own);
    }
    std::copy_n(bits.begin(), payload.size(), payload.begin());
    return remainder(how.transport_crc, bits) == 0;
}

std::vector<int> coded_lengths(int coded, int layers, int modulation_order, int blocks)
{
    require(layers >= 1 && layers <= 4,
            "a transport block has 1 to 4 layers, not " + std::to_string(layers));
    require(modulation_order == 1 || modulation_order == 2 || modulation_order == 4 ||
                modulation_order == 6 || modulation_order == 8 || modulation_order == 10,
            "the modulation order is 1, 2, 4, 6, 8 or 10, not " +
                std::to_string(modulation_order));
    require(blocks >= 1 && blocks <= most_blocks,
            "a transport block has 1 to " + std::to_string(most_blocks) +
                " code blocks, not " + std::to_string(blocks));
    const int unit = layers * modulation_order;
    require(coded >= 0 && coded % unit == 0,
            std::to_string(coded) + " coded bits are no multiple of " +
                std::to_string(unit) + ", the bits of a symbol on every layer");
    const int units = coded / unit;
    std::vector<int> out(blocks, units / blocks * unit);
    for (int i = blocks - units % blocks; i < blocks; ++i) {
        out[i] += unit;
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr5g
