/* SPDX-License-Identifier: GPL-3.0-or-later */
// Carry-less products of 64 by 64 bits. Z is a whole number of words, so products wrap
// around as strings do: word i of a string times word j of a factor is added to words i +
// j and i + j + 1, modulo the number of words. A factor is stored backwards and twice.
// Then all products for one word are those of two runs of memory, summed in a register.
#include "kernels/ldpc/algebra/circulant_product.h"
#include "kernels/common/highway_targets_vbmi.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/algebra/circulant_product.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct double_word {
    uint64_t low, high;
};

#if HWY_TARGET == HWY_SCALAR
double_word product(const uint64_t* a, const uint64_t* b, size_t words)
{
    double_word sum{};
    for (size_t w = 0; w < words; ++w) {
        for (int bit = 0; bit < 64; ++bit) {
            if (a[w] >> bit & 1) {
                sum.low ^= b[w] << bit;
                sum.high ^= bit == 0 ? 0 : b[w] >> (64 - bit);
            }
        }
    }
    return sum;
}
#else
//! The sum of the products of `words` words each, a multiple of the vector's.
template <typename Tag>
HWY_INLINE hn::Vec<Tag>
add_products(Tag d, const uint64_t* a, const uint64_t* b, size_t words, hn::Vec<Tag> sum)
{
    for (size_t w = 0; w < words; w += hn::MaxLanes(d)) {
        const auto x = hn::LoadU(d, a + w);
        const auto y = hn::LoadU(d, b + w);
        sum = hn::Xor3(sum, hn::CLMulLower(x, y), hn::CLMulUpper(x, y));
    }
    return sum;
}

template <typename Tag>
double_word total(Tag d, hn::Vec<Tag> sum)
{
    HWY_ALIGN uint64_t parts[hn::MaxLanes(d)];
    hn::Store(sum, d, parts);
    double_word out{};
    for (size_t i = 0; i < hn::MaxLanes(d); i += 2) {
        out.low ^= parts[i];
        out.high ^= parts[i + 1];
    }
    return out;
}
#endif

//! The sum of all strings' products for words s and s + 1 of a product.
HWY_INLINE double_word products_at(
    size_t s, const uint64_t* from, size_t strings, const uint64_t* factors, size_t words)
{
#if HWY_TARGET == HWY_SCALAR
    double_word sum{};
    for (size_t j = 0; j < strings; ++j) {
        const auto one =
            product(from + j * words, factors + (2 * j + 1) * words - s, words);
        sum.low ^= one.low;
        sum.high ^= one.high;
    }
    return sum;
#else
    const auto all = [&](auto d) HWY_ATTR {
        auto sum = hn::Zero(d);
        for (size_t j = 0; j < strings; ++j) {
            sum = add_products(
                d, from + j * words, factors + (2 * j + 1) * words - s, words, sum);
        }
        return total(d, sum);
    };
    const hn::CappedTag<uint64_t, 8> wide;
    if (words >= hn::MaxLanes(wide)) {
        return all(wide);
    }
    return all(hn::FixedTag<uint64_t, 2>());
#endif
}

void multiply(const uint64_t* from,
              size_t strings,
              const uint64_t* factors,
              size_t words,
              size_t products,
              uint64_t* to)
{
    std::fill_n(to, products * words, uint64_t{ 0 });
    for (size_t p = 0; p < products; ++p) {
        for (size_t s = 0; s < words; ++s) {
            const auto sum = products_at(s, from, strings, factors, words);
            to[s] ^= sum.low;
            to[(s + 1) % words] ^= sum.high;
        }
        factors += strings * 2 * words;
        to += words;
    }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {

HWY_EXPORT(multiply);

std::vector<uint64_t> circulant_factor(const std::vector<uint64_t>& words)
{
    const size_t count = words.size();
    std::vector<uint64_t> out(2 * count);
    for (size_t m = 0; m < out.size(); ++m) {
        out[m] = words[(2 * count - m) % count];
    }
    return out;
}

void circulant_products(const uint64_t* from,
                        size_t strings,
                        const uint64_t* factors,
                        size_t words,
                        size_t products,
                        uint64_t* to)
{
    HWY_DYNAMIC_DISPATCH(multiply)(from, strings, factors, words, products, to);
}

} // namespace gr::cudaphy::kernels
#endif
