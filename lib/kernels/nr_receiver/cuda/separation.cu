/* SPDX-License-Identifier: GPL-3.0-or-later */
// Up to 4 antennas and 4 layers: from the estimates to separated layers without a channel
// matrix in memory, by the equalizer's elimination (solve-inl.h).
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer/device.cuh"
#include "kernels/nr_receiver/cuda/layers.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

//! So many blocks of a multiprocessor need no register less than 4 x 4 take without
//! spilling, and hide each other's loads.
constexpr int separation_blocks = 6;

//! The channel at an antenna of all layers, by columns.
template <typename Antennas>
__device__ void
find_channel(const layers_cuda& job,
             Antennas size,
             int slot,
             int symbol,
             int subcarrier,
             complex_lane (&q)[Antennas::most_layers][Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int t = 0; t < size.layers(); ++t) {
        CUDAPHY_UNROLL
        for (int r = 0; r < size.receive(); ++r) {
            q[t][r] = { 0, 0 };
        }
    }
    int column = 0;
    for (int i = 0; i < job.senders; ++i) {
        const auto& from = job.sender[i];
        const slot_state& state = from.state[slot];
        const int tone = state.usable ? from.tone_of_subcarrier[subcarrier] : -1;
        if (tone >= 0) {
            const float2 phase = state.phase[symbol];
            for (int p = 0; p < from.positions; ++p) {
                const float2 weight =
                    times(phase, state.weights[symbol * from.positions + p]);
                const size_t links = size_t(from.layers) * job.antennas;
                const float2* const h =
                    from.h + (size_t(slot) * from.positions + p) * links * from.tones +
                    tone;
                CUDAPHY_UNROLL
                for (int t = 0; t < size.layers(); ++t) {
                    const int layer = t - column;
                    CUDAPHY_UNROLL
                    for (int r = 0; r < size.receive(); ++r) {
                        if (layer >= 0 && layer < from.layers && r < job.antennas) {
                            const float2 sum = add_product(
                                weight,
                                h[size_t(layer * job.antennas + r) * from.tones],
                                float2{ q[t][r].re, q[t][r].im });
                            q[t][r] = { sum.x, sum.y };
                        }
                    }
                }
            }
        }
        column += from.layers;
    }
}

//! Layers of an element, which lie together: as few stores as there may be.
template <typename Antennas>
__device__ void store(Antennas size,
                      int layers,
                      const complex_lane (&x)[Antennas::most_layers],
                      const float (&noise)[Antennas::most_layers],
                      float2* to,
                      float* noise_to)
{
    constexpr int most = Antennas::most_layers;
    if constexpr (most % 2 == 0) {
        if (layers == most) {
            CUDAPHY_UNROLL
            for (int t = 0; t < most; t += 2) {
                reinterpret_cast<float4*>(
                    to)[t / 2] = { x[t].re, x[t].im, x[t + 1].re, x[t + 1].im };
                reinterpret_cast<float2*>(noise_to)[t / 2] = { noise[t], noise[t + 1] };
            }
            return;
        }
    }
    CUDAPHY_UNROLL
    for (int t = 0; t < size.layers(); ++t) {
        if (t < layers) {
            to[t] = { x[t].re, x[t].im };
            noise_to[t] = noise[t];
        }
    }
}

