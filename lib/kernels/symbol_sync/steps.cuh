/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The steps of symbol_sync on a GPU: a thread block a timing block or a segment, but for
// the sums over all blocks of a call, which one thread block does.

#include "kernels/symbol_sync/block_timing.h"
#include "kernels/symbol_sync/plan.h"

namespace gr::cudaphy::kernels {

struct cuda_segment {
    segment_instants instants;
    double energy; //!< mean, 0 if there are no symbols
};

//! A segment that is not between two blocks: one of the stream's ends.
struct cuda_end {
    int64_t segment; //!< -1: none
    double begin, end, reference;
    int64_t at;
};

//! What the kernels take: sizes as in symbol_sync_plan, tables, and state.
struct cuda_symbol_sync {
    int stride, points, block_samples, edge_half, edge_taps;
    int half_window, candidates;
    int filter_half, filter_taps, phase_bits, most_symbols, gain_blocks;
    double advance, centre, samples_per_symbol, candidate_step, most_clock_error;
    float largest_sample;

    const float2* edge; //!< taps: real and imaginary part
    const float2* rotations;
    const float2* turns; //!< (window, candidates)
    const float* filters;

    int64_t ring; //!< a power of two
    double2* lines;
    block_timing* timings;
    uint64_t* phases;
    cuda_segment* segments;
    float2* symbols; //!< (ring, most_symbols)
    int64_t* places; //!< of given segments' symbols in the result

    // Of a call.
    const float2* samples;
    int64_t origin;
    int64_t window, last_window; //!< blocks of a window; first block of the last window
    int64_t short_block;         //!< that the stream fills by `share` only
    double share;
    cuda_end front, back;

    __device__ int64_t slot(int64_t block) const { return block & (ring - 1); }
    __device__ double centre_of(int64_t block) const
    {
        return static_cast<double>(block * block_samples) + centre;
    }
    __device__ double share_of(int64_t block) const
    {
        return block == short_block ? share : 1.0;
    }
};

constexpr int symbol_sync_threads = 128;
constexpr int symbol_sync_scan_threads = 256;

//! The sum of all threads' values, for thread 0; `Threads` is a power of two.
template <int Threads>
__device__ double sum_of_block(double value)
{
    __shared__ double parts[Threads];
    const int t = threadIdx.x;
    __syncthreads();
    parts[t] = value;
    for (int half = Threads / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) {
            parts[t] += parts[t + half];
        }
    }
    return parts[0];
}

//! The sum of the values of all threads before this one.
template <typename T, int Threads>
__device__ T sum_before(T value)
{
    __shared__ T parts[Threads];
    const int t = threadIdx.x;
    __syncthreads();
    parts[t] = value;
    for (int step = 1; step < Threads; step *= 2) {
        __syncthreads();
        const T before = t >= step ? parts[t - step] : T(0);
        __syncthreads();
        parts[t] += before;
    }
    __syncthreads();
    return t ? parts[t - 1] : T(0);
}

template <typename Pair>
__global__ void split_samples(const Pair* from,
                              float scale,
                              float largest,
                              carrier_turns carrier,
                              float2* to,
                              size_t count)
{
    const bool turns = carrier.phase != 0 || carrier.step != 0;
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        const float re = static_cast<float>(from[i].x),
                    im = static_cast<float>(from[i].y);
        const bool good = fabsf(re) <= largest && fabsf(im) <= largest;
        float2 value = good ? make_float2(re * scale, im * scale) : make_float2(0, 0);
        if (turns) {
            const uint32_t phase =
                carrier.phase + static_cast<uint32_t>(i) * carrier.step;
            float sine, cosine;
            sincospif(static_cast<float>(static_cast<int32_t>(phase)) / 2147483648.0f,
                      &sine,
                      &cosine);
            value = make_float2(fmaf(value.x, cosine, value.y * sine),
                                fmaf(-value.x, sine, value.y * cosine));
        }
        to[i] = value;
    }
}

