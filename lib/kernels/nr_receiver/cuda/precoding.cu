/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/common/pi.h"
#include "kernels/nr_receiver/cuda/precoding.cuh"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int transform_threads = 512, turn_threads = 256;
constexpr int most_tones = 12 * 275;
constexpr float least_part_left = 1e-9f;
//! What is known of a symbol's phase before PT-RS (soft_bits.cc).
constexpr double expected_phase = 10;

__device__ float2 plus(float2 a, float2 b) { return { a.x + b.x, a.y + b.y }; }
__device__ float2 minus(float2 a, float2 b) { return { a.x - b.x, a.y - b.y }; }
//! a + s b.
__device__ float2 plus_scaled(float2 a, float s, float2 b)
{
    return { __fmaf_rn(s, b.x, a.x), __fmaf_rn(s, b.y, a.y) };
}
//! a + j b.
__device__ float2 plus_turned(float2 a, float2 b) { return { a.x - b.y, a.y + b.x }; }

// Sums over t of a_t exp(2 pi j t u / Radix).
__device__ void transform(float2 (&a)[2])
{
    const float2 first = a[0];
    a[0] = plus(first, a[1]);
    a[1] = minus(first, a[1]);
}
__device__ void transform(float2 (&a)[3])
{
    constexpr float sine = 0.866025403784438647f;
    const float2 sum = plus(a[1], a[2]), difference = minus(a[1], a[2]);
    const float2 middle = plus_scaled(a[0], -0.5f, sum);
    const float2 turned{ sine * difference.x, sine * difference.y };
    a[0] = plus(a[0], sum);
    a[1] = plus_turned(middle, turned);
    a[2] = plus_turned(middle, { -turned.x, -turned.y });
}
__device__ void transform(float2 (&a)[4])
{
    const float2 even = plus(a[0], a[2]), odd = plus(a[1], a[3]);
    const float2 even_less = minus(a[0], a[2]), odd_less = minus(a[1], a[3]);
    a[0] = plus(even, odd);
    a[1] = plus_turned(even_less, odd_less);
    a[2] = minus(even, odd);
    a[3] = plus_turned(even_less, { -odd_less.x, -odd_less.y });
}
__device__ void transform(float2 (&a)[5])
{
    constexpr float c1 = 0.309016994374947424f, c2 = -0.809016994374947424f;
    constexpr float s1 = 0.951056516295153572f, s2 = 0.587785252292473129f;
    const float2 sum1 = plus(a[1], a[4]), sum2 = plus(a[2], a[3]);
    const float2 less1 = minus(a[1], a[4]), less2 = minus(a[2], a[3]);
    const float2 middle1 = plus_scaled(plus_scaled(a[0], c1, sum1), c2, sum2);
    const float2 middle2 = plus_scaled(plus_scaled(a[0], c2, sum1), c1, sum2);
    const float2 turned1{ s1 * less1.x + s2 * less2.x, s1 * less1.y + s2 * less2.y };
    const float2 turned2{ s2 * less1.x - s1 * less2.x, s2 * less1.y - s1 * less2.y };
    a[0] = plus(a[0], plus(sum1, sum2));
    a[1] = plus_turned(middle1, turned1);
    a[2] = plus_turned(middle2, turned2);
    a[3] = plus_turned(middle2, { -turned2.x, -turned2.y });
    a[4] = plus_turned(middle1, { -turned1.x, -turned1.y });
}

// A pass of Stockham's transform: parts of size / stride points, of which each falls into
// Radix parts; the results stand in order at the end (Van Loan, Computational Frameworks
// for the Fast Fourier Transform, 1992, section 1.7).
template <int Radix>
__device__ void
run_pass(const precoding_cuda& job, const float2* from, float2* to, int stride)
{
    const int count = job.size / Radix;
    for (int i = threadIdx.x; i < count; i += transform_threads) {
        const int p = i / stride;
        float2 a[Radix];
#pragma unroll
        for (int t = 0; t < Radix; ++t) {
            a[t] = from[i + t * count];
        }
        transform(a);
        float2* const out = to + i + p * stride * (Radix - 1);
        out[0] = a[0];
#pragma unroll
        for (int u = 1; u < Radix; ++u) {
            out[u * stride] = times(a[u], job.root[p * u * stride]);
        }
    }
    __syncthreads();
}

//! Of `from`, of which `to` is as large; returns where the results are.
__device__ float2* run_transform(const precoding_cuda& job, float2* from, float2* to)
{
    int stride = 1;
    for (int pass = 0; pass < job.passes; ++pass) {
        const int radix = job.radix[pass];
        if (radix == 4) {
            run_pass<4>(job, from, to, stride);
        } else if (radix == 3) {
            run_pass<3>(job, from, to, stride);
        } else if (radix == 5) {
            run_pass<5>(job, from, to, stride);
        } else {
            run_pass<2>(job, from, to, stride);
        }
        stride *= radix;
        float2* const next = from;
        from = to;
        to = next;
    }
    return from;
}

