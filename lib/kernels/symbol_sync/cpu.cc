/* SPDX-License-Identifier: GPL-3.0-or-later */
// Real and imaginary parts lie apart, so that a vector of samples meets a vector of taps.
// The blocks of a call are shared out over the cores.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/symbol_sync/host_blocks.h"
#include "kernels/symbol_sync/makers.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/symbol_sync/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_SYMBOL_SYNC_CPU_ONCE
#define CUDAPHY_SYMBOL_SYNC_CPU_ONCE
namespace gr::cudaphy::kernels {

//! Samples of one block, from the first tap of its first point on.
struct block_samples {
    const float *real, *imag;
};

//! What turns a window's lines, for the candidates: padded to whole vectors.
struct candidate_turns {
    const float *real, *imag; //!< (window, padded)
    int padded;
};

struct line_sum {
    double real = 0, imag = 0, energy = 0;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<float, symbol_sync_plan::padding>;
using real = hn::Vec<tag>;

HWY_INLINE float total(real value) { return hn::GetLane(hn::SumOfLanes(tag(), value)); }

//! Samples that count as 0 become 0.
HWY_INLINE void store_clean(real re, real im, float* to_real, float* to_imag)
{
    const tag d;
    const auto most = hn::Set(d, symbol_sync_plan::largest_sample);
    const auto good = hn::And(hn::Le(hn::Abs(re), most), hn::Le(hn::Abs(im), most));
    hn::StoreU(hn::IfThenElseZero(good, re), d, to_real);
    hn::StoreU(hn::IfThenElseZero(good, im), d, to_imag);
}

void split_floats(const unsigned char* from, size_t count, float* to_real, float* to_imag)
{
    const tag d;
    const size_t lanes = hn::Lanes(d);
    const auto* const samples = reinterpret_cast<const float*>(from);
    real re, im;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        hn::LoadInterleaved2(d, samples + 2 * i, re, im);
        store_clean(re, im, to_real + i, to_imag + i);
    }
    if (i < count) {
        HWY_ALIGN float rest[2 * symbol_sync_plan::padding] = {};
        HWY_ALIGN float parts[2][symbol_sync_plan::padding];
        std::copy(samples + 2 * i, samples + 2 * count, rest);
        hn::LoadInterleaved2(d, rest, re, im);
        store_clean(re, im, parts[0], parts[1]);
        std::copy_n(parts[0], count - i, to_real + i);
        std::copy_n(parts[1], count - i, to_imag + i);
    }
}

template <typename T>
void split_integers(
    const unsigned char* from, size_t count, float scale, float* to_real, float* to_imag)
{
    const auto* const samples = reinterpret_cast<const T*>(from);
    for (size_t i = 0; i < count; ++i) {
        to_real[i] = static_cast<float>(samples[2 * i]) * scale;
        to_imag[i] = static_cast<float>(samples[2 * i + 1]) * scale;
    }
}

//! sin(pi t) and cos(pi t) for t in -1/4 .. 1/4, to 1e-7: Taylor's series.
HWY_INLINE void small_turn(real t, real& sine, real& cosine)
{
    const tag d;
    const real square = hn::Mul(t, t);
    real s = hn::Set(d, 0.0821458866f);
    s = hn::MulAdd(s, square, hn::Set(d, -0.599264529f));
    s = hn::MulAdd(s, square, hn::Set(d, 2.55016404f));
    s = hn::MulAdd(s, square, hn::Set(d, -5.16771278f));
    s = hn::MulAdd(s, square, hn::Set(d, 3.14159265f));
    sine = hn::Mul(s, t);
    real c = hn::Set(d, 0.235330630f);
    c = hn::MulAdd(c, square, hn::Set(d, -1.33526277f));
    c = hn::MulAdd(c, square, hn::Set(d, 4.05871213f));
    c = hn::MulAdd(c, square, hn::Set(d, -4.93480220f));
    cosine = hn::MulAdd(c, square, hn::Set(d, 1.0f));
}

//! Turns samples back by the carrier; up to `padding` samples behind them are spoilt.
void remove_carrier(const carrier_turns& carrier, size_t count, float* re, float* im)
{
    const tag d;
    const hn::RebindToSigned<tag> di;
    const hn::RebindToUnsigned<tag> du;
    const size_t lanes = hn::Lanes(d);
    const auto steps = hn::Mul(hn::Iota(du, 0), hn::Set(du, carrier.step));
    const auto one = hn::Set(di, 1), two = hn::Set(di, 2);
    for (size_t i = 0; i < count; i += lanes) {
        const auto phase = hn::Add(hn::Set(du, carrier.from(i).phase), steps);
        // Half turns from -1 to 1, and the nearest quarter of a turn.
        const real t = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, phase)),
                               hn::Set(d, 1.0f / 2147483648.0f));
        const real quarters = hn::Round(hn::Add(t, t));
        const auto quarter = hn::ConvertTo(di, quarters);
        real s, c;
        small_turn(hn::NegMulAdd(quarters, hn::Set(d, 0.5f), t), s, c);
        const auto odd = hn::RebindMask(d, hn::Eq(hn::And(quarter, one), one));
        const auto sign = [&](auto number) {
            return hn::BitCast(d, hn::ShiftLeft<30>(hn::And(number, two)));
        };
        const real sine = hn::Xor(hn::IfThenElse(odd, c, s), sign(quarter));
        const real cosine =
            hn::Xor(hn::IfThenElse(odd, s, c), sign(hn::Add(quarter, one)));
        const real x = hn::LoadU(d, re + i), y = hn::LoadU(d, im + i);
        hn::StoreU(hn::MulAdd(x, cosine, hn::Mul(y, sine)), d, re + i);
        hn::StoreU(hn::NegMulAdd(x, sine, hn::Mul(y, cosine)), d, im + i);
    }
}

} // namespace

