/* SPDX-License-Identifier: GPL-3.0-or-later */
// The covariance of noise at many antennas (noise.cu): of 128 it has 8,256 elements, so
// that bundles and parts of the matrix have blocks of their own.
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/noise.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

//! A block has products of `tile` by `tile` antennas, a thread `each` by `each` of them.
constexpr int tile = 32, each = 2, across = tile / each;
constexpr int tile_samples = 32; // at once
constexpr int total_threads = 1024;
static_assert(across * across == noise_threads);

//! Residuals of `tile` antennas from `first` on: zeros beyond the last antenna or sample.
__device__ void load_residuals(const estimate_cuda& job,
                               const float2* from,
                               int first,
                               int samples,
                               float2 (*to)[tile_samples + 1])
{
    const int sample = threadIdx.x % tile_samples;
    for (int i = threadIdx.x / tile_samples; i < tile;
         i += noise_threads / tile_samples) {
        to[i][sample] = first + i < job.antennas && sample < samples
                            ? from[size_t(2) * (first + i) * job.pilots + sample]
                            : float2{ 0, 0 };
    }
}

//! Blocks are of bundles; tiles of the lower triangle; slots.
__global__ void __launch_bounds__(noise_threads)
    sum_residual_tiles(const estimate_cuda job)
{
    __shared__ float2 left[tile][tile_samples + 1], right[tile][tile_samples + 1];
    __shared__ double shared[33];
    const int slot = blockIdx.z, bundle = blockIdx.x;
    const slot_state& state = job.state[slot];
    const int tones = tones_of_bundle(job, state.used);
    const int first = bundle * (tones / job.spacing);
    const int count = min(tones / job.spacing, job.pilots - first);
    if (!state.usable || count <= 0) {
        return;
    }
    const int row_tile = row_of_pair(blockIdx.y);
    const int column_tile = blockIdx.y - row_tile * (row_tile + 1) / 2;
    const int row = threadIdx.x / across, column = threadIdx.x % across;
    double2 sum[each][each] = {};
    double freedoms = 0;
    for (int i = 0; i < job.positions * job.sets * 2; ++i) {
        const int parity = i % 2, set = i / 2 % job.sets, position = i / 2 / job.sets;
        if (!(state.used >> set & 1)) {
            continue;
        }
        if (blockIdx.y == 0) {
            for (int s = threadIdx.x; s < count; s += noise_threads) {
                freedoms += freedom(job, state.table, set, parity, first + s);
            }
        }
        const size_t at = size_t(slot) * job.rows() + job.row(position, set, 0, parity);
        const float2* const from =
            (state.known >> set & 1 ? job.residual : job.z) + at * job.pilots + first;
        for (int begin = 0; begin < count; begin += tile_samples) {
            const int samples = min(tile_samples, count - begin);
            __syncthreads();
            load_residuals(job, from + begin, row_tile * tile, samples, left);
            load_residuals(job, from + begin, column_tile * tile, samples, right);
            __syncthreads();
            float2 part[each][each] = {};
            for (int s = 0; s < tile_samples; ++s) {
                float2 a[each], b[each];
#pragma unroll
                for (int e = 0; e < each; ++e) {
                    a[e] = left[row + e * across][s];
                    b[e] = right[column + e * across][s];
                }
#pragma unroll
                for (int e = 0; e < each * each; ++e) {
                    float2& to = part[e / each][e % each];
                    const float2 x = a[e / each], y = b[e % each];
                    to.x = __fmaf_rn(x.x, y.x, __fmaf_rn(x.y, y.y, to.x));
                    to.y = __fmaf_rn(x.y, y.x, __fmaf_rn(-x.x, y.y, to.y));
                }
            }
#pragma unroll
            for (int e = 0; e < each * each; ++e) {
                sum[e / each][e % each].x += part[e / each][e % each].x;
                sum[e / each][e % each].y += part[e / each][e % each].y;
            }
        }
    }
    const size_t of_slot = size_t(slot) * job.most_bundles + bundle;
#pragma unroll
    for (int e = 0; e < each * each; ++e) {
        const int i = row_tile * tile + row + e / each * across;
        const int k = column_tile * tile + column + e % each * across;
        if (k <= i && i < job.antennas) {
            job.products[of_slot * job.pairs() + i * (i + 1) / 2 + k] =
                sum[e / each][e % each];
        }
    }
    if (blockIdx.y == 0) {
        freedoms = block_sum(freedoms, shared);
        if (threadIdx.x == 0) {
            job.samples[of_slot] = freedoms;
        }
    }
}

