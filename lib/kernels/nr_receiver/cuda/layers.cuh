/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/nr_receiver/cuda/estimate.cuh"

namespace gr::cudaphy::kernels::nr {

constexpr int most_together = 16, most_codewords = 2;

//! A channel that sends on a user's resource blocks.
struct sender_cuda {
    const slot_state* state;
    const float2* h; //!< as estimate_cuda::h
    const int* tone_of_subcarrier;
    int positions, layers, tones;
};

//! From channels, over the data of one user, to separated layers: arrays with a first
//! index over slots.
struct layers_cuda {
    int antennas, layers, symbols, subcarriers;
    int data; //!< elements
    int senders;
    sender_cuda sender[most_together]; //!< itself first
    const uint32_t* element;           //!< (data)
    const int* warp; //!< the order in which launch_separation() takes warps of them
    const float2* grid;
    const float2* covariance; //!< estimate_cuda::covariance
    int most_bundles;
    int always_white;
    float* n0;                                //!< (1)
    float2 *received, *channel, *covariances; //!< (data, ...); covariances may be null
    float2* x;                                //!< (data, layers)
    float* noise;                             //!< (data, layers)
};

//! The layers of one codeword among them.
struct codeword_layers_cuda {
    int first, layers;
    float2* x; //!< (data, layers of the codeword); null: all are the codeword's
    float* noise;
    double* capacity; //!< bits of all symbols, in parts, (capacity_parts_of())
};

constexpr int select_parts = 32, separation_threads = 128, separation_warp = 32;

//! launch_separation() takes these numbers of antennas and layers.
bool separates_in_registers(const layers_cuda&);
//! The parts of the capacity that launch_separation() or launch_select() gives.
int capacity_parts_of(const layers_cuda&);
//! In one step; all layers of x and noise are the codeword's, which are the first ones.
void launch_separation(const layers_cuda&,
                       const codeword_layers_cuda&,
                       int slots,
                       cudaStream_t);

//! What the equalizer of up to 16 antennas takes: received vectors, channels, noise.
void launch_gather(const layers_cuda&, int slots, cudaStream_t);
//! After the equalizer: the codeword's layers, and their capacity.
void launch_select(const layers_cuda&,
                   const codeword_layers_cuda&,
                   int slots,
                   cudaStream_t);

#ifdef __CUDACC__
namespace {

constexpr double least_noise_of_layer = 1e-9; // over a layer's energy

//! Errors of all estimates, which count as noise.
__device__ __forceinline__ double error_of(const layers_cuda& job, int slot)
{
    double error = least_noise_of_layer * job.sender[0].state[slot].layer_energy;
    for (int i = 0; i < job.senders; ++i) {
        const auto& from = job.sender[i];
        error += from.state[slot].usable ? from.layers * from.state[slot].error : 0;
    }
    return error;
}

//! The channel of an element at an antenna: a row of all layers.
__device__ __forceinline__ void find_channel_row(
    const layers_cuda& job, int slot, int symbol, int subcarrier, int antenna, float2* to)
{
    for (int i = 0; i < job.senders; ++i) {
        const auto& from = job.sender[i];
        const slot_state& state = from.state[slot];
        const int tone = state.usable ? from.tone_of_subcarrier[subcarrier] : -1;
        const float2 phase = state.phase[symbol];
        for (int layer = 0; layer < from.layers; ++layer) {
            float2 h{ 0, 0 };
            for (int p = 0; p < from.positions && tone >= 0; ++p) {
                const size_t row =
                    ((size_t(slot) * from.positions + p) * from.layers + layer) *
                        job.antennas +
                    antenna;
                h = add_product(times(phase, state.weights[symbol * from.positions + p]),
                                from.h[row * from.tones + tone],
                                h);
            }
            *to++ = h;
        }
    }
}

} // namespace
#endif

} // namespace gr::cudaphy::kernels::nr
