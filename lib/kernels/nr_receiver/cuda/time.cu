/* SPDX-License-Identifier: GPL-3.0-or-later */
// Errors of the estimate, frequency offset, Doppler, the estimate over time, and common
// phases from PT-RS (channel_estimate.cc, time_weights.cc, common_phase.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/phases.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int time_threads = 256, phase_threads = 128;
constexpr double most_doppler = 0.05; // turns a symbol; beyond, DM-RS can't follow

//! A layer's and antenna's estimates a block: their products between positions.
__global__ void __launch_bounds__(time_threads) correlate(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y, row = blockIdx.x, rows = job.layers * job.antennas;
    if (!job.state[slot].usable) {
        return;
    }
    const auto of = [&](int position) {
        return job.h +
               ((size_t(slot) * job.positions + position) * rows + row) * job.tones;
    };
    for (int p = 0; p < job.positions; ++p) {
        for (int q = p; q < job.positions; ++q) {
            const float2 *const a = of(p), *const b = of(q);
            float2 sum{ 0, 0 };
            for (int t = threadIdx.x * job.spacing; t < job.tones;
                 t += time_threads * job.spacing) {
                const float2 product = times_conj(b[t], a[t]);
                sum.x += product.x;
                sum.y += product.y;
            }
            const double re = block_sum(sum.x, shared);
            const double im = block_sum(sum.y, shared);
            if (threadIdx.x == 0) {
                job.correlation[((size_t(slot) * rows + row) * job.positions + p) *
                                    job.positions +
                                q] = { re, im };
            }
        }
    }
}

//! What find_time_weights() takes.
struct between_positions {
    int positions;
    double2 sums[most_positions][most_positions]; // q >= p is filled
    double count;
    __device__ double size(int p, int q) const
    {
        return hypot(sums[p][q].x, sums[p][q].y);
    }
};

__device__ double frequency_of(const estimate_cuda& job, const between_positions& of)
{
    const int n = of.positions;
    double nearest = INFINITY;
    for (int p = 0; p + 1 < n; ++p) {
        nearest = fmin(nearest, job.time[p + 1] - job.time[p]);
    }
    double re = 0, im = 0;
    for (int p = 0; p + 1 < n; ++p) {
        if (job.time[p + 1] - job.time[p] <= nearest) {
            re += of.sums[p][p + 1].x;
            im += of.sums[p][p + 1].y;
        }
    }
    const double turns = atan2(im, re) / (2 * pi * nearest);
    double cross = 0, own = 0;
    for (int p = 0; p < n; ++p) {
        for (int q = p + 1; q < n; ++q) {
            const double distance = job.time[q] - job.time[p];
            double s, c;
            sincospi(-2 * turns * distance, &s, &c);
            const double2 a = of.sums[p][q];
            const double rest = atan2(a.x * s + a.y * c, a.x * c - a.y * s);
            cross += of.size(p, q) * distance * rest;
            own += of.size(p, q) * distance * distance;
        }
    }
    return own > 0 ? turns + cross / (2 * pi * own) : 0;
}

__device__ double
doppler_of(const estimate_cuda& job, const between_positions& of, double noise)
{
    double cross = 0, own = 0;
    for (int p = 0; p < of.positions; ++p) {
        for (int q = p + 1; q < of.positions; ++q) {
            const double energy = 0.5 * (of.sums[p][p].x + of.sums[q][q].x);
            const double clean = energy - of.count * noise;
            if (clean <= of.count * noise) {
                continue;
            }
            const double turns = pi * (job.time[q] - job.time[p]);
            const double squared = turns * turns;
            cross += squared * (1 - of.size(p, q) / clean);
            own += squared * squared;
        }
    }
    return own > 0 && cross > 0 ? fmin(sqrt(cross / own), most_doppler) : 0;
}

