/* SPDX-License-Identifier: GPL-3.0-or-later */
// Each lane has a symbol. The carrier of a vector is that of the one before, turned.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dvb/frame_sync/carrier_cpu.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <hwy/highway.h>

#ifndef CUDAPHY_DVB_SCRAMBLING
#define CUDAPHY_DVB_SCRAMBLING
namespace gr::cudaphy::kernels {

//! j^-R of each place, real and imaginary parts apart.
struct scrambling_parts {
    std::vector<float> re, im;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;
//! Symbols over which the carrier runs on before it is computed anew.
constexpr uint32_t stretch = 2048;

//! Up to `stretch` symbols.
void correct_stretch(const scrambling_parts& parts,
                     const std::complex<float>* in,
                     std::complex<float>* out,
                     const carrier_segment& one,
                     uint32_t first,
                     uint32_t count)
{
    const tag d;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d));
    HWY_ALIGN float start_re[hn::MaxLanes(d)], start_im[hn::MaxLanes(d)];
    const double cycles = std::remainder(one.phase + one.frequency * first, 1.0);
    std::complex<double> turn = std::polar<double>(one.gain, -2 * pi * cycles);
    const auto step = std::polar(1.0, -2 * pi * one.frequency);
    std::complex<double> vector_step = 1;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        start_re[lane] = static_cast<float>(turn.real());
        start_im[lane] = static_cast<float>(turn.imag());
        turn *= step;
        vector_step *= step;
    }
    auto carrier_re = hn::Load(d, start_re), carrier_im = hn::Load(d, start_im);
    const auto step_re = hn::Set(d, static_cast<float>(vector_step.real()));
    const auto step_im = hn::Set(d, static_cast<float>(vector_step.imag()));
    const float* const code_re = parts.re.data() + one.place + first;
    const float* const code_im = parts.im.data() + one.place + first;
    const float* const from = reinterpret_cast<const float*>(in + one.in + first);
    float* const to = reinterpret_cast<float*>(out + one.out + first);
    const auto correct = [&](const float* symbols, uint32_t place, float* result) {
        const auto c_re = hn::LoadU(d, code_re + place);
        const auto c_im = hn::LoadU(d, code_im + place);
        const auto t_re = hn::NegMulAdd(carrier_im, c_im, hn::Mul(carrier_re, c_re));
        const auto t_im = hn::MulAdd(carrier_im, c_re, hn::Mul(carrier_re, c_im));
        hn::Vec<tag> re, im;
        hn::LoadInterleaved2(d, symbols, re, im);
        hn::StoreInterleaved2(hn::NegMulAdd(im, t_im, hn::Mul(re, t_re)),
                              hn::MulAdd(im, t_re, hn::Mul(re, t_im)),
                              d,
                              result);
    };
    uint32_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        correct(from + 2 * i, i, to + 2 * i);
        const auto re = hn::NegMulAdd(carrier_im, step_im, hn::Mul(carrier_re, step_re));
        carrier_im = hn::MulAdd(carrier_im, step_re, hn::Mul(carrier_re, step_im));
        carrier_re = re;
    }
    if (i < count) {
        HWY_ALIGN float rest[2 * hn::MaxLanes(d)] = {};
        std::copy(from + 2 * i, from + 2 * count, rest);
        correct(rest, i, rest);
        std::copy_n(rest, 2 * (count - i), to + 2 * i);
    }
}

} // namespace

void correct_segment(const scrambling_parts& parts,
                     const std::complex<float>* in,
                     std::complex<float>* out,
                     const carrier_segment& one)
{
    for (uint32_t first = 0; first < one.count; first += stretch) {
        correct_stretch(parts, in, out, one, first, std::min(stretch, one.count - first));
    }
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(correct_segment);

class corrector_cpu : public carrier_corrector
{
public:
    explicit corrector_cpu(const parameters& p)
    {
        constexpr float re[] = { 1, 0, -1, 0 }, im[] = { 0, -1, 0, 1 };
        for (const auto turn : pl_scrambling(p.gold_code, p.most_place)) {
            d_parts.re.push_back(re[turn]);
            d_parts.im.push_back(im[turn]);
        }
        constexpr size_t most_lanes = 64; // a vector may read beyond the last symbol
        d_parts.re.resize(p.most_place + most_lanes);
        d_parts.im.resize(d_parts.re.size());
    }

    void run(const std::complex<float>* in,
             std::complex<float>* out,
             const carrier_segment* segments,
             size_t count,
             queue&) const override
    {
        constexpr size_t grain = 64; // a frame or two: workers take longer to wake
        for_each_part(count, grain, [&](size_t first, size_t last) {
            for (size_t s = first; s < last; ++s) {
                HWY_DYNAMIC_DISPATCH(correct_segment)
                (d_parts, in, out, segments[s]);
            }
        });
    }

private:
    scrambling_parts d_parts;
};

} // namespace

std::unique_ptr<carrier_corrector>
make_carrier_corrector_cpu(const carrier_corrector::parameters& p)
{
    return std::make_unique<corrector_cpu>(p);
}

} // namespace gr::cudaphy::kernels
#endif
