/* SPDX-License-Identifier: GPL-3.0-or-later */
// The delay spread that predicts pilots best (channel_estimate::best_spread).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/wiener_tables.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int predict_threads = 224, at_once = 4, choose_threads = 1024;
constexpr int most_pilots = 832; // of a comb in 275 resource blocks, and more
constexpr int candidate_groups = 8;

__device__ int table_of(const estimate_cuda& job, double spread, double snr)
{
    const int spread_at =
        int(lround(log(fmax(spread, table_smallest_spread) / table_smallest_spread) /
                   log(table_spread_step)));
    const int snr_at =
        int(lround(fmin(fmax(10 * log10(snr), -20.0), 60.0) / table_snr_step_db));
    const int within = max(0, min(spread_at - job.tables.lowest, job.tables.spreads - 1));
    return within * table_snrs + max(0, min(snr_at - table_lowest_snr, table_snrs - 1));
}

// A row of pilots a block, and every eighth candidate. A thread predicts neighbours, so
// that it reads a pilot and a weight once for several sums.
__global__ void __launch_bounds__(predict_threads) predict(const estimate_cuda job)
{
    __shared__ float2 z[most_pilots + at_once];
    __shared__ double shared[33];
    const int slot = blockIdx.z, row = blockIdx.x;
    const slot_state& state = job.state[slot];
    if (!state.usable || !(job.own >> (row / 2 / job.antennas % job.sets) & 1)) {
        return;
    }
    const float2* const from = job.z + (size_t(slot) * job.rows() + row) * job.pilots;
    for (int j = threadIdx.x; j < most_pilots + at_once; j += predict_threads) {
        z[j] = j < job.pilots ? from[j] : float2{ 0, 0 };
    }
    __syncthreads();
    for (int at = blockIdx.y; at < state.candidates; at += candidate_groups) {
        const int table = table_of(job, state.candidate[at], state.snr);
        double sum = 0;
        for (int i = 0; i < job.runs; ++i) {
            const run_cuda run = job.run[i];
            const float2* const weights = weights_of(run, table);
            const int half = run.taps / 2 - 1, inside = run.pilots - run.taps + 1;
            const auto add = [&](int pilot, int row_at, float2 estimate) {
                const float own =
                    weights[(pilot - max(0, min(pilot - half, inside - 1))) * run.rows +
                            row_at]
                        .x;
                const float2 own_z = z[run.first_pilot + pilot];
                const float a = own_z.x - estimate.x, b = own_z.y - estimate.y;
                sum += double(a * a + b * b) / (double(1 - own) * (1 - own));
            };
            // Those in the middle of their window.
            const int middle = job.spacing * half + job.spacing - 1;
            float part = 0;
            for (int first = at_once * threadIdx.x; first < inside;
                 first += at_once * predict_threads) {
                const float2* const window = z + run.first_pilot + first;
                float2 estimate[at_once] = {}, held[at_once];
#pragma unroll
                for (int k = 0; k < at_once; ++k) {
                    held[k] = window[k];
                }
                for (int t = 0; t < run.taps; ++t) {
                    const float2 weight = weights[t * run.rows + middle];
#pragma unroll
                    for (int k = 0; k < at_once; ++k) {
                        estimate[k] = add_product(held[k], weight, estimate[k]);
                    }
#pragma unroll
                    for (int k = 0; k + 1 < at_once; ++k) {
                        held[k] = held[k + 1];
                    }
                    held[at_once - 1] = window[t + at_once];
                }
#pragma unroll
                for (int k = 0; k < at_once; ++k) {
                    if (first + k < inside) {
                        const float2 own_z = z[run.first_pilot + first + k + half];
                        const float a = own_z.x - estimate[k].x;
                        const float b = own_z.y - estimate[k].y;
                        part += a * a + b * b;
                    }
                }
            }
            const double others = 1 - weights[half * run.rows + middle].x;
            sum += part / (others * others);
            // Those at the ends.
            for (int end = threadIdx.x; end < run.taps - 1; end += predict_threads) {
                const int pilot = end < half ? end : end + inside;
                const int tap = max(0, min(pilot - half, inside - 1));
                const int row_at = job.spacing * (pilot - tap) + job.spacing - 1;
                float2 estimate{ 0, 0 };
                for (int t = 0; t < run.taps; ++t) {
                    estimate = add_product(z[run.first_pilot + tap + t],
                                           weights[t * run.rows + row_at],
                                           estimate);
                }
                add(pilot, row_at, estimate);
            }
        }
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) {
            job.errors[(size_t(slot) * most_candidates + at) * job.rows() + row] = sum;
        }
    }
}

// Downhill from the first candidate: upwards, or else downwards.
__global__ void __launch_bounds__(choose_threads) choose(const estimate_cuda job)
{
    __shared__ double error[most_candidates];
    const int slot = blockIdx.x, at = threadIdx.x / 32;
    slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    if (state.candidates > 1 && at < state.candidates) {
        double sum = 0;
        for (int row = threadIdx.x % 32; row < job.rows(); row += 32) {
            if (job.own >> (row / 2 / job.antennas % job.sets) & 1) {
                sum +=
                    job.errors[(size_t(slot) * most_candidates + at) * job.rows() + row];
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) {
            error[at] = sum;
        }
    }
    __syncthreads();
    if (threadIdx.x) {
        return;
    }
    int best = 0;
    if (state.candidates > 1) {
        for (int i = 1; i <= state.upwards && error[i] < error[best]; ++i) {
            best = i;
        }
        if (best == 0) {
            for (int i = state.upwards + 1;
                 i < state.candidates && error[i] < error[best];
                 ++i) {
                best = i;
            }
        }
    }
    state.spread = state.candidate[best];
    state.table = table_of(job, state.spread, state.snr);
}

} // namespace

void launch_spread(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    if (job.spread_given < 0) {
        predict<<<dim3(job.rows(), candidate_groups, slots),
                  predict_threads,
                  0,
                  stream>>>(job);
    }
    choose<<<slots, choose_threads, 0, stream>>>(job);
    cuda_check_launch("nr receiver, delay spread");
}

} // namespace gr::cudaphy::kernels::nr
