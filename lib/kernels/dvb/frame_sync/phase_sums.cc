/* SPDX-License-Identifier: GPL-3.0-or-later */
// Each lane has a symbol.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/frame_sync/phase_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dvb/frame_sync/phase_sums.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;
using vector = hn::Vec<tag>;

struct complex_vector {
    vector re, im;
};

HWY_INLINE complex_vector multiply(const complex_vector& a, const complex_vector& b)
{
    return { hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
             hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im)) };
}

//! The exponent is at least 1.
HWY_INLINE complex_vector power_of(complex_vector base, int exponent)
{
    while (exponent % 2 == 0) {
        base = multiply(base, base);
        exponent /= 2;
    }
    auto power = base;
    while (exponent /= 2) {
        base = multiply(base, base);
        power = exponent % 2 ? multiply(power, base) : power;
    }
    return power;
}

//! Adds a vector of symbols to the harmonics' sums.
HWY_INLINE void add_symbols(const phase_table& table,
                            const complex_vector& symbols,
                            float bins_a_unit,
                            complex_vector* sums)
{
    const tag d;
    const hn::RebindToSigned<tag> di;
    const auto energy =
        hn::Max(hn::MulAdd(symbols.re, symbols.re, hn::Mul(symbols.im, symbols.im)),
                hn::Set(d, 1e-36f));
    const auto amplitude = hn::Sqrt(energy);
    const auto inverse = hn::Div(hn::Set(d, 1.0f), amplitude);
    const auto bin =
        hn::ConvertTo(di,
                      hn::Min(hn::Mul(amplitude, hn::Set(d, bins_a_unit)),
                              hn::Set(d, static_cast<float>(phase_bins - 1))));
    const complex_vector unit{ hn::Mul(symbols.re, inverse),
                               hn::Mul(symbols.im, inverse) };
    const auto square = multiply(unit, unit);
    const auto fourth = multiply(square, square);
    for (size_t h = 0; h < table.quarters.size(); ++h) {
        const auto power = power_of(fourth, table.quarters[h]);
        const complex_vector weight{ hn::GatherIndex(d, table.re[h].data(), bin),
                                     hn::GatherIndex(d, table.im[h].data(), bin) };
        const auto term = multiply(power, weight);
        sums[h] = { hn::Add(sums[h].re, term.re), hn::Add(sums[h].im, term.im) };
    }
}

} // namespace

//! turn_re, turn_im: of each symbol of a block.
void sum_block(const phase_table& table,
               const std::complex<float>* in,
               size_t symbols,
               const float* turn_re,
               const float* turn_im,
               float bins_a_unit,
               std::complex<float>* out)
{
    const tag d;
    const size_t lanes = hn::Lanes(d), harmonics = table.quarters.size();
    complex_vector sums[most_harmonics];
    for (auto& sum : sums) {
        sum = { hn::Zero(d), hn::Zero(d) };
    }
    HWY_ALIGN float rest[2 * hn::MaxLanes(d)] = {};
    for (size_t i = 0; i < symbols; i += lanes) {
        const float* from = reinterpret_cast<const float*>(in + i);
        if (i + lanes > symbols) {
            std::copy_n(from, 2 * (symbols - i), rest);
            from = rest;
        }
        complex_vector value;
        hn::LoadInterleaved2(d, from, value.re, value.im);
        value = multiply(value, { hn::LoadU(d, turn_re + i), hn::LoadU(d, turn_im + i) });
        add_symbols(table, value, bins_a_unit, sums);
    }
    for (size_t h = 0; h < harmonics; ++h) {
        out[h] = { hn::GetLane(hn::SumOfLanes(d, sums[h].re)),
                   hn::GetLane(hn::SumOfLanes(d, sums[h].im)) };
    }
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {

HWY_EXPORT(sum_block);

void phase_sums(const phase_table& table,
                const std::complex<float>* in,
                size_t blocks,
                size_t symbols,
                double frequency,
                float gain,
                std::complex<float>* out)
{
    constexpr size_t most_lanes = 64; // a vector may read beyond the last symbol
    const size_t padded = symbols + most_lanes;
    std::vector<float> turn_re(padded), turn_im(padded);
    const double middle = (static_cast<double>(symbols) - 1) / 2;
    for (size_t i = 0; i < symbols; ++i) {
        const auto turn =
            std::polar(1.0, -2 * pi * frequency * (static_cast<double>(i) - middle));
        turn_re[i] = static_cast<float>(turn.real());
        turn_im[i] = static_cast<float>(turn.imag());
    }
    const float bins_a_unit = gain * phase_bins / most_amplitude;
    const size_t harmonics = table.quarters.size();
    constexpr size_t grain = 16;
    for_each_part(blocks, grain, [&](size_t first, size_t last) {
        for (size_t b = first; b < last; ++b) {
            HWY_DYNAMIC_DISPATCH(sum_block)
            (table,
             in + b * symbols,
             symbols,
             turn_re.data(),
             turn_im.data(),
             bins_a_unit,
             out + b * harmonics);
        }
    });
}

} // namespace gr::cudaphy::kernels
#endif
