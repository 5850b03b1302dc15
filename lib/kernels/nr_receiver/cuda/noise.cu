/* SPDX-License-Identifier: GPL-3.0-or-later */
// The covariance of noise (noise_covariance.cc, channel_estimate::add_residuals).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/noise.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

//! A bundle and slot a block: products of residuals, and degrees of freedom.
__global__ void __launch_bounds__(noise_threads) sum_residuals(const estimate_cuda job)
{
    __shared__ double2 parts[noise_threads];
    __shared__ double shared[33];
    const int slot = blockIdx.y, bundle = blockIdx.x;
    const slot_state& state = job.state[slot];
    const int tones = tones_of_bundle(job, state.used);
    const int first = bundle * (tones / job.spacing);
    const int count = min(tones / job.spacing, job.pilots - first);
    if (!state.usable || count <= 0) {
        return;
    }
    const int samples = job.positions * job.sets * 2 * count; // with unused ones
    struct place {
        int position, set, parity, pilot;
    };
    const auto place_of = [&](int i) {
        const int of_set = i / count / 2;
        return place{
            of_set / job.sets, of_set % job.sets, i / count % 2, first + i % count
        };
    };
    double freedoms = 0;
    for (int i = threadIdx.x; i < samples; i += noise_threads) {
        const auto at = place_of(i);
        if (state.used >> at.set & 1) {
            freedoms += freedom(job, state.table, at.set, at.parity, at.pilot);
        }
    }
    freedoms = block_sum(freedoms, shared);
    if (threadIdx.x == 0) {
        job.samples[size_t(slot) * job.most_bundles + bundle] = freedoms;
    }
    const int pairs = job.pairs();
    const size_t slot_row = size_t(slot) * job.rows();
    double2* const to = job.products + (size_t(slot) * job.most_bundles + bundle) * pairs;
    const int sharing = max(1, noise_threads / pairs); // threads of one pair
    for (int begin = 0; begin < pairs; begin += noise_threads) {
        const int pair = begin + int(threadIdx.x) % min(pairs, noise_threads);
        const int part = threadIdx.x / min(pairs, noise_threads);
        double2 sum{ 0, 0 };
        if (pair < pairs && part < sharing) {
            const int i = row_of_pair(pair), k = pair - i * (i + 1) / 2;
            for (int s = part; s < samples; s += sharing) {
                const auto at = place_of(s);
                if (state.used >> at.set & 1) {
                    const float2* const from =
                        (state.known >> at.set & 1 ? job.residual : job.z) + at.pilot;
                    const size_t row =
                        slot_row + job.row(at.position, at.set, 0, at.parity);
                    const float2 product = times_conj(from[(row + 2 * i) * job.pilots],
                                                      from[(row + 2 * k) * job.pilots]);
                    sum.x += product.x;
                    sum.y += product.y;
                }
            }
        }
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (pair < pairs && part == 0) {
            for (int p = 1; p < sharing; ++p) {
                sum.x += parts[threadIdx.x + p * pairs].x;
                sum.y += parts[threadIdx.x + p * pairs].y;
            }
            to[pair] = sum;
        }
        __syncthreads();
    }
}