//! A thread block a block, a thread a point at a time. See sum_line in cpu.cc.
__global__ void find_lines(cuda_symbol_sync s, int64_t first)
{
    const int64_t b = first + blockIdx.x;
    const float2* const from = s.samples + (b * s.block_samples - s.edge_half - s.origin);
    double line_real = 0, line_imag = 0, energy = 0;
    for (int i = threadIdx.x; i < s.points; i += blockDim.x) {
        const float2* const x = from + static_cast<int64_t>(i) * s.stride;
        float2 a = make_float2(0, 0), o = make_float2(0, 0);
        for (int k = 0; k < s.edge_taps; ++k) {
            const float2 tap = s.edge[k], value = x[k];
            a.x = fmaf(tap.x, value.x, a.x);
            a.y = fmaf(tap.x, value.y, a.y);
            o.x = fmaf(tap.y, value.x, o.x);
            o.y = fmaf(tap.y, value.y, o.y);
        }
        const double ar = a.x, ai = a.y, br = o.x, bi = o.y;
        const double even = ar * ar + ai * ai, odd = br * br + bi * bi;
        const double re = even - odd, im = 2 * (ar * br + ai * bi);
        const double turn_real = s.rotations[i].x, turn_imag = s.rotations[i].y;
        line_real += re * turn_real - im * turn_imag;
        line_imag += re * turn_imag + im * turn_real;
        energy += even + odd;
    }
    line_real = sum_of_block<symbol_sync_threads>(line_real);
    line_imag = sum_of_block<symbol_sync_threads>(line_imag);
    energy = sum_of_block<symbol_sync_threads>(energy);
    if (threadIdx.x == 0) {
        const double factor = energy > 0 ? s.share_of(b) / energy : 0;
        s.lines[s.slot(b)] = make_double2(line_real * factor, line_imag * factor);
    }
}

//! A warp a block: a lane a candidate at a time, and then a lane a line at a time.
__global__ void find_timings(cuda_symbol_sync s, int64_t first)
{
    constexpr unsigned all = 0xffffffffu;
    const int64_t b = first + blockIdx.x;
    const int lane = threadIdx.x, middle = s.candidates / 2;
    const int64_t limited =
        b - s.half_window < s.last_window ? b - s.half_window : s.last_window;
    const int64_t begin = limited > 0 ? limited : 0;
    const int size = static_cast<int>(s.window);
    int best = middle;
    float most = -1;
    for (int at = 0; at < s.candidates; at += 32) {
        const int c = at + lane;
        float re = 0, im = 0;
        for (int j = 0; j < size && c < s.candidates; ++j) {
            const double2 line = s.lines[s.slot(begin + j)];
            const float2 turn = s.turns[j * s.candidates + c];
            const float x = static_cast<float>(line.x), y = static_cast<float>(line.y);
            re = fmaf(-y, turn.y, fmaf(x, turn.x, re));
            im = fmaf(y, turn.x, fmaf(x, turn.y, im));
        }
        // The middle one wins ties.
        const float power = fmaf(re, re, im * im) * (c == middle ? 1 + 1e-5f : 1.0f);
        if (c < s.candidates && power > most) {
            most = power;
            best = c;
        }
    }
    for (int step = 16; step; step /= 2) {
        const float power = __shfl_xor_sync(all, most, step);
        const int other = __shfl_xor_sync(all, best, step);
        if (power > most || (power == most && other < best)) {
            most = power;
            best = other;
        }
    }
    window_sums sums{};
    for (int j = lane; j < size; j += 32) {
        const double2 line = s.lines[s.slot(begin + j)];
        const float2 turn = s.turns[j * s.candidates + best];
        const double re = line.x * turn.x - line.y * turn.y;
        const double im = line.x * turn.y + line.y * turn.x;
        sums.real += re;
        sums.imag += im;
        const bool early = j < size / 2, late = j >= size - size / 2;
        sums.early_real += early ? re : 0;
        sums.early_imag += early ? im : 0;
        sums.late_real += late ? re : 0;
        sums.late_imag += late ? im : 0;
        sums.total += s.share_of(begin + j);
    }
    double* const fields[] = { &sums.real,       &sums.imag,      &sums.early_real,
                               &sums.early_imag, &sums.late_real, &sums.late_imag,
                               &sums.total };
    for (double* field : fields) {
        for (int step = 16; step; step /= 2) {
            *field += __shfl_xor_sync(all, *field, step);
        }
    }
    if (lane == 0) {
        sums.candidate = (best - middle) * s.candidate_step;
        s.timings[s.slot(b)] = timing_of(sums,
                                         size,
                                         s.half_window,
                                         static_cast<int>(b - begin),
                                         s.advance,
                                         s.most_clock_error);
    }
}

//! One thread block: counts symbols up to the blocks' centres.
__global__ void count_symbols(cuda_symbol_sync s, int64_t first, int64_t last)
{
    const auto to_block = [&](int64_t b) {
        const block_timing now = s.timings[s.slot(b)];
        return static_cast<uint64_t>(
            b == 0 ? to_fixed(now.phase)
                   : symbols_between(s.timings[s.slot(b - 1)], now, s.advance));
    };
    const int64_t each = (last - first + blockDim.x - 1) / blockDim.x;
    const int64_t begin = first + threadIdx.x * each;
    const int64_t end = begin + each < last ? begin + each : last;
    uint64_t sum = 0;
    for (int64_t b = begin; b < end; ++b) {
        sum += to_block(b);
    }
    const uint64_t before = first ? s.phases[s.slot(first - 1)] : 0;
    uint64_t phase = before + sum_before<uint64_t, symbol_sync_scan_threads>(sum);
    for (int64_t b = begin; b < end; ++b) {
        phase += to_block(b);
        s.phases[s.slot(b)] = phase;
    }
}