//! pi/2-BPSK lies on one diagonal and on the other one by turns (38.211, 5.1.1).
__device__ float2 put_upright(const precoding_cuda& job, float2 x, int at)
{
    constexpr float part = 0.707106781186547524f;
    return job.order > 1 ? x : times(x, { at % 2 ? -part : part, -part });
}

//! What PT-RS tells of a symbol's phase: 0 where that is not finite.
__device__ void sum_ptrs(const precoding_cuda& job,
                         int slot,
                         int symbol,
                         const float2* x,
                         float scale,
                         float noise)
{
    float2 sum{ 0, 0 };
    for (int i = threadIdx.x; i < job.places; i += 32) {
        const float2 sent = job.ptrs[size_t(job.slot_number[slot]) * job.places + i];
        const float2 part = times_conj(x[job.place[i]], sent);
        sum = plus(sum, part);
    }
    sum = { scale * warp_sum(sum.x), scale * warp_sum(sum.y) };
    if (threadIdx.x == 0) {
        const bool usable = isfinite(noise) && isfinite(sum.x * sum.x + sum.y * sum.y);
        const double by = 2.0 / noise;
        job.sums[size_t(slot) * job.slot_symbols + symbol] =
            usable ? double2{ by * sum.x + expected_phase, by * sum.y } : double2{ 0, 0 };
    }
}

// A symbol and slot a block. Of tones the biased MMSE estimate b s + noise of variance
// b (1 - b) is best to add; b = 1 / (1 + noise of the unbiased one), 0 of an erased tone.
// The sum has the mean of b (Benvenuto et al., Proc. IEEE 98(1), 2010).
__global__ void __launch_bounds__(transform_threads)
    undo_transform(const precoding_cuda job, float2* all_x, float* all_noise)
{
    extern __shared__ float2 points[]; // two times the transform's
    __shared__ double shared[33];
    const int slot = blockIdx.y, at = blockIdx.x, size = job.size;
    if (!job.state[slot].usable) {
        return;
    }
    const size_t first = (size_t(slot) * job.symbols + at) * size;
    float2* const x = all_x + first;
    float* const noise = all_noise + first;
    double sum = 0;
    for (int i = threadIdx.x; i < size; i += transform_threads) {
        const float b = 1 / (1 + noise[i]);
        points[i] = { x[i].x * b, x[i].y * b };
        sum += b;
    }
    sum = block_sum(sum, shared);
    const float mean = float(sum / size);
    const float scale = mean > 0 ? 1 / sqrtf(float(size)) / mean : 0;
    const float left = mean > 0 ? fmaxf(1 / mean - 1, least_part_left) : INFINITY;
    const float2* const found = run_transform(job, points, points + size);
    const int symbol = job.data[size_t(at) * size] / job.subcarriers;
    const bool tracked = job.tracked >> symbol & 1;
    for (int i = threadIdx.x; i < size; i += transform_threads) {
        const float2 value{ found[i].x * scale, found[i].y * scale };
        x[i] = job.places ? value : put_upright(job, value, i);
        noise[i] = left;
    }
    if (threadIdx.x == 0) {
        const int count = size - (tracked ? job.places : 0);
        job.capacity[size_t(slot) * job.symbols + at] =
            count * log2(1 + 1 / double(fmaxf(left, 1e-12f)));
    }
    if (tracked && threadIdx.x < 32) {
        sum_ptrs(job, slot, symbol, found, scale, left);
    }
}

//! A symbol and slot a block: turns it back, and takes PT-RS out.
__global__ void __launch_bounds__(turn_threads)
    turn_symbols(const precoding_cuda job, const float2* all_x, const float* all_noise)
{
    __shared__ int place[most_ptrs];
    __shared__ float2 phase;
    const int slot = blockIdx.y, at = blockIdx.x, size = job.size;
    if (!job.state[slot].usable) {
        return;
    }
    const int symbol = job.data[size_t(at) * size] / job.subcarriers;
    const int places = job.tracked >> symbol & 1 ? job.places : 0;
    if (int(threadIdx.x) < places) {
        place[threadIdx.x] = job.place[threadIdx.x];
    }
    if (threadIdx.x == 0) {
        find_phases_between(
            job.dmrs,
            job.slot_symbols,
            [&](int i) {
                return job.tracked >> i & 1
                           ? job.sums[size_t(slot) * job.slot_symbols + i]
                           : double2{ 0, 0 };
            },
            [&](int i, double found) {
                if (i == symbol) {
                    double s, c;
                    sincos(found, &s, &c);
                    phase = { float(c), float(s) };
                }
            });
    }
    __syncthreads();
    int begin = at * size; // less what is taken out of the symbols before
    for (int i = 0; i < at; ++i) {
        const int before = job.data[size_t(i) * size] / job.subcarriers;
        begin -= job.tracked >> before & 1 ? job.places : 0;
    }
    const size_t from = (size_t(slot) * job.symbols + at) * size;
    const size_t to = size_t(slot) * job.kept;
    for (int i = threadIdx.x; i < size; i += turn_threads) {
        int out = 0;
        bool own = false;
        for (int p = 0; p < places; ++p) {
            out += place[p] < i;
            own |= place[p] == i;
        }
        if (!own) {
            const int k = begin + i - out;
            const float2 value = times_conj(all_x[from + i], phase);
            job.x[to + k] = put_upright(job, value, k);
            job.noise[to + k] = all_noise[from + i];
        }
    }
}

