/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/mimo/cuda_lane.cuh"
#include "kernels/mimo/estimator/channel_filter.h"
#include "kernels/mimo/tuning.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr int filter_threads = energy_ways;
constexpr int antennas_at_once = 4;

using sum = channel_filter_plan::sum;
using projection = channel_filter_plan::projection;

struct filter_job {
    const projection* projections;
    const float2* project;
    const sum* estimates;
    const sum* noise_sums;
    const float2* weights;
    const float* over_time;
    const float2* y;
    float2* h;
    float* n0;
    int* status;
    float2* observations; //!< (slots, Nr, stride)
    float* energies;      //!< (slots, energies, Nr)
    size_t slots;
    int receive, layers, tones, symbols, groups, group_symbols, times;
    int projected, observed, noise_count, width, stride, energy_count;
    double divisor;
};

//! a + b c and a - b c, each operation rounded, as the CPU does it.
__device__ float plus(float a, float b, float c) { return __fadd_rn(a, __fmul_rn(b, c)); }
__device__ float minus(float a, float b, float c)
{
    return __fsub_rn(a, __fmul_rn(b, c));
}
__device__ float norm(float2 a)
{
    return __fadd_rn(__fmul_rn(a.x, a.x), __fmul_rn(a.y, a.y));
}

// What is made of a tone's pilots, one projection at one antenna a thread. Sets the
// status of slots with a pilot that is not finite, which was 0.
__global__ void __launch_bounds__(filter_threads) project_pilots(const filter_job job)
{
    const size_t thread = size_t{ blockIdx.x } * filter_threads + threadIdx.x;
    const size_t a_slot = size_t(job.projected) * job.receive;
    const size_t slot = thread / a_slot;
    if (slot >= job.slots) {
        return;
    }
    const int o = int(thread % a_slot) / job.receive;
    const int r = int(thread % a_slot) % job.receive;
    const projection from = job.projections[o];
    const float2* y = job.y + slot * job.symbols * job.tones * job.receive +
                      (size_t(from.first_symbol) * job.tones + from.tone) * job.receive +
                      r;
    float2 z{ 0, 0 };
    for (int s = 0; s < job.group_symbols; ++s) {
        const float2 w = job.project[size_t(o) * job.group_symbols + s];
        if (w.x == 0 && w.y == 0) {
            continue; // it may be data
        }
        const float2 sample = y[size_t(s) * job.tones * job.receive];
        z.x = minus(plus(z.x, w.x, sample.x), w.y, sample.y);
        z.y = plus(plus(z.y, w.x, sample.y), w.y, sample.x);
    }
    if (!(0 * z.x + 0 * z.y == 0)) {
        job.status[slot] = -1;
    }
    if (o < job.observed) {
        job.observations[(slot * job.receive + r) * job.stride + o] = z;
    } else {
        job.energies[(slot * job.energy_count + o - job.observed) * job.receive + r] =
            norm(z);
    }
}

// A weighted sum at up to four antennas from `r` on, by filter_ways threads, each of
// which gets it.
__device__ void weigh(const filter_job& job,
                      size_t slot,
                      sum of,
                      int r,
                      complex_lane (&out)[antennas_at_once])
{
    const int lane = threadIdx.x % filter_ways;
    const unsigned mask = 0xFFFFu << (threadIdx.x & filter_ways);
    const float2* const weights = job.weights + size_t(of.row) * job.width;
    const float2* const z =
        job.observations + (slot * job.receive + r) * job.stride + of.first;
#pragma unroll
    for (auto& each : out) {
        each = { 0, 0 };
    }
    for (int w = lane; w < job.width; w += filter_ways) {
        const float2 weight = weights[w];
#pragma unroll
        for (int a = 0; a < antennas_at_once; ++a) {
            if (r + a < job.receive) {
                const float2 seen = z[a * job.stride + w];
                out[a] = add_product(complex_lane{ weight.x, weight.y },
                                     complex_lane{ seen.x, seen.y },
                                     out[a]);
            }
        }
    }
#pragma unroll
    for (int half = filter_ways / 2; half; half /= 2) {
#pragma unroll
        for (auto& each : out) {
            each.re += __shfl_xor_sync(mask, each.re, half);
            each.im += __shfl_xor_sync(mask, each.im, half);
        }
    }
}

