/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/mimo/cuda_lane.cuh"
#include "kernels/mimo/estimator/makers.h"
#include "kernels/mimo/tuning.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

#include "kernels/mimo/estimator/lane-inl.h"

constexpr int block_threads = segment_ways;
constexpr size_t most_pieces = mimo_tuning::estimator::most_pieces;

//! A piece is one segment (makers.h) of one group.
struct estimator_job {
    const float* factors;
    const float* weights;
    const float2* y;
    float2* h;
    float* n0;
    int* status;
    double* energies; //!< of pieces, where a group has several
    int* finite;
    size_t elements; //!< of a group
    size_t pieces;
    double divisor;
    int receive, layers, symbols;
    int segment_elements, segment_count;
    int threads; //!< that share a piece: a power of two, up to segment_ways
    bool residual;
};

__device__ void
put_noise(const estimator_job& job, size_t group, double energy, bool finite)
{
    job.n0[group] = finite ? float(energy / job.divisor) : __uint_as_float(0x7FC00000u);
    job.status[group] = finite ? 0 : -1;
}

// One element (a tone at a receive antenna) a thread, and a piece of up to 4096 elements
// a block, or several short groups a block. Each element reads its received pilots, which
// lie side by side for a warp, and writes the estimates of all layers, which a warp moves
// through shared memory to write whole lines. With Ns pilot symbols an element moves
// 8 (Ns + Nt) bytes and computes Ns Nt complex products, twice that with the residual.
template <int Most>
__global__ void __launch_bounds__(block_threads)
    estimate_channels(const estimator_job job)
{
    constexpr int row = Most | 1;
    __shared__ float2 shared[block_threads * row];
    __shared__ double sums[block_threads];
    __shared__ int spoilt[block_threads]; // by piece of the block

    const int l = threadIdx.x % job.threads;
    const int slot = threadIdx.x / job.threads;
    const size_t piece = size_t{ blockIdx.x } * (block_threads / job.threads) + slot;
    const bool active = piece < job.pieces;
    const size_t group = job.segment_count == 1 ? piece : piece / job.segment_count;
    const size_t first =
        (piece - group * job.segment_count) * size_t(job.segment_elements);
    const int count =
        active ? int(min(size_t(job.segment_elements), job.elements - first)) : 0;
    const int rounds =
        int((min(size_t(job.segment_elements), job.elements) + job.threads - 1) /
            job.threads);
    const pilot_factors factors{ job.factors, job.symbols, job.layers };
    const float2* const y = job.y + group * job.symbols * job.elements;
    float2* const h = job.h + group * job.elements * job.layers;
    const auto received = [&](size_t n, int s) {
        const float2 value = y[s * job.elements + n];
        return complex_lane{ value.x, value.y };
    };

    spoilt[threadIdx.x] = 0;
    __syncthreads();

    double energy = 0;
    unsigned bad = 0; // a bit for each round: segments have at most 4096 / 256 of them
    for (int round = 0; round < rounds; ++round) {
        const int i = round * job.threads + l;
        const bool on = i < count;
        const size_t n = first + i;
        complex_lane estimates[Most] = {};
        if (on) {
            const auto own = [&](int s) { return received(n, s); };
            if (!(estimate(factors, own, estimates) == 0)) {
                bad |= 1u << round;
            }
            if (job.residual) {
                energy += residual_energy(factors, own, estimates);
            }
        }
        // The rows of a warp begin where each thread says; -1 is nowhere.
        float2* const rows = shared + threadIdx.x / 32 * 32 * row;
        const int lane = threadIdx.x % 32;
        const long long place =
            on ? (long long)((group * job.elements + n) * job.layers) : -1;
        __syncwarp();
        CUDAPHY_UNROLL
        for (int t = 0; t < Most; ++t) {
            rows[lane * row + t] = { estimates[t].re, estimates[t].im };
        }
        __syncwarp();
        CUDAPHY_UNROLL
        for (int t = 0; t < Most; ++t) {
            const int index = t * 32 + lane;
            const long long at = __shfl_sync(whole_warp, place, index / Most);
            if (at >= 0 && index % Most < job.layers) {
                job.h[at + index % Most] = rows[index / Most * row + index % Most];
            }
        }
    }
    __syncthreads();
    if (bad) {
        atomicOr(&spoilt[slot], 1);
        const int tone = job.receive * job.layers;
        for (int round = 0; round < rounds; ++round) {
            if (bad >> round & 1) {
                const size_t n = first + round * job.threads + l;
                float2* const to = h + n / job.receive * tone;
                for (int e = 0; e < tone; ++e) {
                    to[e] = { 0, 0 };
                }
            }
        }
    }
    __syncthreads();

    if (!job.residual) {
        // Estimates of this segment are in memory; those of the neighbouring segments may
        // not be, and are computed again.
        const auto estimate_of = [&](size_t n, int t) {
            if (n >= first && n < first + count) {
                const float2 value = h[n * job.layers + t];
                return complex_lane{ value.x, value.y };
            }
            complex_lane sum{ 0, 0 };
            for (int s = 0; s < job.symbols; ++s) {
                sum = add_product(factors.inverse(s, t), received(n, s), sum);
            }
            return sum;
        };
        for (int i = l; i < count; i += job.threads) {
            const size_t n = first + i;
            if (n < job.receive || n + job.receive >= job.elements) {
                continue;
            }
            real difference = 0;
            for (int t = 0; t < job.layers; ++t) {
                difference = add_difference(estimate_of(n - job.receive, t),
                                            estimate_of(n, t),
                                            estimate_of(n + job.receive, t),
                                            job.weights[t],
                                            difference);
            }
            energy += difference;
        }
    }

    sums[threadIdx.x] = energy;
    for (int half = job.threads / 2; half; half /= 2) {
        __syncthreads();
        if (l < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (active && l == 0) {
        if (job.segment_count == 1) {
            put_noise(job, group, sums[threadIdx.x], !spoilt[slot]);
        } else {
            job.energies[piece] = sums[threadIdx.x];
            job.finite[piece] = !spoilt[slot];
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    add_segments(const estimator_job job, size_t groups)
{
    const size_t group = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (group >= groups) {
        return;
    }
    double energy = 0;
    bool finite = true;
    for (int s = 0; s < job.segment_count; ++s) {
        energy += job.energies[group * job.segment_count + s];
        finite = finite && job.finite[group * job.segment_count + s];
    }
    put_noise(job, group, energy, finite);
}

//! What lies on the device for as long as the estimator lives.
struct estimator_memory {
    estimator_memory(const channel_estimator_plan& plan, size_t pieces)
        : factors(plan.rounded()), weights(plan.difference_weights()), energies(pieces),
          finite(pieces)
    {
    }

    device_memory<complex64> factors;
    device_memory<float> weights;
    device_memory<double> energies; // of the pieces of large groups
    device_memory<int> finite;
};

class channel_estimator_cuda : public channel_estimator
{
public:
    channel_estimator_cuda(const channel_estimator_plan& plan, int device)
        : d_plan(plan), d_cut(plan), d_device(device)
    {
        cuda_device_scope scope(device);
        d_memory = std::make_unique<estimator_memory>(plan, several() ? most_pieces : 0);
    }
    ~channel_estimator_cuda() override
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
        const size_t most = several() ? most_pieces / d_cut.count : batch;
        const cuda_device_scope scope(d_device);
        for (size_t done = 0; done < batch; done += most) {
            launch(all.part(item, done, std::min(most, batch - done)), stream_of(queue));
        }
    }

private:
    bool several() const { return d_cut.count > 1; }

    void launch(const estimator_arrays& some, cudaStream_t stream)
    {
        const size_t groups = some.status.size();
        estimator_job job{ reinterpret_cast<const float*>(d_memory->factors.data()),
                           d_memory->weights.data(),
                           reinterpret_cast<const float2*>(some.received.data()),
                           reinterpret_cast<float2*>(some.h.data()),
                           some.n0.data(),
                           some.status.data(),
                           d_memory->energies.data(),
                           d_memory->finite.data(),
                           d_plan.elements(),
                           groups * d_cut.count,
                           d_plan.divisor(),
                           d_plan.receive,
                           d_plan.layers,
                           d_plan.symbols,
                           d_cut.elements,
                           d_cut.count,
                           1,
                           d_plan.residual() };
        while (job.threads < block_threads && size_t(job.threads) < job.elements) {
            job.threads *= 2;
        }
        const size_t a_block = block_threads / job.threads;
        const auto blocks = unsigned((job.pieces + a_block - 1) / a_block);
        if (job.layers == 1) {
            estimate_channels<1><<<blocks, block_threads, 0, stream>>>(job);
        } else if (job.layers == 2) {
            estimate_channels<2><<<blocks, block_threads, 0, stream>>>(job);
        } else if (job.layers <= 4) {
            estimate_channels<4><<<blocks, block_threads, 0, stream>>>(job);
        } else if (job.layers <= 8) {
            estimate_channels<8><<<blocks, block_threads, 0, stream>>>(job);
        } else {
            estimate_channels<16><<<blocks, block_threads, 0, stream>>>(job);
        }
        cuda_check_launch("channel_estimator");
        if (several()) {
            add_segments<<<unsigned((groups + block_threads - 1) / block_threads),
                           block_threads,
                           0,
                           stream>>>(job, groups);
            cuda_check_launch("channel_estimator, sum over segments");
        }
    }

    channel_estimator_plan d_plan;
    segments d_cut;
    int d_device;
    std::unique_ptr<estimator_memory> d_memory;
};

} // namespace

CUDAPHY_CUDA_MAKER_1(channel_estimator, channel_estimator_cuda, channel_estimator_plan)

} // namespace gr::cudaphy::kernels