//! Weights of the MMSE interpolator, and the error over the channel's energy.
__device__ double mmse_at(const estimate_cuda& job,
                          double time,
                          double doppler,
                          double relative_error,
                          double (&weights)[most_positions])
{
    const int n = job.positions;
    const double noise = fmax(relative_error / (1 - relative_error), 1e-9);
    double a[most_positions][most_positions], cross[most_positions];
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            a[i][j] =
                j0(2 * pi * doppler * (job.time[i] - job.time[j])) + (i == j ? noise : 0);
        }
        weights[i] = cross[i] = j0(2 * pi * doppler * (time - job.time[i]));
    }
    for (int k = 0; k < n; ++k) {
        for (int i = k + 1; i < n; ++i) {
            const double f = a[i][k] / a[k][k];
            for (int j = k; j < n; ++j) {
                a[i][j] -= f * a[k][j];
            }
            weights[i] -= f * weights[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) {
            weights[k] -= a[k][j] * weights[j];
        }
        weights[k] /= a[k][k];
    }
    double explained = 0;
    for (int i = 0; i < n; ++i) {
        explained += weights[i] * cross[i];
        weights[i] /= 1 - relative_error;
    }
    return fmax(0.0, 1 - explained);
}

//! Weights of straight lines, and the factor of the estimates' error.
__device__ double
line_at(const estimate_cuda& job, double time, double (&weights)[most_positions])
{
    const int n = job.positions;
    int behind = 0;
    for (int i = 0; i < n; ++i) {
        weights[i] = 0;
        behind += job.time[i] <= time;
    }
    if (behind == 0 || behind == n) {
        weights[behind ? n - 1 : 0] = 1;
        return 1;
    }
    const double from = job.time[behind - 1];
    const double part = (time - from) / (job.time[behind] - from);
    weights[behind - 1] = 1 - part;
    weights[behind] = part;
    return part * part + (1 - part) * (1 - part);
}

//! channel_estimate::find_errors(): of the estimates at a position.
struct position_errors {
    double energy, noise, error;
};

__device__ position_errors find_errors(const estimate_cuda& job,
                                       const slot_state& state,
                                       double* shared)
{
    double ports = 0, sets = 0;
    for (int set = 0; set < job.sets; ++set) {
        if (job.own >> set & 1) {
            ports += job.known[set] == 3 ? 2 : 1;
            ++sets;
        }
    }
    position_errors out;
    out.energy = state.energy * sets / ports;
    if (!job.mmse) {
        out.noise = out.error = state.noise / 3;
        return out;
    }
    double error = 0, gain = 0;
    for (int at = threadIdx.x; at < job.tones; at += time_threads) {
        const run_cuda& run = job.run_of_tone(at);
        const int tone = at - run.first_tone;
        const int tap = first_tap(run, job.spacing, 0, tone);
        const size_t row =
            size_t(state.table) * run.rows + tone - job.spacing * tap + job.spacing - 1;
        error += run.error[row];
        gain += run.gain[row];
    }
    error = block_sum(error, shared) * state.energy / job.tones;
    gain = block_sum(gain, shared) * state.noise / job.tones;
    out.noise = gain / 2;
    out.error = gain / 2 + fmax(0.0, error - gain) * (3 - ports / sets) / 2;
    return out;
}

//! A slot a block: find_errors() and find_time_weights().
__global__ void __launch_bounds__(time_threads) find_time(const estimate_cuda job)
{
    __shared__ double shared[33];
    __shared__ between_positions products;
    __shared__ double turns, doppler;
    const int slot = blockIdx.x, n = job.positions;
    slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    const auto at_position = find_errors(job, state, shared);
    const int rows = job.layers * job.antennas;
    for (int pair = threadIdx.x / 32; pair < n * n; pair += time_threads / 32) {
        const int p = pair / n, q = pair % n;
        double2 sum{ 0, 0 };
        for (int row = threadIdx.x % 32; q >= p && row < rows; row += 32) {
            const double2 part =
                job.correlation[(size_t(slot) * rows + row) * n * n + pair];
            sum.x += part.x;
            sum.y += part.y;
        }
        sum.x = warp_sum(sum.x);
        sum.y = warp_sum(sum.y);
        if (threadIdx.x % 32 == 0) {
            products.sums[p][q] = sum;
        }
    }
    if (threadIdx.x == 0) {
        products.positions = n;
        products.count = double(rows) * ((job.tones + job.spacing - 1) / job.spacing);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        turns = n > 1 && job.track_frequency ? frequency_of(job, products) : 0;
        doppler = job.doppler_given >= 0 ? fmin(job.doppler_given, most_doppler)
                  : n > 1                ? doppler_of(job, products, at_position.noise)
                                         : 0;
        state.turns_a_symbol = turns;
        state.doppler = doppler;
        state.layer_energy = at_position.energy;
    }
    __syncthreads();
    double energy = 0;
    for (int p = 0; p < n; ++p) {
        energy += products.sums[p][p].x / (products.count * n);
    }
    energy += job.mmse ? at_position.error : -at_position.error;
    const double relative = energy > 0 ? fmin(at_position.error / energy, 0.9) : 0.9;
    double error = 0, count = 0;
    if (threadIdx.x < job.symbols) {
        const int symbol = threadIdx.x;
        double weights[most_positions];
        error = job.mmse
                    ? fmax(energy, 0.0) * mmse_at(job, symbol, doppler, relative, weights)
                    : at_position.error * line_at(job, symbol, weights);
        for (int p = 0; p < n; ++p) {
            double s, c;
            sincospi(2 * turns * (symbol - job.time[p]), &s, &c);
            state.weights[symbol * n + p] = { float(c * weights[p]),
                                              float(s * weights[p]) };
        }
        state.phase[symbol] = { 1, 0 };
        count = job.data_in_symbol[symbol];
        error *= count;
    }
    error = block_sum(error, shared);
    count = block_sum(count, shared);
    if (threadIdx.x == 0) {
        state.error = error / count;
    }
}