//! The bundles of a slot that have pilots.
struct slot_bundles {
    int tones, count;
};

__device__ slot_bundles bundles_of(const estimate_cuda& job, const slot_state& state)
{
    const int tones = tones_of_bundle(job, state.used);
    return { tones, (job.tones + tones - 1) / tones };
}

__device__ double scale_of(const estimate_cuda& job)
{
    return double(job.amplitude) * job.amplitude * job.length;
}

__device__ double samples_of_slot(const estimate_cuda& job, int slot, double* shared)
{
    const int bundles = bundles_of(job, job.state[slot]).count;
    double sum = 0;
    for (int b = threadIdx.x; b < bundles; b += blockDim.x) {
        sum += job.samples[size_t(slot) * job.most_bundles + b];
    }
    return block_sum(sum, shared);
}

//! The allocation's covariance, an element a thread.
__global__ void __launch_bounds__(noise_threads) add_bundles(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y, pairs = job.pairs();
    const int pair = blockIdx.x * noise_threads + threadIdx.x;
    if (!job.state[slot].usable) {
        return;
    }
    const int bundles = bundles_of(job, job.state[slot]).count;
    const double count = samples_of_slot(job, slot, shared);
    if (pair >= pairs || !(count > 0)) {
        return;
    }
    const double2* const products =
        job.products + size_t(slot) * job.most_bundles * pairs + pair;
    double2 sum{ 0, 0 };
    for (int b = 0; b < bundles; ++b) {
        sum.x += products[size_t(b) * pairs].x;
        sum.y += products[size_t(b) * pairs].y;
    }
    const double factor = scale_of(job) / count;
    job.total[size_t(slot) * pairs + pair] = { sum.x * factor, sum.y * factor };
}

__device__ int diagonal(int i) { return i * (i + 1) / 2 + i; }

//! A slot a block: noise_mean, and the allocation's covariance is drawn towards white
//! noise.
__global__ void __launch_bounds__(total_threads) shrink_total(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.x, n = job.antennas, pairs = job.pairs();
    slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    const auto bundles = bundles_of(job, state);
    const double count = samples_of_slot(job, slot, shared);
    if (threadIdx.x == 0) {
        state.bundle_tones = bundles.tones;
        state.bundles = bundles.count;
    }
    if (!(count > 0)) {
        return;
    }
    double2* const all = job.total + size_t(slot) * pairs;
    const double trace =
        block_sum(int(threadIdx.x) < n ? all[diagonal(threadIdx.x)].x : 0.0, shared);
    const double mean = trace / n;
    double part = 0;
    for (int pair = threadIdx.x; pair < pairs; pair += total_threads) {
        const bool own = pair == diagonal(row_of_pair(pair));
        part += own ? norm({ all[pair].x - mean, all[pair].y }) : 2 * norm(all[pair]);
    }
    const double from_white = block_sum(part, shared);
    const double by_chance = trace * trace / count;
    const double share = kept(from_white, by_chance);
    if (threadIdx.x == 0) {
        state.noise_mean = mean;
        state.all_colored = significant(from_white, by_chance, double(n) * n - 1);
    }
    for (int pair = threadIdx.x; pair < pairs; pair += total_threads) {
        const double white = pair == diagonal(row_of_pair(pair)) ? mean : 0;
        all[pair] = { white + share * (all[pair].x - white), share * all[pair].y };
    }
}

