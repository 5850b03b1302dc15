/* SPDX-License-Identifier: GPL-3.0-or-later */
// DM-RS over its sequence, delay and noise (pilots.cc, delay_statistics.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/wiener_tables.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int observe_threads = 256, sums_threads = 256, delay_threads = 32 * pilot_sums;
constexpr float far = 1e6f; // samples whose energy times this is infinite are refused
constexpr double least_spread = 3e-4, most_spread = 0.05, unknown_spread = 3e-3;
constexpr double least_noise = 1e-12;
constexpr double candidate_step = 1.44, most_candidate = 0.06;

__constant__ const int lags[pilot_lags] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };

//! Blocks are of pilots; (position, antenna, group); slots.
__global__ void __launch_bounds__(observe_threads) observe(const estimate_cuda job)
{
    const int slot = blockIdx.z, all = 2 * job.pilots;
    const int group = blockIdx.y % job.groups;
    const int antenna = blockIdx.y / job.groups % job.antennas;
    const int position = blockIdx.y / job.groups / job.antennas;
    const int j = blockIdx.x * observe_threads + threadIdx.x;
    const float scale = 1 / (job.amplitude * float(job.length));
    bool bad = false;
    if (j < all) {
        const uint32_t tone = job.dmrs_subcarriers[group * all + j];
        float2 at[2];
        for (int time = 0; time < job.length; ++time) {
            const float2 y =
                job.grid[((size_t(slot) * job.antennas + antenna) * job.symbols +
                          job.first_symbol[position] + time) *
                             job.subcarriers +
                         tone];
            const float2 r =
                job.dmrs_of(slot)[size_t(position * job.length + time) * all + j];
            at[time] = times_conj(y, r);
            at[time] = { at[time].x * scale, at[time].y * scale };
            bad |= !isfinite(far * (at[time].x * at[time].x + at[time].y * at[time].y));
        }
        float2* const z = job.z + size_t(slot) * job.rows() * job.pilots;
        for (int sign = 0; sign < job.length; ++sign) {
            const int row = job.row(position, sign * job.groups + group, antenna, j % 2);
            float2 sum = at[0];
            if (job.length == 2) {
                sum = sign ? float2{ sum.x - at[1].x, sum.y - at[1].y }
                           : float2{ sum.x + at[1].x, sum.y + at[1].y };
            }
            z[size_t(row) * job.pilots + j / 2] = sum;
        }
    }
    if (__syncthreads_or(bad) && threadIdx.x == 0) {
        for (int sign = 0; sign < job.length; ++sign) {
            atomicOr(&job.state[slot].bad[sign * job.groups + group], 1);
        }
    }
}

