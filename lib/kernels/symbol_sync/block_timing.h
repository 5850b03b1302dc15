/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The arithmetic of a block's timing, for the CPU and for CUDA. Symbol counts are fixed
// point: 2^32 is one symbol, and they wrap around after 2^32 symbols. Instants are fixed
// point too: 2^32 is one sample.

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define CUDAPHY_BOTH __host__ __device__ inline
#else
#define CUDAPHY_BOTH inline
#endif

namespace gr::cudaphy::kernels {

constexpr double fixed_one = 4294967296.0;

//! What removes a carrier offset: 2^32 is one turn.
struct carrier_turns {
    uint32_t phase; //!< of the first sample
    uint32_t step;  //!< from sample to sample
    bool none() const { return phase == 0 && step == 0; }
    //! The same from a sample on.
    carrier_turns from(size_t sample) const
    {
        return { phase + static_cast<uint32_t>(sample) * step, step };
    }
};

//! What a window's lines say of a block.
struct block_timing {
    double phase;       //!< symbols since an instant at the block's centre, modulo 1
    double clock_error; //!< (symbol rate / nominal symbol rate) - 1
    double line;        //!< strength
};

CUDAPHY_BOTH int64_t to_fixed(double value)
{
    return static_cast<int64_t>(rint(value * fixed_one));
}

//! Symbols between the centres of two neighbouring blocks.
CUDAPHY_BOTH int64_t symbols_between(const block_timing& before,
                                     const block_timing& after,
                                     double advance)
{
    const double predicted = advance * (1 + (before.clock_error + after.clock_error) / 2);
    const double off = after.phase - before.phase - predicted;
    return to_fixed(predicted + (off - rint(off)));
}

//! The instants of a segment's symbols: first + i * step, i below count.
struct segment_instants {
    int64_t base;  //!< sample that the rest counts from
    int64_t first; //!< after base
    int64_t step;
    int32_t count;
};

//! \param begin, end      of the segment, in samples
//! \param phase           symbols since the stream began at `begin`; its whole part
//! counts
//!                        symbols modulo 2^32
//! \param symbols         of the segment
CUDAPHY_BOTH segment_instants instants_of(double begin,
                                          double end,
                                          uint64_t phase,
                                          int64_t symbols)
{
    segment_instants s;
    s.base = static_cast<int64_t>(floor(begin));
    // To the next whole number of symbols.
    const uint64_t fraction = (0 - phase) & 0xffffffffu;
    s.count = 0;
    s.step = 0;
    s.first = 0;
    if (symbols <= 0 || !(end > begin)) {
        return s;
    }
    const double step = (end - begin) / (static_cast<double>(symbols) / fixed_one);
    s.step = to_fixed(step);
    s.first = to_fixed(begin - static_cast<double>(s.base) +
                       static_cast<double>(fraction) / fixed_one * step);
    const int64_t left = symbols - static_cast<int64_t>(fraction);
    s.count = left <= 0 ? 0 : static_cast<int32_t>(((left - 1) >> 32) + 1);
    return s;
}

//! The same for a segment at one end of the stream, at an even rate beside a block.
//! \param reference  the block's centre, in samples
//! \param phase      symbols since the stream began at the reference
//! \param rate       symbols a sample
CUDAPHY_BOTH segment_instants
instants_beside(double begin, double end, double reference, uint64_t phase, double rate)
{
    return instants_of(begin,
                       end,
                       phase -
                           static_cast<uint64_t>(to_fixed((reference - begin) * rate)),
                       to_fixed((end - begin) * rate));
}

//! The sums of a window's lines, each turned to the middle of the table of turns by one
//! candidate for the clock error.
struct window_sums {
    double real, imag;             //!< of the whole window
    double early_real, early_imag; //!< of its first half, without a middle block
    double late_real, late_imag;   //!< of its second half
    double candidate;              //!< clock error
    double total;                  //!< what |sum| would be if all lines were 1
};

//! \param size    of the window, in blocks
//! \param middle  of the table of turns, in blocks from the window's first
//! \param at      the block, from the window's first
//! \param most    clock error at most
CUDAPHY_BOTH block_timing timing_of(
    const window_sums& sums, int size, int middle, int at, double advance, double most)
{
    constexpr double turn = 6.283185307179586;
    block_timing t;
    t.clock_error = sums.candidate;
    if (size > 1) {
        const double real =
            sums.late_real * sums.early_real + sums.late_imag * sums.early_imag;
        const double imag =
            sums.late_imag * sums.early_real - sums.late_real * sums.early_imag;
        t.clock_error += atan2(imag, real) / (turn * (size - size / 2) * advance);
    }
    t.clock_error = fmin(most, fmax(-most, t.clock_error));
    const double centre = (size - 1) / 2.0;
    t.phase = atan2(sums.imag, sums.real) / turn +
              (centre - middle) * advance * (1 + sums.candidate) +
              (at - centre) * advance * (1 + t.clock_error);
    t.phase -= rint(t.phase);
    t.line = sums.total > 0
                 ? sqrt(sums.real * sums.real + sums.imag * sums.imag) / sums.total
                 : 0;
    return t;
}

//! Segments whose energy counts for the gain of segment s.
struct gain_window {
    int64_t first, last;
};

CUDAPHY_BOTH gain_window gain_window_of(int64_t s, int64_t known, int size)
{
    gain_window w;
    w.first = s < size ? 0 : s - size + 1;
    w.last = s < size ? (known < size ? known : size) : s + 1;
    return w;
}

//! Whether an energy in the window counts beside the segment's own.
CUDAPHY_BOTH bool is_like(double energy, double own)
{
    return energy >= own / 4 && energy <= own * 4;
}

} // namespace gr::cudaphy::kernels