// An element of a slot a thread; its layers are the first ones.
template <typename Antennas>
__global__ void __launch_bounds__(separation_threads, separation_blocks)
    separate(const layers_cuda job, const codeword_layers_cuda of)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y;
    constexpr int warp = separation_warp;
    const int turn = (blockIdx.x * separation_threads + threadIdx.x) / warp;
    const int at =
        turn * warp < job.data ? job.warp[turn] * warp + threadIdx.x % warp : job.data;
    const slot_state& own = job.sender[0].state[slot];
    if (!own.usable) {
        return;
    }
    const Antennas size{ job.antennas, job.layers };
    float capacity = 0;
    if (at < job.data) {
        const uint32_t element = job.element[at];
        const int symbol = element / job.subcarriers;
        const int subcarrier = element - symbol * job.subcarriers;
        complex_lane y[Antennas::most_receive];
        CUDAPHY_UNROLL
        for (int r = 0; r < size.receive(); ++r) {
            y[r] = { 0, 0 };
            if (r < job.antennas) {
                y[r] = lane_of(job.grid[(size_t(slot) * job.antennas + r) * job.symbols *
                                            job.subcarriers +
                                        element]);
            }
        }
        complex_lane q[Antennas::most_layers][Antennas::most_receive];
        find_channel(job, size, slot, symbol, subcarrier, q);
        const float error = float(error_of(job, slot));
        float n0 = float(own.noise_mean) + error;
        if (own.colored && !job.always_white) {
            const int tone = job.sender[0].tone_of_subcarrier[subcarrier];
            const float2* const from = job.covariance + (size_t(slot) * job.most_bundles +
                                                         tone / own.bundle_tones) *
                                                            job.antennas * job.antennas;
            lane_whitener<Antennas> whitener;
            find_whitener(
                size,
                [&](int r, int c) {
                    if (r >= job.antennas) { // padding
                        return complex_lane{ r == c ? 1.0f : 0.0f, 0.0f };
                    }
                    complex_lane value = lane_of(from[r * job.antennas + c]);
                    value.re += r == c ? error : 0.0f;
                    return value;
                },
                whitener);
            whiten(size, whitener, y);
            CUDAPHY_UNROLL
            for (int t = 0; t < size.layers(); ++t) {
                whiten(size, whitener, q[t]);
            }
            n0 = whitener.usable ? 1.0f : float_infinity;
        }
        complex_lane x[Antennas::most_layers];
        lane_solution<Antennas> solution;
        solve<true>(
            size,
            method{ true, true, false, 0.0f },
            n0,
            q,
            solution,
            [&](int k,
                const complex_lane* column,
                const complex_lane* below,
                float last) { project<true>(size, k, column, below, last, y, x); });
        const size_t to = (size_t(slot) * job.data + at) * of.layers;
        float noise[Antennas::most_layers];
        CUDAPHY_UNROLL
        for (int t = 0; t < size.layers(); ++t) {
            if (t < of.layers) {
                layer_of(solution, t, x[t], noise[t]);
                capacity += log2f(1 + 1 / fmaxf(noise[t], 1e-12f));
            }
        }
        store(size, of.layers, x, noise, job.x + to, job.noise + to);
    }
    const double sum = block_sum(capacity, shared);
    if (threadIdx.x == 0) {
        of.capacity[size_t(slot) * gridDim.x + blockIdx.x] = sum;
    }
}

template <typename Antennas>
void launch(const layers_cuda& job,
            const codeword_layers_cuda& of,
            int slots,
            cudaStream_t stream)
{
    separate<Antennas>
        <<<dim3(capacity_parts_of(job), slots), separation_threads, 0, stream>>>(job, of);
}

} // namespace

bool separates_in_registers(const layers_cuda& job)
{
    return job.antennas <= 4 && job.layers <= 4;
}

int capacity_parts_of(const layers_cuda& job)
{
    return separates_in_registers(job)
               ? (job.data + separation_threads - 1) / separation_threads
               : select_parts;
}

void launch_separation(const layers_cuda& job,
                       const codeword_layers_cuda& of,
                       int slots,
                       cudaStream_t stream)
{
    const auto are = [&](int nr, int nt) {
        return job.antennas == nr && job.layers == nt;
    };
    if (are(1, 1)) {
        launch<antennas<1, 1>>(job, of, slots, stream);
    } else if (are(2, 1)) {
        launch<antennas<2, 1>>(job, of, slots, stream);
    } else if (are(2, 2)) {
        launch<antennas<2, 2>>(job, of, slots, stream);
    } else if (are(4, 1)) {
        launch<antennas<4, 1>>(job, of, slots, stream);
    } else if (are(4, 2)) {
        launch<antennas<4, 2>>(job, of, slots, stream);
    } else if (are(4, 4)) {
        launch<antennas<4, 4>>(job, of, slots, stream);
    } else {
        launch<padded_antennas<4, 4>>(job, of, slots, stream);
    }
    cuda_check_launch("nr receiver, separation of layers");
}

} // namespace gr::cudaphy::kernels::nr