//! A row of observations a block: its energy, correlation over lags, and differences.
__global__ void __launch_bounds__(sums_threads) sum_pilots(const estimate_cuda job)
{
    __shared__ double parts[sums_threads / 32][pilot_sums];
    const int slot = blockIdx.y, row = blockIdx.x;
    const float2* const z = job.z + (size_t(slot) * job.rows() + row) * job.pilots;
    float sum[pilot_sums] = {};
    for (int j = threadIdx.x; j < job.pilots; j += sums_threads) {
        const run_cuda& run = job.run_of_tone(j * job.spacing);
        const int left = run.first_pilot + run.pilots - 1 - j; // behind it in its run
        const float2 a = z[j];
        sum[0] += a.x * a.x + a.y * a.y;
#pragma unroll
        for (int l = 0; l < pilot_lags; ++l) {
            if (lags[l] <= left) {
                const float2 b = z[j + lags[l]];
                const float2 product = times_conj(b, a);
                sum[1 + 2 * l] += product.x;
                sum[2 + 2 * l] += product.y;
            }
        }
        const auto add = [&](int at, float re, float im) {
            sum[at] += re * re + im * im;
        };
        constexpr int first = 1 + 2 * pilot_lags;
        if (left >= 1) {
            const float2 b = z[j + 1];
            add(first, b.x - a.x, b.y - a.y);
            if (left >= 2) {
                const float2 c = z[j + 2];
                add(first + 1, a.x - 2 * b.x + c.x, a.y - 2 * b.y + c.y);
                if (left >= 4) {
                    const float2 d = z[j + 3], e = z[j + 4];
                    add(first + 2,
                        a.x - 4 * b.x + 6 * c.x - 4 * d.x + e.x,
                        a.y - 4 * b.y + 6 * c.y - 4 * d.y + e.y);
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < pilot_sums; ++i) {
        const float all = warp_sum(sum[i]);
        if (threadIdx.x % 32 == 0) {
            parts[threadIdx.x / 32][i] = all;
        }
    }
    __syncthreads();
    if (threadIdx.x < pilot_sums) {
        double all = 0;
        for (int warp = 0; warp < sums_threads / 32; ++warp) {
            all += parts[warp][threadIdx.x];
        }
        job.sums[(size_t(slot) * job.rows() + row) * pilot_sums + threadIdx.x] = all;
    }
}

//! Pilots of a row that have another one `lag` behind them in their run.
__device__ double count_of(const estimate_cuda& job, int lag)
{
    int count = 0;
    for (int i = 0; i < job.runs; ++i) {
        count += max(0, job.run[i].pilots - lag);
    }
    return count;
}

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

//! A slot a block: find_delay_statistics(), and the candidates of the delay spread.
__global__ void __launch_bounds__(delay_threads) find_delay(const estimate_cuda job)
{
    __shared__ double sum[pilot_sums], count[pilot_lags], chosen_delay;
    __shared__ int known;
    slot_state& state = job.state[blockIdx.x];
    const int own_rows = __popc(job.own) * job.positions * job.antennas * 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double part = 0;
    for (int row = lane; row < job.rows(); row += 32) {
        if (job.own >> (row / 2 / job.antennas % job.sets) & 1) {
            part += job.sums[(size_t(blockIdx.x) * job.rows() + row) * pilot_sums + warp];
        }
    }
    part = warp_sum(part);
    if (lane == 0) {
        sum[warp] = part;
        if (warp < pilot_lags) {
            count[warp] = own_rows * count_of(job, lags[warp]);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int usable = 1;
        for (int set = 0; set < job.sets; ++set) {
            usable &= !(state.bad[set] && (job.own >> set & 1));
            if (!state.bad[set]) {
                state.known |= (job.known[set] ? 1 : 0) << set;
                state.used |= (job.known[set] || (job.silence >> set & 1) ? 1 : 0) << set;
            }
        }
        state.usable = usable;
        const double energy_count = double(own_rows) * job.pilots;
        double noise = sum[0] / energy_count;
        const double gain[3] = { 2, 6, 70 };
        const int behind[3] = { 1, 2, 4 };
        for (int i = 0; i < 3; ++i) {
            const double differences = own_rows * count_of(job, behind[i]);
            if (differences > 0) {
                noise = fmin(noise, sum[1 + 2 * pilot_lags + i] / gain[i] / differences);
            }
        }
        state.energy = fmax(0.0, sum[0] / energy_count - noise);
        known = 0;
        while (known < pilot_lags && count[known] > 0) {
            ++known;
        }
        // Of noise alone the correlation has this deviation, and no phase of use.
        const double by_chance = noise / sqrt(fmax(1.0, count[0]));
        const double seen = hypot(sum[1], sum[2]) / fmax(1.0, count[0]);
        state.present = seen > 3.5 * by_chance;
        chosen_delay =
            seen > 2 * by_chance ? -atan2(sum[2], sum[1]) / (2 * pi * job.spacing) : 0;
        state.delay = chosen_delay;
        state.noise = fmax(noise, least_noise * state.energy);
        state.snr = state.energy / fmax(state.noise, 1e-30);
    }
    __syncthreads();
    if (warp) {
        return;
    }
    // A candidate of the fit a lane: the least one wins, of equal ones the first.
    double spread = least_spread;
    for (int i = 0; i < lane; ++i) {
        spread *= 1.2;
    }
    double error = INFINITY;
    if (spread < most_spread) {
        double cross = 0, own = 0, energy = 0;
        for (int l = 0; l < known; ++l) {
            const double distance = double(lags[l]) * job.spacing;
            const double x = 2 * pi * spread * distance;
            double s, c;
            sincospi(2 * spread * distance, &s, &c);
            const double model = (c + x * s) / (1 + x * x);
            sincospi(2 * chosen_delay * distance, &s, &c);
            const double seen = (sum[1 + 2 * l] * c - sum[2 + 2 * l] * s) / count[l];
            cross += count[l] * seen * model;
            own += count[l] * model * model;
            energy += count[l] * seen * seen;
        }
        const double amplitude = fmax(0.0, cross / own);
        error = energy - 2 * amplitude * cross + amplitude * amplitude * own;
    }
    for (int step = 16; step; step /= 2) {
        const double other = __shfl_xor_sync(0xFFFFFFFFu, error, step);
        const double its = __shfl_xor_sync(0xFFFFFFFFu, spread, step);
        if (other < error || (other == error && its < spread)) {
            error = other;
            spread = its;
        }
    }
    if (lane == 0) {
        spread = job.spread_given >= 0           ? job.spread_given
                 : known < 2 || !isfinite(error) ? unknown_spread
                                                 : spread;
        state.candidate[0] = spread;
        int count = 1;
        if (job.spread_given < 0) {
            for (double next = spread * candidate_step;
                 next > least_spread && next < most_candidate && count < most_candidates;
                 next *= candidate_step) {
                state.candidate[count++] = next;
            }
            state.upwards = count - 1;
            for (double next = spread * (1 / candidate_step);
                 next > least_spread && next < most_candidate && count < most_candidates;
                 next *= 1 / candidate_step) {
                state.candidate[count++] = next;
            }
        }
        state.candidates = count;
    }
    __syncwarp();
    if (lane < state.candidates) {
        state.candidate_table[lane] = table_of(job, state.candidate[lane], state.snr);
    }
}

unsigned parts(int items, int threads)
{
    return unsigned((items + threads - 1) / threads);
}

} // namespace

void launch_observation(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    const unsigned each = job.positions * job.antennas * job.groups;
    observe<<<dim3(parts(2 * job.pilots, observe_threads), each, slots),
              observe_threads,
              0,
              stream>>>(job);
    sum_pilots<<<dim3(job.rows(), slots), sums_threads, 0, stream>>>(job);
    find_delay<<<slots, delay_threads, 0, stream>>>(job);
    cuda_check_launch("nr receiver, observation of DM-RS");
}

} // namespace gr::cudaphy::kernels::nr
