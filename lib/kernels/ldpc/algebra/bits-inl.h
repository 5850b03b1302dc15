/* SPDX-License-Identifier: GPL-3.0-or-later */
// Converts bits between bytes and words, and transposes squares of bits, for each
// instruction set. Include it after hwy/highway.h, in the passes of hwy/foreach_target.h.
#if defined(CUDAPHY_LDPC_BITS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CUDAPHY_LDPC_BITS_INL
#undef CUDAPHY_LDPC_BITS_INL
#else
#define CUDAPHY_LDPC_BITS_INL
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t side = 64;
// A vector reads and writes its mask in up to 8 bytes.
constexpr size_t slack = 8;

using bytes = hn::CappedTag<uint8_t, side>;
using words = hn::CappedTag<uint64_t, 8>;

//! Swaps bit `Shift` of the column's number with bit 3, 4 or 5 (`stride` 8, 16 or 32) of
//! the row's.
template <int Shift>
HWY_INLINE void swap_bit(uint64_t* HWY_RESTRICT rows, size_t stride)
{
    constexpr uint64_t low = ~uint64_t{ 0 } / ((uint64_t{ 1 } << Shift) + 1);
    const words d;
    const auto mask = hn::Set(d, low);
    for (size_t first = 0; first < side; first += 2 * stride) {
        for (size_t r = first; r < first + stride; r += hn::Lanes(d)) {
            const auto a = hn::LoadU(d, rows + r);
            const auto b = hn::LoadU(d, rows + r + stride);
            const auto t = hn::And(hn::Xor(hn::ShiftRight<Shift>(a), b), mask);
            hn::StoreU(hn::Xor(a, hn::ShiftLeft<Shift>(t)), d, rows + r);
            hn::StoreU(hn::Xor(b, t), d, rows + r + stride);
        }
    }
}

//! r with its octal digits swapped. Rows that differ by 1, 2 or 4 then are at least a
//! vector apart.
constexpr size_t swapped(size_t r) { return (r & 7) << 3 | r >> 3; }

//! Transposes a square. The rows of `in` stand in swapped order; its content is
//! destroyed.
HWY_INLINE void transpose_swapped(uint64_t* HWY_RESTRICT in, uint64_t* HWY_RESTRICT out)
{
    swap_bit<1>(in, 8);
    swap_bit<2>(in, 16);
    swap_bit<4>(in, 32);
    for (size_t r = 0; r < side; ++r) {
        out[r] = in[swapped(r)];
    }
    swap_bit<8>(out, 8);
    swap_bit<16>(out, 16);
    swap_bit<32>(out, 32);
}

//! The lowest bits of 64 bytes.
HWY_INLINE uint64_t pack(const uint8_t* from)
{
#if HWY_TARGET == HWY_SCALAR
    // A vector of one lane has a mask of less than a byte.
    uint64_t packed = 0;
    for (size_t i = 0; i < side; ++i) {
        packed |= static_cast<uint64_t>(from[i] & 1) << i;
    }
    return packed;
#else
    const bytes d;
    const auto one = hn::Set(d, uint8_t{ 1 });
    uint8_t bits[side / 8 + slack];
    for (size_t i = 0; i < side; i += hn::Lanes(d)) {
        hn::StoreMaskBits(d, hn::TestBit(hn::LoadU(d, from + i), one), bits + i / 8);
    }
    uint64_t packed;
    std::memcpy(&packed, bits, sizeof(packed));
    return packed;
#endif
}

HWY_INLINE void unpack(uint64_t packed, uint8_t* to)
{
#if HWY_TARGET == HWY_SCALAR
    for (size_t i = 0; i < side; ++i) {
        to[i] = packed >> i & 1;
    }
#else
    const bytes d;
    const auto one = hn::Set(d, uint8_t{ 1 });
    uint8_t bits[side / 8 + slack] = {};
    std::memcpy(bits, &packed, sizeof(packed));
    for (size_t i = 0; i < side; i += hn::Lanes(d)) {
        hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, bits + i / 8), one), d, to + i);
    }
#endif
}

//! The bits of each byte in reverse: packed bits have the first one highest.
HWY_INLINE uint64_t reverse_in_bytes(uint64_t x)
{
    constexpr uint64_t nibbles = 0x0f0f0f0f0f0f0f0f;
    constexpr uint64_t pairs = 0x3333333333333333;
    constexpr uint64_t single = 0x5555555555555555;
    x = (x >> 4 & nibbles) | (x & nibbles) << 4;
    x = (x >> 2 & pairs) | (x & pairs) << 2;
    return (x >> 1 & single) | (x & single) << 1;
}

//! The same for `count` words, and up to a vector more.
HWY_INLINE void reverse_in_bytes(uint64_t* bits, size_t count)
{
    const words d;
    const auto nibbles = hn::Set(d, uint64_t{ 0x0f0f0f0f0f0f0f0f });
    const auto pairs = hn::Set(d, uint64_t{ 0x3333333333333333 });
    const auto single = hn::Set(d, uint64_t{ 0x5555555555555555 });
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
        auto x = hn::LoadU(d, bits + i);
        x = hn::Or(hn::And(hn::ShiftRight<4>(x), nibbles),
                   hn::ShiftLeft<4>(hn::And(x, nibbles)));
        x = hn::Or(hn::And(hn::ShiftRight<2>(x), pairs),
                   hn::ShiftLeft<2>(hn::And(x, pairs)));
        x = hn::Or(hn::And(hn::ShiftRight<1>(x), single),
                   hn::ShiftLeft<1>(hn::And(x, single)));
        hn::StoreU(x, d, bits + i);
    }
}

//! Bits 0..count - 1 of packed bytes, count up to 64; others are arbitrary.
HWY_INLINE uint64_t read_packed(const uint8_t* from, size_t count)
{
    uint64_t bits = 0;
    std::memcpy(&bits, from, (count + 7) / 8);
    return reverse_in_bytes(bits);
}

HWY_INLINE void write_packed(uint64_t bits, size_t count, uint8_t* to)
{
    bits = reverse_in_bytes(bits);
    std::memcpy(to, &bits, (count + 7) / 8);
}

//! Bits 0..count - 1 of bytes with a bit each, count up to 64; others are 0.
HWY_INLINE uint64_t read_bytes(const uint8_t* from, size_t count)
{
    if (count == side) {
        return pack(from);
    }
    uint8_t tail[side] = {};
    std::memcpy(tail, from, count);
    return pack(tail);
}

HWY_INLINE void write_bytes(uint64_t bits, size_t count, uint8_t* to)
{
    if (count == side) {
        unpack(bits, to);
        return;
    }
    uint8_t tail[side];
    unpack(bits, tail);
    std::memcpy(to, tail, count);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();
#endif
