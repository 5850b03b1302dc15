/* SPDX-License-Identifier: GPL-3.0-or-later */
// Each lane of a vector has a frequency. At each frequency the codes' sums are four
// Hadamard transforms of 32: with and without pilots, of S2 and of S2X.
#include "kernels/dvb/pl_likelihood.h"
#include "kernels/common/highway_targets.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/pl_code.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dvb/pl_likelihood.cc"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace pl_code;
using tag = hn::ScalableTag<float>;
using vector = hn::Vec<tag>;
constexpr int pairs = 32;

struct complex_vector {
    vector re, im;
};

struct best_of_lanes {
    vector power, pls;
};

//! Symbols with the start of frame, the scrambler and pi/2-BPSK taken off.
void take_off(const std::complex<float>* symbols, std::complex<float>* out)
{
    for (int i = 0; i < pl_header_symbols; ++i) {
        const int code_bit = pl_header_symbols - 1 - i;
        const bool flip = i < pl_start_symbols
                              ? start_of_frame >> (pl_start_symbols - 1 - i) & 1
                              : scrambler >> code_bit & 1;
        const auto straight = symbols[i] * std::conj(turned(i));
        out[i] = flip ? -straight : straight;
    }
}

void transform_lanes(complex_vector* values)
{
    for (int half = 1; half < pairs; half *= 2) {
        for (int first = 0; first < pairs; first += 2 * half) {
            for (int i = first; i < first + half; ++i) {
                const auto a = values[i], b = values[i + half];
                values[i] = { hn::Add(a.re, b.re), hn::Add(a.im, b.im) };
                values[i + half] = { hn::Sub(a.re, b.re), hn::Sub(a.im, b.im) };
            }
        }
    }
}

//! Compares the codes of one kind. `sums`: the pairs before the transform.
void compare(complex_vector* sums,
             const complex_vector& start,
             bool extended,
             bool pilots,
             const pl_codes& allowed,
             best_of_lanes& best)
{
    const tag d;
    transform_lanes(sums);
    const auto start_power = hn::MulAdd(start.re, start.re, hn::Mul(start.im, start.im));
    for (int u = 0; u < pairs; ++u) {
        // The symbols of S2X are turned by a quarter.
        const auto re = extended ? sums[u].im : sums[u].re;
        const auto im = extended ? hn::Neg(sums[u].re) : sums[u].im;
        const auto both = hn::MulAdd(re, re, hn::MulAdd(im, im, start_power));
        const auto cross =
            hn::Mul(hn::Set(d, 2.0f), hn::MulAdd(re, start.re, hn::Mul(im, start.im)));
        for (const bool negative : { false, true }) {
            const int pls = code_of_value(u, negative, extended, pilots);
            if (!allowed[pls]) {
                continue;
            }
            const auto power = negative ? hn::Sub(both, cross) : hn::Add(both, cross);
            const auto more = hn::Gt(power, best.power);
            best.power = hn::IfThenElse(more, power, best.power);
            best.pls =
                hn::IfThenElse(more, hn::Set(d, static_cast<float>(pls)), best.pls);
        }
    }
}

//! The best code at each lane's frequency. `straight`: as take_off() leaves the symbols.
best_of_lanes best_codes(const std::complex<float>* straight,
                         const float* frequencies,
                         const pl_codes& allowed)
{
    const tag d;
    HWY_ALIGN float step_re[hn::MaxLanes(d)], step_im[hn::MaxLanes(d)];
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
        const auto step = std::polar(1.0, -2 * pi * frequencies[lane]);
        step_re[lane] = static_cast<float>(step.real());
        step_im[lane] = static_cast<float>(step.imag());
    }
    const complex_vector step{ hn::Load(d, step_re), hn::Load(d, step_im) };
    complex_vector turn{ hn::Set(d, 1.0f), hn::Zero(d) };
    const auto next = [&](int i) {
        const auto re = hn::Set(d, straight[i].real());
        const auto im = hn::Set(d, straight[i].imag());
        const complex_vector value{
            hn::NegMulAdd(im, turn.im, hn::Mul(re, turn.re)),
            hn::MulAdd(im, turn.re, hn::Mul(re, turn.im)),
        };
        turn = { hn::NegMulAdd(turn.im, step.im, hn::Mul(turn.re, step.re)),
                 hn::MulAdd(turn.im, step.re, hn::Mul(turn.re, step.im)) };
        return value;
    };
    complex_vector start{ hn::Zero(d), hn::Zero(d) };
    for (int i = 0; i < pl_start_symbols; ++i) {
        const auto value = next(i);
        start = { hn::Add(start.re, value.re), hn::Add(start.im, value.im) };
    }
    complex_vector plain[pairs], piloted[pairs], sums[pairs];
    for (int i = 0; i < pairs; ++i) {
        const auto a = next(pl_start_symbols + 2 * i);
        const auto b = next(pl_start_symbols + 2 * i + 1);
        plain[i] = { hn::Add(a.re, b.re), hn::Add(a.im, b.im) };
        piloted[i] = { hn::Sub(a.re, b.re), hn::Sub(a.im, b.im) };
    }
    best_of_lanes best{ hn::Set(d, -1.0f), hn::Zero(d) };
    for (const bool pilots : { false, true }) {
        const auto* const pair = pilots ? piloted : plain;
        for (const bool extended : { false, true }) {
            for (int i = 0; i < pairs; ++i) {
                const bool flip = extended && (extended_row >> (31 - i) & 1);
                sums[i] = flip
                              ? complex_vector{ hn::Neg(pair[i].re), hn::Neg(pair[i].im) }
                              : pair[i];
            }
            compare(sums, start, extended, pilots, allowed, best);
        }
    }
    return best;
}

} // namespace