//! A slot a block: find_noise_covariance(). `job.products` become covariances.
__global__ void __launch_bounds__(noise_threads) find_noise(const estimate_cuda job)
{
    extern __shared__ double2 all[]; // the allocation's covariance, (pairs)
    __shared__ double shared[33];
    const int slot = blockIdx.x, n = job.antennas, pairs = job.pairs();
    slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    const int tones = tones_of_bundle(job, state.used);
    const int bundles = (job.tones + tones - 1) / tones;
    const double* const samples = job.samples + size_t(slot) * job.most_bundles;
    double2* const products = job.products + size_t(slot) * job.most_bundles * pairs;
    double sum = 0;
    for (int b = threadIdx.x; b < bundles; b += noise_threads) {
        sum += samples[b];
    }
    const double count = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        state.bundle_tones = tones;
        state.bundles = bundles;
    }
    if (!(count > 0)) {
        return;
    }
    const double scale = double(job.amplitude) * job.amplitude * job.length;
    for (int pair = threadIdx.x / 32; pair < pairs; pair += noise_threads / 32) {
        double2 value{ 0, 0 };
        for (int b = threadIdx.x % 32; b < bundles; b += 32) {
            value.x += products[size_t(b) * pairs + pair].x;
            value.y += products[size_t(b) * pairs + pair].y;
        }
        value.x = warp_sum(value.x);
        value.y = warp_sum(value.y);
        if (threadIdx.x % 32 == 0) {
            all[pair] = { value.x * (scale / count), value.y * (scale / count) };
        }
    }
    __syncthreads();
    const auto diagonal = [](int i) { return i * (i + 1) / 2 + i; };
    double trace = 0;
    for (int i = 0; i < n; ++i) {
        trace += all[diagonal(i)].x;
    }
    const double mean = trace / n;
    if (threadIdx.x == 0) {
        state.noise_mean = mean;
    }
    if (n == 1) {
        return;
    }
    double part = 0;
    for (int pair = threadIdx.x; pair < pairs; pair += noise_threads) {
        const int i = row_of_pair(pair);
        const bool own = pair == diagonal(i);
        part += own ? norm({ all[pair].x - mean, all[pair].y }) : 2 * norm(all[pair]);
    }
    const double from_white = block_sum(part, shared);
    const double by_chance = trace * trace / count;
    const bool all_colored = significant(from_white, by_chance, double(n) * n - 1);
    const double share = kept(from_white, by_chance);
    for (int pair = threadIdx.x; pair < pairs; pair += noise_threads) {
        const int i = row_of_pair(pair);
        const double white = pair == diagonal(i) ? mean : 0;
        all[pair] = { white + share * (all[pair].x - white), share * all[pair].y };
    }
    __syncthreads();
    // Differences of all bundles together, each over what chance makes of it.
    double seen = 0, expected = 0;
    const auto differences = [&](int b, double& differs, double& chance) {
        const double2* const own = products + size_t(b) * pairs;
        const double factor = scale / samples[b];
        double its_trace = 0;
        differs = 0;
        for (int i = 0, pair = 0; i < n; ++i) {
            for (int k = 0; k <= i; ++k, ++pair) {
                const double2 value{ own[pair].x * factor, own[pair].y * factor };
                differs += (i == k ? 1 : 2) *
                           norm({ value.x - all[pair].x, value.y - all[pair].y });
                its_trace += i == k ? value.x : 0;
            }
        }
        chance = its_trace * its_trace / samples[b];
    };
    for (int b = threadIdx.x; b < bundles; b += noise_threads) {
        if (samples[b] > 0) {
            double differs, chance;
            differences(b, differs, chance);
            seen += differs;
            expected += chance;
        }
    }
    seen = block_sum(seen, shared);
    expected = block_sum(expected, shared);
    const bool each_colored =
        bundles > 1 && significant(seen, expected, double(n) * n * double(bundles));
    const bool colored = job.always_colored || all_colored || each_colored;
    if (threadIdx.x == 0) {
        state.colored = colored;
    }
    if (!colored) {
        return;
    }
    float2* const out = job.covariance + size_t(slot) * job.most_bundles * n * n;
    for (int b = threadIdx.x; b < bundles; b += noise_threads) {
        double its_share = 0;
        if (each_colored && samples[b] > 0) {
            double differs, chance;
            differences(b, differs, chance);
            its_share = kept(differs, chance);
        }
        const double factor = samples[b] > 0 ? scale / samples[b] : 0;
        const double2* const own = products + size_t(b) * pairs;
        for (int i = 0, pair = 0; i < n; ++i) {
            for (int k = 0; k <= i; ++k, ++pair) {
                const double2 a = all[pair];
                out[(size_t(b) * n + i) * n + k] = {
                    float(a.x + its_share * (own[pair].x * factor - a.x)),
                    float(a.y + its_share * (own[pair].y * factor - a.y))
                };
            }
        }
    }
}

} // namespace

void launch_noise(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    if (job.at_many_antennas()) {
        launch_noise_of_many(job, slots, stream);
        return;
    }
    sum_residuals<<<dim3(job.most_bundles, slots), noise_threads, 0, stream>>>(job);
    const size_t shared = job.pairs() * sizeof(double2);
    find_noise<<<slots, noise_threads, shared, stream>>>(job);
    cuda_check_launch("nr receiver, covariance of noise");
}

} // namespace gr::cudaphy::kernels::nr
