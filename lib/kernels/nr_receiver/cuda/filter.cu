/* SPDX-License-Identifier: GPL-3.0-or-later */
// The estimate over frequency and what it leaves of DM-RS (frequency_filter.cc and
// channel_estimate.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/estimate.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int filter_threads = 128;

__device__ float2 smoothed(const run_cuda& run,
                           const float2* weights,
                           const float2* z,
                           int spacing,
                           int start,
                           int tone)
{
    const int tap = first_tap(run, spacing, start, tone);
    const float2* const row = weights + (tone - start - spacing * tap + spacing - 1);
    const float2* const from = z + run.first_pilot + tap;
    float2 sum{ 0, 0 };
    if (run.taps == most_taps) {
#pragma unroll
        for (int t = 0; t < most_taps; ++t) {
            sum = add_product(from[t], row[t * run.rows], sum);
        }
        return sum;
    }
    for (int t = 0; t < run.taps; ++t) {
        sum = add_product(from[t], row[t * run.rows], sum);
    }
    return sum;
}

//! Both ports' estimate at pair i of neighbouring pilots, of the port with this sign.
__device__ float2 at_pair(const float2* even, const float2* odd, int i, float sign)
{
    return { 0.5f * even[i].x + sign * odd[i].x, 0.5f * even[i].y + sign * odd[i].y };
}

//! Straight lines between least squares (channel_estimate::draw_lines).
__device__ float2 on_line(const estimate_cuda& job,
                          const run_cuda& run,
                          const float2* even,
                          const float2* odd,
                          int group,
                          float sign,
                          int tone)
{
    const float start = job.comb_start(group, 0) + (job.type_1 ? 1.0f : 0.5f);
    const float at =
        fminf(fmaxf((tone - start) / job.spacing, 0.0f), float(run.pilots - 1));
    const int i = min(int(at), run.pilots - 2);
    const float part = at - i;
    const float2 a = at_pair(even, odd, run.first_pilot + i, sign);
    const float2 b = at_pair(even, odd, run.first_pilot + i + 1, sign);
    return { (1 - part) * a.x + part * b.x, (1 - part) * a.y + part * b.y };
}

//! Blocks are of tones; (position, set, antenna); slots. A tone a thread.
__global__ void __launch_bounds__(filter_threads) filter(const estimate_cuda job)
{
    const int slot = blockIdx.z;
    const int antenna = blockIdx.y % job.antennas;
    const int set = blockIdx.y / job.antennas % job.sets;
    const int position = blockIdx.y / job.antennas / job.sets;
    const int at = blockIdx.x * filter_threads + threadIdx.x;
    const slot_state& state = job.state[slot];
    if (at >= job.tones || !state.usable || !(state.known >> set & 1)) {
        return;
    }
    const int group = set % job.groups;
    const run_cuda run = job.run_of_tone(at);
    const int tone = at - run.first_tone;
    const float2* const weights = weights_of(run, state.table);
    const size_t row = size_t(slot) * job.rows() + job.row(position, set, antenna, 0);
    const float2* const z[2] = { job.z + row * job.pilots,
                                 job.z + (row + 1) * job.pilots };
    const int start[2] = { job.comb_start(group, 0), job.comb_start(group, 1) };
    const float2 comb[2] = { smoothed(run, weights, z[0], job.spacing, start[0], tone),
                             smoothed(run, weights, z[1], job.spacing, start[1], tone) };
    const float2 delayed = delay_phase(state.delay, tone);
    for (int layer = 0; layer < job.layers; ++layer) {
        if (job.set_of[layer] != set) {
            continue;
        }
        const float sign = job.frequency_of[layer] ? -0.5f : 0.5f;
        const float2 h = job.mmse ? float2{ 0.5f * comb[0].x + sign * comb[1].x,
                                            0.5f * comb[0].y + sign * comb[1].y }
                                  : on_line(job, run, z[0], z[1], group, sign, tone);
        job.h[(((size_t(slot) * job.positions + position) * job.layers + layer) *
                   job.antennas +
               antenna) *
                  job.tones +
              at] = times(h, delayed);
    }
    // The parts of both combs in what the known ports send here.
    const bool both = job.known[set] == 3;
    const float own = both ? 1.0f : 0.5f;
    const float other = both ? 0.0f : job.known[set] == 2 ? -0.5f : 0.5f;
    for (int parity = 0; parity < 2; ++parity) {
        const int from_start = tone - start[parity];
        if (from_start >= 0 && from_start % job.spacing == 0) {
            const int pilot = run.first_pilot + from_start / job.spacing;
            const float2 mine = comb[parity], its = comb[1 - parity];
            const float2 seen = z[parity][pilot];
            job.residual[(row + parity) * job.pilots + pilot] = {
                seen.x - (own * mine.x + other * its.x),
                seen.y - (own * mine.y + other * its.y)
            };
        }
    }
}

} // namespace

void launch_filter(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    const unsigned blocks = (job.tones + filter_threads - 1) / filter_threads;
    filter<<<dim3(blocks, job.positions * job.sets * job.antennas, slots),
             filter_threads,
             0,
             stream>>>(job);
    cuda_check_launch("nr receiver, estimate over frequency");
}

} // namespace gr::cudaphy::kernels::nr
