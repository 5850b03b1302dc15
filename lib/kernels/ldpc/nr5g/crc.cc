/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <array>
#include <gnuradio/cudaphy/kernels/nr5g.h>

namespace gr::cudaphy::kernels::nr5g {
namespace {

void check(const crc& code)
{
    if (code.bits < 1 || code.bits > 32) {
        throw std::invalid_argument("a CRC has 1 to 32 bits, not " +
                                    std::to_string(code.bits));
    }
}

//! The change of a 32-bit register by eight bits that leave it. The register is aligned
//! to the left, so that a short polynomial is a long one that ends with zeros.
std::array<uint32_t, 256> table_of(uint32_t aligned)
{
    std::array<uint32_t, 256> table;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t state = byte << 24;
        for (int i = 0; i < 8; ++i) {
            state = state << 1 ^ (state >> 31 ? aligned : 0);
        }
        table[byte] = state;
    }
    return table;
}

} // namespace

crc crc_from_name(const std::string& name)
{
    const struct {
        const char* name;
        crc code;
    } all[] = { { "24A", crc24a }, { "24B", crc24b }, { "24C", crc24c },
                { "16", crc16 },   { "11", crc11 },   { "6", crc6 } };
    for (const auto& one : all) {
        if (name == one.name) {
            return one.code;
        }
    }
    throw std::invalid_argument("5G NR's CRCs are \"24A\", \"24B\", \"24C\", \"16\", "
                                "\"11\" and \"6\", not \"" +
                                name + "\"");
}

uint32_t remainder(const crc& code, view<const uint8_t> bits)
{
    check(code);
    const uint32_t aligned = code.polynomial << (32 - code.bits);
    uint32_t state = 0;
    const uint8_t* next = bits.begin();
    if (bits.size() >= 256) { // worth a table
        const auto table = table_of(aligned);
        for (; bits.end() - next >= 8; next += 8) {
            uint32_t byte = 0;
            for (int i = 0; i < 8; ++i) {
                byte |= (next[i] & 1u) << (7 - i);
            }
            state = state << 8 ^ table[state >> 24 ^ byte];
        }
    }
    for (; next != bits.end(); ++next) {
        state = state << 1 ^ ((state >> 31 ^ (*next & 1u)) ? aligned : 0);
    }
    return state >> (32 - code.bits);
}

void attach(const crc& code, view<const uint8_t> bits, view<uint8_t> with_crc)
{
    check(code);
    if (with_crc.size() != bits.size() + code.bits) {
        throw std::invalid_argument("nr5g: " + std::to_string(bits.size()) +
                                    " bits and a CRC of " + std::to_string(code.bits) +
                                    " do not make " + std::to_string(with_crc.size()));
    }
    const uint32_t check_bits = remainder(code, bits);
    auto out = std::copy(bits.begin(), bits.end(), with_crc.begin());
    for (int i = code.bits - 1; i >= 0; --i) {
        *out++ = (check_bits >> i) & 1;
    }
}

} // namespace gr::cudaphy::kernels::nr5g