//! A symbol a block: PT-RS against the estimate.
__global__ void __launch_bounds__(phase_threads) sum_ptrs(const estimate_cuda job)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y, symbol = blockIdx.x;
    const slot_state& state = job.state[slot];
    if (!state.usable) {
        return;
    }
    double2 sum{ 0, 0 };
    for (int i = job.ptrs_begin[symbol] + threadIdx.x; i < job.ptrs_begin[symbol + 1];
         i += phase_threads) {
        const uint32_t element = job.ptrs[i];
        const int tone = job.tone_of_subcarrier[element % job.subcarriers];
        const float2 sent = job.dmrs_of(slot)[job.ptrs_pilot[i]];
        float2 own{ 0, 0 };
        for (int a = 0; a < job.antennas; ++a) {
            float2 h{ 0, 0 };
            for (int p = 0; p < job.positions; ++p) {
                const size_t row =
                    ((size_t(slot) * job.positions + p) * job.layers + job.ptrs_layer) *
                        job.antennas +
                    a;
                h = add_product(state.weights[symbol * job.positions + p],
                                job.h[row * job.tones + tone],
                                h);
            }
            const float2 y = job.grid[(size_t(slot) * job.antennas + a) * job.symbols *
                                          job.subcarriers +
                                      element];
            const float2 part = times_conj(y, times(h, sent));
            own.x += part.x;
            own.y += part.y;
        }
        if (isfinite(own.x) && isfinite(own.y)) {
            sum.x += own.x;
            sum.y += own.y;
        }
    }
    const double re = block_sum(sum.x, shared), im = block_sum(sum.y, shared);
    if (threadIdx.x == 0) {
        job.ptrs_sums[size_t(slot) * job.symbols + symbol] = { re, im };
    }
}

//! A slot a thread.
__global__ void find_phases(const estimate_cuda job, int slots)
{
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= slots || !job.state[slot].usable) {
        return;
    }
    dmrs_times dmrs{ job.positions, {} };
    for (int p = 0; p < job.positions; ++p) {
        dmrs.time[p] = job.time[p];
    }
    find_phases_between(
        dmrs,
        job.symbols,
        [&](int symbol) { return job.ptrs_sums[size_t(slot) * job.symbols + symbol]; },
        [&](int symbol, double phase) {
            double s, c;
            sincos(phase, &s, &c);
            job.state[slot].phase[symbol] = { float(c), float(s) };
        });
}

} // namespace

void launch_time(const estimate_cuda& job, int slots, cudaStream_t stream)
{
    correlate<<<dim3(job.layers * job.antennas, slots), time_threads, 0, stream>>>(job);
    find_time<<<slots, time_threads, 0, stream>>>(job);
    if (job.has_ptrs) {
        sum_ptrs<<<dim3(job.symbols, slots), phase_threads, 0, stream>>>(job);
        find_phases<<<(slots + 31) / 32, 32, 0, stream>>>(job, slots);
    }
    cuda_check_launch("nr receiver, estimate over time");
}

} // namespace gr::cudaphy::kernels::nr