void split(const unsigned char* from,
           sample_format format,
           size_t count,
           const carrier_turns& carrier,
           float* to_real,
           float* to_imag)
{
    if (format == sample_format::complex64) {
        split_floats(from, count, to_real, to_imag);
    } else if (format == sample_format::sc16) {
        split_integers<int16_t>(from, count, 1 / 32768.0f, to_real, to_imag);
    } else {
        split_integers<int8_t>(from, count, 1 / 128.0f, to_real, to_imag);
    }
    if (!carrier.none()) {
        remove_carrier(carrier, count, to_real, to_imag);
    }
}

//! The line of a block. The upper edge's filter is c + js, the lower one's c - js: with
//! a = c x and b = s x, u = a + jb and l = a - jb.
line_sum sum_line(const symbol_sync_plan& plan, const block_samples& block)
{
    const tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    line_sum sum;
    for (int i = 0; i < plan.points; ++i) {
        const float* const re = block.real + size_t(i) * plan.stride;
        const float* const im = block.imag + size_t(i) * plan.stride;
        real a_re = hn::Zero(d), a_im = hn::Zero(d), b_re = a_re, b_im = a_re;
        for (int k = 0; k < plan.edge_taps; k += lanes) {
            const real c = hn::LoadU(d, plan.edge_real.data() + k);
            const real s = hn::LoadU(d, plan.edge_imag.data() + k);
            const real x = hn::LoadU(d, re + k), y = hn::LoadU(d, im + k);
            a_re = hn::MulAdd(c, x, a_re);
            a_im = hn::MulAdd(c, y, a_im);
            b_re = hn::MulAdd(s, x, b_re);
            b_im = hn::MulAdd(s, y, b_im);
        }
        const double ar = total(a_re), ai = total(a_im);
        const double br = total(b_re), bi = total(b_im);
        const double a = ar * ar + ai * ai, b = br * br + bi * bi;
        const double line_real = a - b, line_imag = 2 * (ar * br + ai * bi);
        const double turn_real = plan.rotations[i].real();
        const double turn_imag = plan.rotations[i].imag();
        sum.real += line_real * turn_real - line_imag * turn_imag;
        sum.imag += line_real * turn_imag + line_imag * turn_real;
        sum.energy += a + b;
    }
    return sum;
}