std::vector<float2> roots_of(int size)
{
    std::vector<float2> out;
    for (int k = 0; k < size; ++k) {
        const double phase = 2 * pi * k / size;
        out.push_back({ float(std::cos(phase)), float(std::sin(phase)) });
    }
    return out;
}

} // namespace

precoding_undone::precoding_undone(const shared_channel& channel,
                                   const std::vector<double>& times,
                                   int slots_of_frame,
                                   const uint32_t* data)
{
    const auto& map = channel.map();
    auto& job = d_job;
    job.size = 12 * static_cast<int>(map.blocks.size());
    job.symbols = static_cast<int>(map.data.size()) / job.size;
    job.subcarriers = map.subcarriers;
    job.order = channel.codewords().front().coding.order;
    job.data = data;
    job.slot_symbols = map.symbols;
    job.kept = static_cast<int>(map.modulation_symbols());
    // Odd radices first: then no two points of a warp's stores share a bank.
    int left = job.size;
    for (const int radix : { 5, 3, 4, 2 }) {
        for (; left % radix == 0; left /= radix) {
            job.radix[job.passes++] = radix;
        }
    }
    d_root = std::make_unique<device_memory<float2>>(roots_of(job.size));
    job.root = d_root->data();
    job.places = static_cast<int>(map.precoded_ptrs_places.size());
    d_places = std::make_unique<device_memory<int>>(map.precoded_ptrs_places);
    job.place = d_places->data();
    d_ptrs = std::make_unique<device_memory<float2>>(size_t(slots_of_frame) * job.places);
    job.ptrs = d_ptrs->data();
    for (const int symbol : map.precoded_ptrs_symbols) {
        job.tracked |= 1u << symbol;
    }
    job.dmrs.positions = static_cast<int>(times.size());
    std::copy(times.begin(), times.end(), job.dmrs.time);
    cuda_check(cudaFuncSetAttribute(undo_transform,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    2 * most_tones * sizeof(float2)),
               "nr receiver, shared memory of a transform");
}

void precoding_undone::place(arena& work, int slots)
{
    const size_t all = slots;
    const size_t kept = has_ptrs() ? all * d_job.kept : 0;
    d_sums = work.place<double2>(has_ptrs() ? all * d_job.slot_symbols : 0);
    d_capacity = work.place<double>(all * d_job.symbols);
    d_x = work.place<float2>(kept);
    d_noise = work.place<float>(kept);
}

void precoding_undone::take(const arena& work,
                            const slot_state* state,
                            const int* slot_numbers)
{
    d_job.state = state;
    d_job.slot_number = slot_numbers;
    d_job.sums = work.at<double2>(d_sums);
    d_job.capacity = work.at<double>(d_capacity);
    d_job.x = work.at<float2>(d_x);
    d_job.noise = work.at<float>(d_noise);
}

void precoding_undone::prepare_slot(const shared_channel& channel,
                                    int number,
                                    queue& queue)
{
    const auto values = precoded_ptrs_values(channel.parameters(), channel.map(), number);
    queue.copy_in(d_ptrs->data() + number * values.size(),
                  values.data(),
                  values.size() * sizeof(complex64));
    queue.synchronize();
}

void precoding_undone::run(float2* x, float* noise, int slots, cudaStream_t stream) const
{
    const dim3 blocks(d_job.symbols, slots);
    const size_t bytes = 2 * size_t(d_job.size) * sizeof(float2);
    undo_transform<<<blocks, transform_threads, bytes, stream>>>(d_job, x, noise);
    if (has_ptrs()) {
        turn_symbols<<<blocks, turn_threads, 0, stream>>>(d_job, x, noise);
    }
    cuda_check_launch("nr receiver, transform precoding");
}

} // namespace gr::cudaphy::kernels::nr
