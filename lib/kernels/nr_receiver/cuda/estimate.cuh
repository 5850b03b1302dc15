/* SPDX-License-Identifier: GPL-3.0-or-later */
// What the CUDA kernels of the receiver share: one job a user, one state a slot and user.
#pragma once

#include "kernels/common/pi.h"
#include <cstdint>
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels::nr {

constexpr int most_positions = 4, most_sets = 6, most_own_layers = 8, most_symbols = 14;
constexpr int most_candidates = 32;
constexpr int most_taps = 24; // of a filter over frequency, all but in short runs
constexpr int spread_lags = most_taps;

//! pilot_layout::run with the tables that its filter takes: (tables, taps, rows), and
//! (tables, rows) of wiener_table::error and gain.
struct run_cuda {
    int first_tone, tones, first_pilot, pilots, taps, rows;
    const float2* weights;
    const float *error, *gain;
};

//! Whether the products of a run's pilots are fewer than their predictions.
__host__ __device__ inline bool is_long(const run_cuda& run)
{
    return run.taps == spread_lags && run.pilots >= 4 * spread_lags;
}

//! Which tables there are: an index of the spread from `lowest` on, and one of the ratio.
struct table_index {
    int lowest, spreads;
};

//! What the estimator finds in a slot. Zeroed before a slot.
struct slot_state {
    int bad[most_sets]; //!< a sample of the set is not finite
    int usable, present;
    double energy, noise, snr; //!< of an observation
    double delay, spread;      //!< in useful symbols
    double candidate[most_candidates];
    int candidate_table[most_candidates];
    int candidates, upwards; //!< upwards: those above the first one
    int table;
    int known, used; //!< sets that are taken off; and those that tell of noise
    int bundle_tones, bundles;
    double noise_mean;
    int all_colored, colored;   //!< the allocation's covariance; any
    double layer_energy, error; //!< channel_estimate::energy() and error()
    double turns_a_symbol, doppler;
    float2 weights[most_symbols * most_positions]; //!< over time
    float2 phase[most_symbols];                    //!< of PT-RS, else 1
};

//! A user: what stays from slot to slot, and where its slots' values lie. Arrays of
//! values have a first index over slots.
struct estimate_cuda {
    int antennas, layers, symbols, subcarriers;
    int tones, pilots, spacing, groups, length, type_1, positions, sets, runs;
    int first_symbol[most_positions];
    double time[most_positions];
    int group_of[most_own_layers], set_of[most_own_layers], frequency_of[most_own_layers];
    unsigned own, silence; //!< a bit for each set
    int known[most_sets];  //!< ports that are taken off
    float amplitude;       //!< of DM-RS
    int mmse, track_frequency, always_colored;
    double spread_given, doppler_given;
    table_index tables;
    const run_cuda* run;
    const int* run_of_block;
    const uint32_t* dmrs_subcarriers; //!< (groups, 2 pilots)
    const float2* dmrs; //!< (slots of a frame, symbols with DM-RS, 2 pilots)
    const int* data_in_symbol;
    const uint32_t *ptrs, *ptrs_pilot;
    const int* ptrs_begin; //!< (symbols + 1)
    int has_ptrs, ptrs_layer;

    const float2* grid;     //!< (antennas, symbols, subcarriers)
    const int* slot_number; //!< in the frame
    const int* tone_of_subcarrier;
    slot_state* state;
    float2 *z, *residual; //!< (rows, pilots)
    double* sums;         //!< of pilots, (rows, pilot_sums)
    double* errors;       //!< of candidates, (most_candidates, rows)
    double2* lags;        //!< of pilots in long runs, (rows, long_runs, spread_lags)
    int long_runs;
    float2* h;            //!< (positions, layers, antennas, tones)
    double2* products;    //!< of residuals, (bundles, pairs of antennas)
    double* samples;      //!< (bundles)
    double2* total;       //!< of many antennas: all products, (pairs of antennas)
    double2* differences; //!< of many antennas: of covariances, (bundles)
    double2* correlation; //!< (layers · antennas, positions, positions)
    float2* covariance;   //!< (bundles, antennas, antennas)
    double2* ptrs_sums;   //!< (symbols)
    int most_bundles;

    __host__ __device__ int rows() const { return positions * sets * antennas * 2; }
    __host__ __device__ int row(int position, int set, int antenna, int parity) const
    {
        return ((position * sets + set) * antennas + antenna) * 2 + parity;
    }
    __host__ __device__ bool at_many_antennas() const { return antennas > 16; }
    __host__ __device__ int pairs() const { return antennas * (antennas + 1) / 2; }
    __host__ __device__ int comb_start(int group, int parity) const
    {
        return type_1 ? group + 2 * parity : 2 * group + parity;
    }
    //! The values r of DM-RS in a slot.
    __device__ const float2* dmrs_of(int slot) const
    {
        return dmrs + size_t(slot_number[slot]) * positions * length * 2 * pilots;
    }
    __device__ const run_cuda& run_of_tone(int tone) const
    {
        return run[runs == 1 ? 0 : run_of_block[tone / 12]];
    }
};

constexpr int pilot_lags = 10, pilot_sums = 1 + 2 * pilot_lags + 3;

// Steps 1 to 6 of receiver.h, in this order.
void launch_observation(const estimate_cuda&, int slots, cudaStream_t);
void launch_spread(const estimate_cuda&, int slots, cudaStream_t);
void launch_filter(const estimate_cuda&, int slots, cudaStream_t);
void launch_noise(const estimate_cuda&, int slots, cudaStream_t);
void launch_time(const estimate_cuda&, int slots, cudaStream_t);

#ifdef __CUDACC__
namespace {

__device__ __forceinline__ float2 times(float2 a, float2 b)
{
    return { __fmaf_rn(a.x, b.x, -a.y * b.y), __fmaf_rn(a.x, b.y, a.y * b.x) };
}
__device__ __forceinline__ float2 times_conj(float2 a, float2 b)
{
    return { __fmaf_rn(a.x, b.x, a.y * b.y), __fmaf_rn(a.y, b.x, -a.x * b.y) };
}
__device__ __forceinline__ float2 add_product(float2 a, float2 b, float2 c)
{
    c.x = __fmaf_rn(a.x, b.x, c.x);
    c.y = __fmaf_rn(a.x, b.y, c.y);
    c.x = __fmaf_rn(-a.y, b.y, c.x);
    c.y = __fmaf_rn(a.y, b.x, c.y);
    return c;
}

//! exp(-j 2 pi delay tone).
__device__ __forceinline__ float2 delay_phase(double delay, int tone)
{
    const double turns = delay * tone;
    float s, c;
    sincospif(-2 * float(turns - rint(turns)), &s, &c);
    return { c, s };
}

//! The sum over a warp, in its first lane.
template <typename T>
__device__ __forceinline__ T warp_sum(T value)
{
    for (int step = 16; step; step /= 2) {
        value += __shfl_down_sync(0xFFFFFFFFu, value, step);
    }
    return value;
}

//! The sum over a block, in all threads; `shared` has 33 numbers.
__device__ __forceinline__ double block_sum(double value, double* shared)
{
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const double part =
            threadIdx.x < (blockDim.x + 31) / 32 ? shared[threadIdx.x] : 0.0;
        const double sum = warp_sum(part);
        if (threadIdx.x == 0) {
            shared[32] = sum;
        }
    }
    __syncthreads();
    return shared[32];
}

//! frequency_filter.h's, for a run.
__device__ __forceinline__ int
first_tap(const run_cuda& run, int spacing, int start, int tone)
{
    const int before = (tone - start + spacing) / spacing - 1; // rounded down
    const int wanted = before - (run.taps / 2 - 1);
    return max(0, min(wanted, run.pilots - run.taps));
}

__device__ __forceinline__ const float2* weights_of(const run_cuda& run, int table)
{
    return run.weights + size_t(table) * run.taps * run.rows;
}

} // namespace
#endif

} // namespace gr::cudaphy::kernels::nr