//! The candidate whose sum over the window is the strongest.
int strongest(const symbol_sync_plan& plan,
              const candidate_turns& turns,
              const float* lines_real,
              const float* lines_imag,
              int size)
{
    const tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const int middle = plan.candidates / 2;
    int best = middle;
    float most = -1;
    // The middle one goes first, and wins ties.
    const auto sums = [&](int first, float* powers) {
        real re = hn::Zero(d), im = hn::Zero(d);
        for (int j = 0; j < size; ++j) {
            const real x = hn::Set(d, lines_real[j]), y = hn::Set(d, lines_imag[j]);
            const size_t at = size_t(j) * turns.padded + first;
            const real c = hn::LoadU(d, turns.real + at);
            const real s = hn::LoadU(d, turns.imag + at);
            re = hn::NegMulAdd(y, s, hn::MulAdd(x, c, re));
            im = hn::MulAdd(y, c, hn::MulAdd(x, s, im));
        }
        hn::StoreU(hn::MulAdd(re, re, hn::Mul(im, im)), d, powers);
    };
    HWY_ALIGN float powers[symbol_sync_plan::padding] = {};
    sums(middle / lanes * lanes, powers);
    most = powers[middle % lanes] * (1 + 1e-5f);
    for (int first = 0; first < plan.candidates; first += lanes) {
        sums(first, powers);
        for (int c = first; c < std::min(first + lanes, plan.candidates); ++c) {
            if (powers[c - first] > most) {
                most = powers[c - first];
                best = c;
            }
        }
    }
    return best;
}

