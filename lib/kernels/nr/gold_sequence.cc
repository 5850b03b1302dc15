/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <algorithm>
#include <gnuradio/cudaphy/kernels/nr/gold_sequence.h>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int stages = 31;
constexpr uint32_t all = 0x7fffffff;
constexpr uint64_t skipped = 1600; // N_C

// Terms of x(n + 31) among x(n + i): bit i. 2^31 + these is the register's polynomial.
constexpr uint32_t first_taps = 0x9, second_taps = 0xf;

uint32_t step(uint32_t register_, uint32_t taps)
{
    const uint32_t in = __builtin_popcount(register_ & taps) & 1;
    return register_ >> 1 | in << (stages - 1);
}

//! a · b modulo the register's polynomial; bit i is the factor of x^i.
uint32_t multiply(uint32_t a, uint32_t b, uint32_t taps)
{
    uint32_t product = 0;
    for (int i = stages - 1; i >= 0; --i) {
        const bool carry = product >> (stages - 1) & 1;
        product = (product << 1 & all) ^ (carry ? taps : 0);
        product ^= b >> i & 1 ? a : 0;
    }
    return product;
}

// x^steps modulo the polynomial says which of the next 31 states add up to the state
// after `steps` steps.
uint32_t jump(uint32_t register_, uint64_t steps, uint32_t taps)
{
    uint32_t power = 1, square = 2;
    for (; steps; steps >>= 1) {
        if (steps & 1) {
            power = multiply(power, square, taps);
        }
        square = multiply(square, square, taps);
    }
    uint32_t sum = 0;
    for (int i = 0; i < stages; ++i) {
        sum ^= power >> i & 1 ? register_ : 0;
        register_ = step(register_, taps);
    }
    return sum;
}

} // namespace

gold_sequence::gold_sequence(uint32_t c_init, uint64_t offset)
    : d_now{ jump(1, skipped + offset, first_taps),
             jump(c_init & all, skipped + offset, second_taps) }
{
}

uint32_t gold_sequence::next(int count)
{
    // Up to 28 bits depend on the current state alone, because the highest tap is 3.
    auto& [x, y] = d_now;
    const uint32_t mask = (1u << count) - 1;
    const uint32_t out = (x ^ y) & mask;
    const uint32_t x_in = (x ^ x >> 3) & mask;
    const uint32_t y_in = (y ^ y >> 1 ^ y >> 2 ^ y >> 3) & mask;
    x = (x >> count | x_in << (stages - count)) & all;
    y = (y >> count | y_in << (stages - count)) & all;
    return out;
}

void gold_sequence::next(view<uint8_t> bits)
{
    std::fill(bits.begin(), bits.end(), uint8_t(0));
    scramble(bits);
}

void gold_sequence::scramble(view<uint8_t> bits)
{
    constexpr size_t most = 28;
    for (size_t i = 0; i < bits.size(); i += most) {
        const size_t count = std::min(most, bits.size() - i);
        const uint32_t word = next(static_cast<int>(count));
        for (size_t j = 0; j < count; ++j) {
            bits[i + j] ^= word >> j & 1;
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