// One estimate of a layer on a tone, at all antennas and times, by filter_ways threads.
// The weights come from the L2 cache, where slots share them.
template <int Groups>
__global__ void __launch_bounds__(filter_threads) estimate_by_filter(const filter_job job)
{
    const size_t place =
        (size_t{ blockIdx.x } * filter_threads + threadIdx.x) / filter_ways;
    const size_t a_slot = size_t(job.tones) * job.layers;
    const size_t slot = place / a_slot;
    if (slot >= job.slots) {
        return;
    }
    const int k = int(place % a_slot) / job.layers;
    const int t = int(place % a_slot) % job.layers;
    const int lane = threadIdx.x % filter_ways;
    const bool good = job.status[slot] == 0;
    const size_t matrix = size_t(job.receive) * job.layers;
    float2* const h = job.h + slot * job.times * job.tones * matrix;
    for (int r = 0; r < job.receive; r += antennas_at_once) {
        complex_lane sums[Groups][antennas_at_once];
#pragma unroll
        for (int g = 0; g < Groups; ++g) {
            if (g < job.groups) {
                const sum of =
                    job.estimates[(size_t(g) * job.layers + t) * job.tones + k];
                weigh(job, slot, of, r, sums[g]);
            }
        }
        // Each thread writes some of the times, at one antenna.
        const int a = lane % antennas_at_once;
        for (int u = lane / antennas_at_once; u < job.times && r + a < job.receive;
             u += filter_ways / antennas_at_once) {
            float2 out{ 0, 0 };
#pragma unroll
            for (int g = 0; g < Groups; ++g) {
                if (good && g < job.groups) {
                    const float weight = job.over_time[u * job.groups + g];
#pragma unroll
                    for (int other = 0; other < antennas_at_once; ++other) {
                        if (other == a) { // an index of its own would leave registers
                            out.x = plus(out.x, weight, sums[g][other].re);
                            out.y = plus(out.y, weight, sums[g][other].im);
                        }
                    }
                }
            }
            h[(size_t(u) * job.tones + k) * matrix + (r + a) * job.layers + t] = out;
        }
    }
}

__global__ void __launch_bounds__(filter_threads) weigh_noise(const filter_job job)
{
    const size_t place =
        (size_t{ blockIdx.x } * filter_threads + threadIdx.x) / filter_ways;
    const size_t slot = place / job.noise_count;
    if (slot >= job.slots) {
        return;
    }
    const int n = int(place % job.noise_count);
    for (int r = 0; r < job.receive; r += antennas_at_once) {
        complex_lane sums[antennas_at_once];
        weigh(job, slot, job.noise_sums[n], r, sums);
#pragma unroll
        for (int a = 0; a < antennas_at_once; ++a) {
            if (r + a < job.receive && threadIdx.x % filter_ways == 0) {
                job.energies[(slot * job.energy_count + n) * job.receive + r + a] =
                    norm({ sums[a].re, sums[a].im });
            }
        }
    }
}

// One slot's energies a block.
__global__ void __launch_bounds__(filter_threads) add_energies(const filter_job job)
{
    __shared__ double ways[energy_ways];
    const size_t slot = blockIdx.x;
    const size_t count = size_t(job.energy_count) * job.receive;
    double own = 0;
    for (size_t i = threadIdx.x; i < count; i += energy_ways) {
        own += job.energies[slot * count + i];
    }
    ways[threadIdx.x] = own;
    for (int half = energy_ways / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            ways[threadIdx.x] += ways[threadIdx.x + half];
        }
    }
    __syncthreads();
    const float n0 =
        job.status[slot] ? __uint_as_float(0x7FC00000u) : float(ways[0] / job.divisor);
    for (int u = threadIdx.x; u < job.times; u += energy_ways) {
        job.n0[slot * job.times + u] = n0;
    }
}

//! What lies on the device for as long as the estimator lives.
struct filter_memory {
    filter_memory(const channel_filter_plan& plan, size_t slots, size_t stride)
        : projections(plan.projections), project(plan.rounded(plan.project)),
          estimates(plan.estimates), noise_sums(plan.noise_sums),
          weights(plan.rounded(plan.weights)), over_time(plan.time_weights()),
          observations(slots * plan.receive * stride),
          energies(slots * plan.energies() * plan.receive)
    {
        // What lies beyond the observations has weights of 0, and must be finite.
        cuda_check(cudaMemset(observations.data(),
                              0,
                              slots * plan.receive * stride * sizeof(complex64)),
                   "cudaMemset");
        cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "cudaMemset");
    }

    device_memory<projection> projections;
    device_memory<complex64> project;
    device_memory<sum> estimates, noise_sums;
    device_memory<complex64> weights;
    device_memory<float> over_time;
    device_memory<complex64> observations;
    device_memory<float> energies;
};

