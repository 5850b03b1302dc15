/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/cuda_check.cuh"
#include "kernels/fdtd/stepper/lane.h"
#include "kernels/fdtd/tuning.cuh"

// One launch does all time steps of a call; all its blocks are resident at once
// (cooperative launch) and wait for each other between updates.
//
// This kernel serves compressed rows and diagonals of any size. It also serves a
// dictionary or subdivided rows that neither fit on the chip (onchip.cuh) nor exceed all
// caches (large.cuh). A block fetches its part of the matrix before it waits. It waits at
// a counter, once an update. But if every block has at most one tile of an update,
// waiting is all that counts: then it waits for its neighbours only, by flags in L2. Such
// a wait takes about 1 us from one block's last store to another block's first load.

namespace gr::cudaphy::kernels {
namespace {

using tuning = fdtd_tuning::stepper;

constexpr int threads = tuning::threads;
template <typename T>
constexpr int rows_a_lane = tuning::bytes_a_lane / sizeof(T);
constexpr int flag_stride = 32; //!< 128 bytes: a flag has a line of its own
constexpr unsigned long long never = ~0ull;

//! What the stepper keeps from call to call.
struct record {
    int64_t done;                //!< time steps since the last reset
    int64_t status;              //!< -1, or the number of sound time steps
    unsigned long long bad_step; //!< of this call: the first with a probe not finite
    int bad_state;               //!< an element of the state is not finite
    unsigned stamp; //!< of the last words that an on-chip system published, in any call
};

struct arrivals {
    unsigned* flags;      //!< of each block: phases done; one more is the counter
    const int32_t* start; //!< of each block's neighbours; null: all wait for all
    const int32_t* neighbours;
};

__device__ unsigned load_acquire(const unsigned* from)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(from)
                 : "memory");
    return value;
}

__device__ void store_release(unsigned* to, unsigned value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ void add_release(unsigned* to)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(1u)
                 : "memory");
}

template <typename T>
struct arguments {
    fdtd_tables<T, fdtd_pointer> tables;
    fdtd_step<T> first;
    unsigned steps;
    int phases;
    arrivals arrived;
    record* kept;
};

template <typename T, sparse_format Format>
__global__ void __launch_bounds__(threads, tuning::blocks_a_multiprocessor)
    run_steps(const __grid_constant__ arguments<T> a)
{
    __shared__ fdtd_phase some_phases[tuning::shared_phases];
    if (a.kept->status >= 0) {
        return; // all blocks do
    }
    const bool shared = a.phases <= tuning::shared_phases;
    for (int p = threadIdx.x; shared && p < a.phases; p += threads) {
        some_phases[p] = a.tables.phases[p];
    }
    __syncthreads();
    const fdtd_phase* const phases = shared ? some_phases : a.tables.phases;

    auto* const flags = a.arrived.flags;
    auto* const counter = flags + size_t(gridDim.x) * flag_stride;
    const bool everybody = !a.arrived.start;
    // Each thread looks at one neighbour at most: there are fewer than threads.
    const unsigned* neighbour = nullptr;
    if (!everybody) {
        const auto place = a.arrived.start[blockIdx.x] + int(threadIdx.x);
        if (place < a.arrived.start[blockIdx.x + 1]) {
            neighbour = flags + size_t(a.arrived.neighbours[place]) * flag_stride;
        }
    } else if (threadIdx.x == 0) {
        neighbour = counter;
    }
    unsigned done = 0; // phases; counts past 2^32, as the differences below allow
    const auto wait = [&] {
        if (neighbour) {
            const auto target = everybody ? done * gridDim.x : done;
            while (int(load_acquire(neighbour) - target) < 0) {
            }
        }
        __syncthreads();
    };
    const auto arrive = [&] {
        ++done;
        __syncthreads();
        if (threadIdx.x == 0) {
            everybody ? add_release(counter)
                      : store_release(flags + size_t(blockIdx.x) * flag_stride, done);
        }
    };

    __shared__ fdtd_fetched_mark<T> marks[threads][rows_a_lane<T>];
    fdtd_lane<T, Format, rows_a_lane<T>> lane(
        a.tables, threadIdx.x / 32, threads / 32, threadIdx.x % 32, marks[threadIdx.x]);
    __shared__ fdtd_pending<T> all_pending[threads];
    fdtd_pending<T>& pending = all_pending[threadIdx.x];
    pending = { -1, 0 };
    for (unsigned s = 0; s < a.steps; ++s) {
        const auto step = a.first.at(s);
        const auto not_finite = [&] {
            atomicMin(&a.kept->bad_step, static_cast<unsigned long long>(s));
        };
        for (int p = 0; p < a.phases; ++p) {
            if (phases[p].between) {
                wait();
                if (blockIdx.x == 0) {
                    lane.between(phases[p], step, threadIdx.x, threads, not_finite);
                }
            } else {
                lane.update(
                    phases[p], step, blockIdx.x, gridDim.x, pending, wait, not_finite);
            }
            arrive();
            lane.write(step, pending, not_finite);
        }
    }
}

constexpr int scan_threads = tuning::scan_threads;

template <typename T>
__global__ void examine(const T* state, int64_t size, record* kept)
{
    bool finite = true;
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (auto i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += stride) {
        finite = finite && fdtd_is_finite(state[i]);
    }
    if (!finite) {
        kept->bad_state = 1;
    }
}

//! Concludes a call; for one block.
template <typename T>
__global__ void conclude(record* kept,
                         size_t steps,
                         unsigned phases,
                         T* probes,
                         size_t probe_count,
                         int64_t* status)
{
    __shared__ size_t good;
    if (threadIdx.x == 0) {
        good = steps;
        // A call that did nothing published nothing.
        kept->stamp += kept->status < 0 ? unsigned(steps) * phases : 0;
        if (kept->status >= 0) {
            good = 0;
        } else if (kept->bad_step != never) {
            good = kept->bad_step;
            kept->status = kept->done + int64_t(good);
        } else if (kept->bad_state) {
            kept->status = kept->done;
        }
        kept->done += int64_t(steps);
        kept->bad_step = never;
        kept->bad_state = 0;
        *status = kept->status;
    }
    __syncthreads();
    for (auto i = good * probe_count + threadIdx.x; i < steps * probe_count;
         i += blockDim.x) {
        probes[i] = 0;
    }
}

template <typename T>
__global__ void clear(T* state, int64_t size, record* kept)
{
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    const auto first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    for (auto i = first; i < size; i += stride) {
        state[i] = 0;
    }
    if (first == 0) {
        *kept = { 0, -1, never, 0, kept->stamp };
    }
}

template <typename T>
__global__ void put(T* state, const T* values, int64_t count)
{
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (auto i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        state[i] = fdtd_settled(values[i]);
    }
}

template <typename T>
__global__ void
pick(const T* state, int64_t size, const int32_t* elements, T* values, int64_t count)
{
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (auto i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        const auto element = elements[i];
        values[i] =
            element >= 0 && element < size ? state[element] : fdtd_numbers<T>::nan;
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
