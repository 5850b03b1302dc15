/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/frequency_filter.h"
#include "kernels/common/highway_targets.h"
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nr_receiver/frequency_filter.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::nr {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;

//! out[i] = sum of weights[t] · in[i + t], complex, i = 0 ... count - 1.
void correlate(const float* HWY_RESTRICT re,
               const float* HWY_RESTRICT im,
               const float* HWY_RESTRICT w_re,
               const float* HWY_RESTRICT w_im,
               int taps,
               int count,
               float* HWY_RESTRICT re_out,
               float* HWY_RESTRICT im_out)
{
    const tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int i = 0;
    for (; i + lanes <= count; i += lanes) {
        auto sum_re = hn::Zero(d), sum_im = hn::Zero(d);
        for (int t = 0; t < taps; ++t) {
            const auto a = hn::LoadU(d, re + i + t), b = hn::LoadU(d, im + i + t);
            const auto c = hn::Set(d, w_re[t]), s = hn::Set(d, w_im[t]);
            sum_re = hn::NegMulAdd(b, s, hn::MulAdd(a, c, sum_re));
            sum_im = hn::MulAdd(b, c, hn::MulAdd(a, s, sum_im));
        }
        hn::StoreU(sum_re, d, re_out + i);
        hn::StoreU(sum_im, d, im_out + i);
    }
    for (; i < count; ++i) {
        float sum_re = 0, sum_im = 0;
        for (int t = 0; t < taps; ++t) {
            sum_re += re[i + t] * w_re[t] - im[i + t] * w_im[t];
            sum_im += re[i + t] * w_im[t] + im[i + t] * w_re[t];
        }
        re_out[i] = sum_re;
        im_out[i] = sum_im;
    }
}

} // namespace HWY_NAMESPACE
} // namespace
} // namespace gr::cudaphy::kernels::nr
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels::nr {
namespace {

HWY_EXPORT(correlate);

} // namespace

void filter_run(const wiener_table& table,
                const float* re,
                const float* im,
                int pilots,
                int start,
                int tones,
                float* re_out,
                float* im_out)
{
    const int taps = table.taps, spacing = table.spacing;
    const int inside = pilots - taps + 1; // windows
    const auto weights = [&](int d) { return table.row(d) * taps; };
    // Tones whose window is not moved by the ends: each phase of the comb is a filter.
    const int first = start + spacing * (taps / 2 - 1);
    std::vector<float> phase_re(inside), phase_im(inside);
    for (int phase = 0; phase < spacing; ++phase) {
        const size_t at = weights(spacing * (taps / 2 - 1) + phase);
        HWY_DYNAMIC_DISPATCH(correlate)
        (re,
         im,
         table.re.data() + at,
         table.im.data() + at,
         taps,
         inside,
         phase_re.data(),
         phase_im.data());
        for (int i = 0, tone = first + phase; i < inside && tone < tones;
             ++i, tone += spacing) {
            if (tone >= 0) {
                re_out[tone] = phase_re[i];
                im_out[tone] = phase_im[i];
            }
        }
    }
    const auto at_end = [&](int tone) {
        const int tap = first_tap(table, pilots, start, tone);
        const size_t at = weights(tone - start - spacing * tap);
        HWY_DYNAMIC_DISPATCH(correlate)
        (re + tap,
         im + tap,
         table.re.data() + at,
         table.im.data() + at,
         taps,
         1,
         re_out + tone,
         im_out + tone);
    };
    const int behind = first + spacing * inside;
    for (int tone = 0; tone < first && tone < tones; ++tone) {
        at_end(tone);
    }
    for (int tone = behind < 0 ? 0 : behind; tone < tones; ++tone) {
        at_end(tone);
    }
}

double
prediction_error(const wiener_table& table, const float* re, const float* im, int pilots)
{
    const int taps = table.taps, half = taps / 2 - 1;
    const int inside = pilots - taps + 1;
    std::vector<float> sum_re(inside), sum_im(inside);
    double sum = 0;
    // Pilots first ... first + count - 1, whose windows start at tap, tap + 1 ...
    const auto add = [&](int first, int tap, int count) {
        const size_t at = table.row(table.spacing * (first - tap)) * taps;
        HWY_DYNAMIC_DISPATCH(correlate)
        (re + tap,
         im + tap,
         table.re.data() + at,
         table.im.data() + at,
         taps,
         count,
         sum_re.data(),
         sum_im.data());
        const float own = table.re[at + first - tap];
        float part = 0;
        for (int i = 0; i < count; ++i) {
            const float a = re[first + i] - sum_re[i], b = im[first + i] - sum_im[i];
            part += a * a + b * b;
        }
        sum += part / ((1 - own) * (1 - own));
    };
    add(half, 0, inside);
    for (int j = 0; j < half; ++j) {
        add(j, 0, 1);
    }
    for (int j = half + inside; j < pilots; ++j) {
        add(j, pilots - taps, 1);
    }
    return sum;
}

} // namespace gr::cudaphy::kernels::nr
#endif