class channel_filter_cuda : public channel_estimator
{
public:
    channel_filter_cuda(const channel_filter_plan& plan, int device)
        : d_plan(plan), d_stride(size_t(plan.observations) + plan.width),
          d_slots(std::clamp<size_t>(
              mimo_tuning::estimator::workspace_bytes /
                  (plan.receive * (8 * d_stride + 4 * plan.energies())),
              1,
              mimo_tuning::estimator::most_slots)),
          d_device(device)
    {
        cuda_device_scope scope(device);
        d_memory = std::make_unique<filter_memory>(plan, d_slots, d_stride);
    }
    ~channel_filter_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_memory.reset();
    }

    void run(view<const complex64> received,
             view<complex64> h,
             view<float> n0,
             view<int> status,
             queue& queue) override
    {
        const estimator_arrays all{ received, h, n0, status };
        const auto item = d_plan.sizes();
        const size_t batch = channel_estimator_batch(item, all);
        const size_t most = d_slots;
        const cuda_device_scope scope(d_device);
        for (size_t done = 0; done < batch; done += most) {
            launch(all.part(item, done, std::min(most, batch - done)), stream_of(queue));
        }
    }

private:
    static unsigned blocks_for(size_t threads)
    {
        return unsigned((threads + filter_threads - 1) / filter_threads);
    }

    void launch(const estimator_arrays& some, cudaStream_t stream)
    {
        const size_t slots = some.status.size();
        const filter_job job{ d_memory->projections.data(),
                              reinterpret_cast<const float2*>(d_memory->project.data()),
                              d_memory->estimates.data(),
                              d_memory->noise_sums.data(),
                              reinterpret_cast<const float2*>(d_memory->weights.data()),
                              d_memory->over_time.data(),
                              reinterpret_cast<const float2*>(some.received.data()),
                              reinterpret_cast<float2*>(some.h.data()),
                              some.n0.data(),
                              some.status.data(),
                              reinterpret_cast<float2*>(d_memory->observations.data()),
                              d_memory->energies.data(),
                              slots,
                              d_plan.receive,
                              d_plan.layers,
                              d_plan.tones,
                              d_plan.symbols,
                              d_plan.groups,
                              d_plan.group_symbols,
                              d_plan.times,
                              int(d_plan.projections.size()),
                              d_plan.observations,
                              int(d_plan.noise_sums.size()),
                              d_plan.width,
                              int(d_stride),
                              int(d_plan.energies()),
                              d_plan.divisor() };
        cuda_check(cudaMemsetAsync(some.status.data(), 0, slots * sizeof(int), stream),
                   "channel_estimator, status");
        project_pilots<<<blocks_for(slots * job.projected * job.receive),
                         filter_threads,
                         0,
                         stream>>>(job);
        cuda_check_launch("channel_estimator, projection");
        const auto estimate = job.groups == 1   ? estimate_by_filter<1>
                              : job.groups <= 4 ? estimate_by_filter<4>
                                                : estimate_by_filter<most_groups>;
        estimate<<<blocks_for(slots * job.tones * job.layers * filter_ways),
                   filter_threads,
                   0,
                   stream>>>(job);
        cuda_check_launch("channel_estimator, filter");
        if (job.noise_count) {
            weigh_noise<<<blocks_for(slots * job.noise_count * filter_ways),
                          filter_threads,
                          0,
                          stream>>>(job);
            cuda_check_launch("channel_estimator, noise");
        }
        add_energies<<<unsigned(slots), filter_threads, 0, stream>>>(job);
        cuda_check_launch("channel_estimator, noise variance");
    }

    channel_filter_plan d_plan;
    size_t d_stride, d_slots;
    int d_device;
    std::unique_ptr<filter_memory> d_memory;
};

} // namespace

CUDAPHY_CUDA_MAKER_1(channel_estimator, channel_filter_cuda, channel_filter_plan)

} // namespace gr::cudaphy::kernels