__device__ inline segment_instants instants(const cuda_symbol_sync& s, int64_t segment)
{
    const bool front = segment == s.front.segment;
    if (front || segment == s.back.segment) {
        const cuda_end& at = front ? s.front : s.back;
        const double rate =
            (1 + s.timings[s.slot(at.at)].clock_error) / s.samples_per_symbol;
        return instants_beside(
            at.begin, at.end, at.reference, s.phases[s.slot(at.at)], rate);
    }
    const uint64_t phase = s.phases[s.slot(segment - 1)];
    const auto symbols = static_cast<int64_t>(s.phases[s.slot(segment)] - phase);
    return instants_of(s.centre_of(segment - 1), s.centre_of(segment), phase, symbols);
}

//! A thread block a segment, a thread a symbol at a time.
__global__ void filter_segments(cuda_symbol_sync s, int64_t first)
{
    const int64_t segment = first + blockIdx.x;
    const segment_instants at = instants(s, segment);
    const int shift = 32 - s.phase_bits;
    const float2* const from = s.samples + (at.base - s.filter_half - s.origin);
    float2* const to = s.symbols + s.slot(segment) * s.most_symbols;
    double energy = 0;
    for (int i = threadIdx.x; i < at.count; i += blockDim.x) {
        const int64_t instant = at.first + i * at.step + (int64_t(1) << (shift - 1));
        const int64_t phase = (instant >> shift) & ((int64_t(1) << s.phase_bits) - 1);
        const float* const h = s.filters + phase * s.filter_taps;
        const float2* const x = from + (instant >> 32);
        float2 sum = make_float2(0, 0);
        for (int k = 0; k < s.filter_taps; ++k) {
            const float tap = h[k];
            const float2 value = x[k];
            sum.x = fmaf(tap, value.x, sum.x);
            sum.y = fmaf(tap, value.y, sum.y);
        }
        to[i] = sum;
        energy += double(sum.x) * sum.x + double(sum.y) * sum.y;
    }
    energy = sum_of_block<symbol_sync_threads>(energy);
    if (threadIdx.x == 0) {
        s.segments[s.slot(segment)] = { at, at.count ? energy / at.count : 0 };
    }
}

__device__ inline double
gain_of(const cuda_symbol_sync& s, int64_t segment, int64_t known)
{
    const double own = s.segments[s.slot(segment)].energy;
    if (!(own > 0)) {
        return 0;
    }
    const gain_window window = gain_window_of(segment, known, s.gain_blocks);
    double sum = 0;
    int count = 0;
    for (int64_t i = window.first; i < window.last; ++i) {
        const double energy = s.segments[s.slot(i)].energy;
        if (is_like(energy, own)) {
            sum += energy;
            ++count;
        }
    }
    return sqrt(count / sum);
}

//! One thread block: what is said of the segments, and the places of their symbols.
__global__ void describe_segments(
    cuda_symbol_sync s, int64_t first, int64_t last, int64_t known, symbol_block* blocks)
{
    const int64_t each = (last - first + blockDim.x - 1) / blockDim.x;
    const int64_t begin = first + threadIdx.x * each;
    const int64_t end = begin + each < last ? begin + each : last;
    int64_t symbols = 0;
    for (int64_t i = begin; i < end; ++i) {
        symbols += s.segments[s.slot(i)].instants.count;
    }
    int64_t place = sum_before<int64_t, symbol_sync_scan_threads>(symbols);
    for (int64_t i = begin; i < end; ++i) {
        const segment_instants& at = s.segments[s.slot(i)].instants;
        const block_timing& from = s.timings[s.slot(i == 0 ? 0 : i - 1)];
        symbol_block& to = blocks[i - first];
        to.instant =
            static_cast<double>(at.base) + static_cast<double>(at.first) / fixed_one;
        to.step = static_cast<double>(at.step) / fixed_one;
        to.symbols = at.count;
        to.clock_error = static_cast<float>(from.clock_error);
        to.line = static_cast<float>(from.line);
        to.gain = static_cast<float>(gain_of(s, i, known));
        s.places[s.slot(i)] = place;
        place += at.count;
    }
}

__global__ void
give_symbols(cuda_symbol_sync s, int64_t first, const symbol_block* blocks, float2* to)
{
    const int64_t segment = first + blockIdx.x;
    const float2* const from = s.symbols + s.slot(segment) * s.most_symbols;
    const int count = blocks[blockIdx.x].symbols;
    const float gain = blocks[blockIdx.x].gain;
    float2* const out = to + s.places[s.slot(segment)];
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        out[i] = make_float2(from[i].x * gain, from[i].y * gain);
    }
}

} // namespace gr::cudaphy::kernels