pl_likely likely(const std::complex<float>* symbols,
                 double first,
                 double spacing,
                 int count,
                 const pl_codes& allowed)
{
    const tag d;
    std::complex<float> straight[pl_header_symbols];
    take_off(symbols, straight);
    pl_likely best;
    HWY_ALIGN float frequencies[hn::MaxLanes(d)], power[hn::MaxLanes(d)],
        pls[hn::MaxLanes(d)];
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < count; i += lanes) {
        for (int lane = 0; lane < lanes; ++lane) {
            frequencies[lane] = static_cast<float>(first + (i + lane) * spacing);
        }
        const auto found = best_codes(straight, frequencies, allowed);
        hn::Store(found.power, d, power);
        hn::Store(found.pls, d, pls);
        for (int lane = 0; lane < std::min(lanes, count - i); ++lane) {
            if (power[lane] > best.power) {
                best = { static_cast<int>(pls[lane]), i + lane, power[lane] };
            }
        }
    }
    return best;
}

} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {

HWY_EXPORT(likely);

pl_likely likely_header(const std::complex<float>* symbols,
                        double first,
                        double spacing,
                        int count,
                        const pl_codes& allowed)
{
    return HWY_DYNAMIC_DISPATCH(likely)(symbols, first, spacing, count, allowed);
}

std::complex<double>
header_sum(const std::complex<float>* symbols, int pls, double frequency)
{
    constexpr int codes = 256, chains = 6; // that do not wait for each other
    static const auto conjugates = [] {
        std::vector<std::complex<float>> all;
        for (int code = 0; code < codes; ++code) {
            for (const auto symbol : pl_header(code)) {
                all.push_back(std::conj(symbol));
            }
        }
        return all;
    }();
    const auto* const known = conjugates.data() + pl_header_symbols * pls;
    const double cycles = -2 * pi * frequency;
    const auto step = std::polar(1.0, chains * cycles);
    double turn_re[chains], turn_im[chains], sum_re[chains] = {}, sum_im[chains] = {};
    for (int k = 0; k < chains; ++k) {
        turn_re[k] = std::cos(cycles * k);
        turn_im[k] = std::sin(cycles * k);
    }
    static_assert(pl_header_symbols % chains == 0);
    for (int i = 0; i < pl_header_symbols; i += chains) {
        for (int k = 0; k < chains; ++k) {
            const auto a = symbols[i + k], b = known[i + k];
            const double re = a.real() * b.real() - a.imag() * b.imag();
            const double im = a.real() * b.imag() + a.imag() * b.real();
            sum_re[k] += re * turn_re[k] - im * turn_im[k];
            sum_im[k] += re * turn_im[k] + im * turn_re[k];
            const double next = turn_re[k] * step.real() - turn_im[k] * step.imag();
            turn_im[k] = turn_re[k] * step.imag() + turn_im[k] * step.real();
            turn_re[k] = next;
        }
    }
    std::complex<double> sum = 0;
    for (int k = 0; k < chains; ++k) {
        sum += std::complex<double>(sum_re[k], sum_im[k]);
    }
    return sum;
}

pl_codes all_pl_codes()
{
    pl_codes all;
    all.fill(true);
    return all;
}

pl_codes known_pl_codes()
{
    pl_codes known;
    for (size_t pls = 0; pls < known.size(); ++pls) {
        known[pls] = dvb_mode::of(static_cast<int>(pls)).has_value();
    }
    return known;
}

} // namespace gr::cudaphy::kernels
#endif
