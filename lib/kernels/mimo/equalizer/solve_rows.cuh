/* SPDX-License-Identifier: GPL-3.0-or-later */
// Moves of rows that follow one another, by a warp, and of a thread's own rows to and
// from registers.
#pragma once

#include "kernels/mimo/equalizer/device.cuh"

namespace gr::cudaphy::kernels {
namespace {

//! Reads rows of `width` elements, `count` elements in all, to shared memory at an odd
//! pitch; the warp reads consecutive elements together. The width is a constant if the
//! caller knows it.
CUDAPHY_LANE void read_consecutive(const float2* from, int width, int count, float2* rows)
{
    const int lane = threadIdx.x % 32;
    CUDAPHY_UNROLL
    for (int i = 0; i < width; ++i) {
        const int index = i * 32 + lane;
        if (index < count) {
            const int row = index / width;
            rows[row * (width | 1) + index - row * width] = from[index];
        }
    }
}

template <typename T>
CUDAPHY_LANE void write_consecutive(const T* rows, int width, int count, T* to)
{
    const int lane = threadIdx.x % 32;
    CUDAPHY_UNROLL
    for (int i = 0; i < width; ++i) {
        const int index = i * 32 + lane;
        if (index < count) {
            const int row = index / width;
            to[index] = rows[row * (width | 1) + index - row * width];
        }
    }
}

//! The antennas and the layers that are no padding: constants if the type says so.
template <typename Antennas>
CUDAPHY_LANE int receive_of(const Antennas&, const cuda_job& job)
{
    return Antennas::is_padded ? job.receive : Antennas::most_receive;
}
template <typename Antennas>
CUDAPHY_LANE int layers_of(const Antennas&, const cuda_job& job)
{
    return Antennas::is_padded ? job.layers : Antennas::most_layers;
}

//! Loads a thread's own channel matrix in columns, whitened if there is a covariance.
template <typename Antennas>
CUDAPHY_LANE void
load_columns(Antennas size,
             int nr,
             int nt,
             const float2* own,
             complex_lane (&q)[Antennas::most_layers][Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int r = 0; r < size.receive(); ++r) {
        CUDAPHY_UNROLL
        for (int t = 0; t < size.layers(); ++t) {
            q[t][r] = { 0, 0 };
            if (r < nr && t < nt) {
                q[t][r] = lane_of(own[r * nt + t]);
            }
        }
    }
}

template <typename Antennas>
CUDAPHY_LANE void load_received(Antennas size,
                                int nr,
                                const float2* own,
                                complex_lane (&y)[Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int r = 0; r < size.receive(); ++r) {
        y[r] = { 0, 0 };
        if (r < nr) {
            y[r] = { own[r].x, own[r].y };
        }
    }
}

//! Stores the layers x from project() in the thread's own rows.
template <typename Antennas>
CUDAPHY_LANE void store_layers(Antennas size,
                               int nt,
                               const lane_solution<Antennas>& from,
                               const complex_lane* found,
                               float2* own_x,
                               float* own_noise)
{
    CUDAPHY_UNROLL
    for (int t = 0; t < size.layers(); ++t) {
        if (t < nt) {
            complex_lane x = found[t];
            float noise;
            layer_of(from, t, x, noise);
            own_x[t] = { x.re, x.im };
            own_noise[t] = noise;
        }
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