//! The matched filter at the instants; returns the energy.
double filter_at(const symbol_sync_plan& plan,
                 const segment_instants& at,
                 const float* from_real,
                 const float* from_imag,
                 complex64* to)
{
    const tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const int shift = 32 - plan.phase_bits;
    const size_t mask = plan.phases() - 1;
    const int taps = plan.filter_taps;
    int64_t instant = at.first + (int64_t(1) << (shift - 1));
    double energy = 0;
    for (int i = 0; i < at.count; ++i, instant += at.step) {
        const int64_t whole = instant >> 32;
        const size_t phase = static_cast<size_t>(instant >> shift) & mask;
        const float* const h = plan.filters.data() + phase * taps;
        const float* const re = from_real + whole;
        const float* const im = from_imag + whole;
        real sum_re = hn::Zero(d), sum_im = hn::Zero(d);
        for (int k = 0; k < taps; k += lanes) {
            const real c = hn::LoadU(d, h + k);
            sum_re = hn::MulAdd(c, hn::LoadU(d, re + k), sum_re);
            sum_im = hn::MulAdd(c, hn::LoadU(d, im + k), sum_im);
        }
        const float x = total(sum_re), y = total(sum_im);
        to[i] = { x, y };
        energy += double(x) * x + double(y) * y;
    }
    return energy;
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(split);
HWY_EXPORT(sum_line);
HWY_EXPORT(strongest);
HWY_EXPORT(filter_at);

class symbol_sync_cpu : public symbol_sync_on_host
{
public:
    explicit symbol_sync_cpu(const symbol_sync_parameters& p)
        : symbol_sync_on_host(p, backend::cpu),
          d_real(capacity() + symbol_sync_plan::padding), d_imag(d_real.size()),
          d_padded(padded(plan().candidates)),
          d_turns_real(size_t(plan().window) * d_padded),
          d_turns_imag(d_turns_real.size())
    {
        for (int j = 0; j < plan().window; ++j) {
            for (int c = 0; c < plan().candidates; ++c) {
                const auto turn = plan().turns[j * plan().candidates + c];
                d_turns_real[j * d_padded + c] = turn.real();
                d_turns_imag[j * d_padded + c] = turn.imag();
            }
        }
    }

private:
    static int padded(int count)
    {
        constexpr int to = symbol_sync_plan::padding;
        return (count + to - 1) / to * to;
    }

    void clear(queue&) override
    {
        std::fill(d_real.begin(), d_real.end(), 0.0f);
        std::fill(d_imag.begin(), d_imag.end(), 0.0f);
    }
    void move(size_t from, size_t count, queue&) override
    {
        std::copy_n(d_real.begin() + from, count, d_real.begin());
        std::copy_n(d_imag.begin() + from, count, d_imag.begin());
    }
    void append(view<const unsigned char> samples,
                size_t at,
                size_t count,
                const carrier_turns& carrier,
                queue&) override
    {
        const auto format = plan().given.format;
        for_each_part(count, 16384, [&](size_t first, size_t last) {
            HWY_DYNAMIC_DISPATCH(split)
            (samples.data() + first * bytes_of(format),
             format,
             last - first,
             carrier.from(first),
             d_real.data() + at + first,
             d_imag.data() + at + first);
        });
    }
    void append_zeros(size_t at, size_t count, queue&) override
    {
        std::fill_n(d_real.begin() + at, count, 0.0f);
        std::fill_n(d_imag.begin() + at, count, 0.0f);
    }

    //! Calls step(block or segment) for all of them, on all cores.
    template <typename Step>
    static void for_each(range all, size_t grain, const Step& step)
    {
        for_each_part(all.size(), grain, [&](size_t first, size_t last) {
            for (size_t i = first; i < last; ++i) {
                step(all.first + static_cast<int64_t>(i));
            }
        });
    }

    void find_lines(range blocks, queue&) override
    {
        for_each(blocks, 2, [&](int64_t b) {
            const int64_t at = b * plan().block_samples - plan().edge_half - origin();
            const auto sum = HWY_DYNAMIC_DISPATCH(sum_line)(
                plan(), { d_real.data() + at, d_imag.data() + at });
            const double factor = sum.energy > 0 ? share_of(b) / sum.energy : 0;
            line(b) = { sum.real * factor, sum.imag * factor };
        });
    }

    void find_timings(range blocks, queue&) override
    {
        for_each(blocks, 8, [&](int64_t b) {
            const int64_t first = window_of(b);
            const int size = window_size();
            std::vector<float> re(size), im(size);
            for (int j = 0; j < size; ++j) {
                re[j] = static_cast<float>(line(first + j).real());
                im[j] = static_cast<float>(line(first + j).imag());
            }
            const int best = HWY_DYNAMIC_DISPATCH(strongest)(
                plan(),
                { d_turns_real.data(), d_turns_imag.data(), d_padded },
                re.data(),
                im.data(),
                size);
            set_timing(b, sums_of(b, best));
        });
        count_symbols(blocks);
    }

    void filter(range segments, queue&) override
    {
        for_each(segments, 1, [&](int64_t s) {
            const auto at = instants(s);
            const int64_t from = at.base - plan().filter_half - origin();
            const double energy = HWY_DYNAMIC_DISPATCH(filter_at)(
                plan(), at, d_real.data() + from, d_imag.data() + from, symbols(s));
            set_energy(s, at, energy);
        });
    }

    std::vector<float> d_real, d_imag;
    int d_padded;
    std::vector<float> d_turns_real, d_turns_imag;
};

} // namespace

std::unique_ptr<symbol_sync> make_symbol_sync_cpu(const symbol_sync_parameters& p)
{
    return std::make_unique<symbol_sync_cpu>(p);
}

} // namespace gr::cudaphy::kernels
#endif