//! A bundle and slot a block: how far it is from the allocation's covariance, and how far
//! chance would make it.
__global__ void __launch_bounds__(noise_threads) find_differences(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y, bundle = blockIdx.x, pairs = job.pairs();
    const slot_state& state = job.state[slot];
    if (!state.usable || bundle >= state.bundles) {
        return;
    }
    const size_t at = size_t(slot) * job.most_bundles + bundle;
    const double samples = job.samples[at];
    double differs = 0, trace = 0;
    if (samples > 0) {
        const double2* const own = job.products + at * pairs;
        const double2* const all = job.total + size_t(slot) * pairs;
        const double factor = scale_of(job) / samples;
        for (int pair = threadIdx.x; pair < pairs; pair += noise_threads) {
            const bool on_diagonal = pair == diagonal(row_of_pair(pair));
            const double2 value{ own[pair].x * factor, own[pair].y * factor };
            differs += (on_diagonal ? 1 : 2) *
                       norm({ value.x - all[pair].x, value.y - all[pair].y });
            trace += on_diagonal ? value.x : 0;
        }
    }
    differs = block_sum(differs, shared);
    trace = block_sum(trace, shared);
    if (threadIdx.x == 0) {
        job.differences[at] = { differs, samples > 0 ? trace * trace / samples : 0 };
    }
}

//! A bundle and slot a block: whether noise is colored, and the bundle's covariance.
__global__ void __launch_bounds__(noise_threads)
    write_covariances(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y, bundle = blockIdx.x;
    const int n = job.antennas, pairs = job.pairs();
    slot_state& state = job.state[slot];
    if (!state.usable || bundle >= state.bundles) {
        return;
    }
    const size_t of_slot = size_t(slot) * job.most_bundles;
    double2 sum{ 0, 0 };
    for (int b = threadIdx.x; b < state.bundles; b += noise_threads) {
        sum.x += job.differences[of_slot + b].x;
        sum.y += job.differences[of_slot + b].y;
    }
    const double seen = block_sum(sum.x, shared), expected = block_sum(sum.y, shared);
    const double count = samples_of_slot(job, slot, shared);
    const bool each_colored =
        state.bundles > 1 &&
        significant(seen, expected, double(n) * n * double(state.bundles));
    const bool colored =
        count > 0 && (job.always_colored || state.all_colored || each_colored);
    if (bundle == 0 && threadIdx.x == 0) {
        state.colored = colored;
    }
    if (!colored) {
        return;
    }
    const double samples = job.samples[of_slot + bundle];
    const double2 own_difference = job.differences[of_slot + bundle];
    const double share =
        each_colored && samples > 0 ? kept(own_difference.x, own_difference.y) : 0;
    const double factor = samples > 0 ? scale_of(job) / samples : 0;
    const double2* const own = job.products + (of_slot + bundle) * pairs;
    const double2* const all = job.total + size_t(slot) * pairs;
    float2* const out = job.covariance + (of_slot + bundle) * n * n;
    for (int pair = threadIdx.x; pair < pairs; pair += noise_threads) {
        const int i = row_of_pair(pair), k = pair - i * (i + 1) / 2;
        const double2 a = all[pair];
        out[i * n + k] = { float(a.x + share * (own[pair].x * factor - a.x)),
                           float(a.y + share * (own[pair].y * factor - a.y)) };
    }
}

} // namespace

void launch_noise_of_many(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    const unsigned tiles = (job.antennas + tile - 1) / tile;
    const unsigned bundles = job.most_bundles, all = slots;
    const unsigned parts = (job.pairs() + noise_threads - 1) / noise_threads;
    sum_residual_tiles<<<dim3(bundles, tiles * (tiles + 1) / 2, all),
                         noise_threads,
                         0,
                         stream>>>(job);
    add_bundles<<<dim3(parts, all), noise_threads, 0, stream>>>(job);
    shrink_total<<<all, total_threads, 0, stream>>>(job);
    find_differences<<<dim3(bundles, all), noise_threads, 0, stream>>>(job);
    write_covariances<<<dim3(bundles, all), noise_threads, 0, stream>>>(job);
    cuda_check_launch("nr receiver, covariance of noise at many antennas");
}

} // namespace gr::cudaphy::kernels::nr
