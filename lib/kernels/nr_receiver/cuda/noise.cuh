/* SPDX-License-Identifier: GPL-3.0-or-later */
// What the kernels of the noise's covariance share (noise_covariance.cc).
#pragma once

#include "kernels/nr_receiver/cuda/estimate.cuh"

namespace gr::cudaphy::kernels::nr {

//! launch_noise() at many antennas: spread over more blocks.
void launch_noise_of_many(const estimate_cuda&, int slots, cudaStream_t);

namespace {

constexpr int noise_threads = 256;

//! The row of a lower triangle that element `at` stands in.
__device__ __forceinline__ int row_of_pair(int at)
{
    int row = int((sqrtf(8.0f * at + 1) - 1) / 2);
    row -= row * (row + 1) / 2 > at;
    row += (row + 1) * (row + 2) / 2 <= at;
    return row;
}

//! channel_estimate::freedom().
__device__ __forceinline__ double
freedom(const estimate_cuda& job, int table, int set, int parity, int at)
{
    if (!job.known[set]) {
        return 1;
    }
    const run_cuda& run = job.run_of_tone(at * job.spacing);
    const int pilot = at - run.first_pilot;
    const int start = job.comb_start(set % job.groups, parity);
    const int tone = start + job.spacing * pilot;
    const int tap = first_tap(run, job.spacing, start, tone);
    const int row = job.spacing * (pilot - tap) + job.spacing - 1;
    const float* const gain = run.gain + size_t(table) * run.rows;
    const double weight = weights_of(run, table)[(pilot - tap) * run.rows + row].x;
    double left = 1 - 2 * weight + gain[row];
    if (job.known[set] != 3) {
        const int other_start = job.comb_start(set % job.groups, 1 - parity);
        const int other_tap = first_tap(run, job.spacing, other_start, tone);
        const int other = tone - other_start - job.spacing * other_tap + job.spacing - 1;
        left = 1 - weight + 0.25 * (gain[row] + gain[other]);
    }
    return fmax(left, 1e-3);
}

//! The tones of a bundle: eight samples an antenna or more, and two resource blocks.
__device__ __forceinline__ int tones_of_bundle(const estimate_cuda& job, int used)
{
    const int a_block = 12 / job.spacing * 2 * job.positions * max(1, __popc(used));
    return 12 * max(2, (8 * job.antennas + a_block - 1) / a_block);
}

__device__ __forceinline__ double kept(double seen, double by_chance)
{
    return seen > by_chance ? 1 - by_chance / seen : 0;
}

//! Differences this large come by chance once in some thousand slots.
__device__ __forceinline__ bool
significant(double seen, double by_chance, double freedoms)
{
    return seen > by_chance * (1 + 4 * sqrt(2 / freedoms));
}

__device__ __forceinline__ double norm(double2 a) { return a.x * a.x + a.y * a.y; }

} // namespace
} // namespace gr::cudaphy::kernels::nr
