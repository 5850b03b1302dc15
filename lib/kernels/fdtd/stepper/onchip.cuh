/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include "kernels/fdtd/stepper/kernels.cuh"
#include "kernels/fdtd/stepper/onchip_lane.h"
#include <algorithm>
#include <cuda_pipeline.h>

// The kernel for small systems; onchip.h says how its blocks share a system.

namespace gr::cudaphy::kernels {
namespace {

//! Words in device memory. A word is moved whole, and a store waits for the branches
//! before it, so that no further order is needed. An acquire or a release would take
//! longer than the word's way through L2.
struct outside_block {
    uint64_t* words;

    __device__ uint64_t read(size_t at) const
    {
        uint64_t value;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                     : "=l"(value)
                     : "l"(words + at)
                     : "memory");
        return value;
    }
    __device__ void write(size_t at, uint64_t value) const
    {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + at), "l"(value)
                     : "memory");
    }
    template <typename T>
    __device__ void ask_for(T* to, const T* from) const
    {
        __pipeline_memcpy_async(to, from, sizeof(T));
        __pipeline_commit();
    }
    __device__ void wait() const { __pipeline_wait_prior(0); }
};

// What a thread holds of a phase in its registers.
constexpr int onchip_rows = tuning::onchip_rows, onchip_imports = tuning::onchip_imports;
constexpr int onchip_phases = 2; //!< a Yee grid's without absorbing layers
template <typename T>
constexpr int onchip_threads = tuning::onchip_threads(sizeof(T)); //!< of a block at most

template <typename T>
struct onchip_arguments {
    fdtd_onchip_tables<T, fdtd_pointer> tables;
    fdtd_step<T> first;
    unsigned steps;
    int places; //!< of a block's memory for the state; excitations follow
    outside_block outside;
    unsigned* loaded; //!< number of blocks that have read their part of the state
    record* kept;
};

template <typename T>
__global__ void __launch_bounds__(onchip_threads<T>, 1)
    run_onchip_steps(const __grid_constant__ onchip_arguments<T> a)
{
    extern __shared__ __align__(16) unsigned char shared[];
    T* const local = reinterpret_cast<T*>(shared);
    T* const drives = local + a.places;
    if (a.kept->status >= 0) {
        return; // all blocks do
    }
    auto stamp = a.kept->stamp;
    fdtd_onchip_lane<T, onchip_phases, onchip_rows, onchip_imports> lane(
        a.tables, blockIdx.x, gridDim.x, threadIdx.x, blockDim.x);
    lane.begin(a.first, a.outside, local, drives, blockIdx.x, gridDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(a.loaded);
    }
    for (unsigned s = 0; s < a.steps; ++s) {
        const auto step = a.first.at(s);
        const auto not_finite = [&] {
            atomicMin(&a.kept->bad_step, static_cast<unsigned long long>(s));
        };
#pragma unroll
        for (int p = 0; p < onchip_phases; ++p) {
            if (s > 0 || p > 0) {
                auto missing = lane.imports(p);
                while (missing) {
                    missing = lane.take(p, stamp, a.outside, local, missing);
                }
            }
            __syncthreads();
            lane.update(
                p, step, s + 1 < a.steps, ++stamp, a.outside, local, drives, not_finite);
        }
    }
    // This block may be done before another has begun to read the state.
    if (threadIdx.x == 0) {
        while (load_acquire(a.loaded) < gridDim.x) {
        }
    }
    __syncthreads();
    lane.end(a.first.state, local);
}

//! A small system on the device that is current when it is made.
template <typename T>
class onchip_system
{
public:
    //! \returns null if the system does not fit, or the proof of its tables fails
    static std::unique_ptr<onchip_system>
    make(const fdtd_system<T>& system, const fdtd_plan<T>& plan, int device)
    {
        const auto attribute = [&](cudaDeviceAttr which) {
            int value = 0;
            cuda_check(cudaDeviceGetAttribute(&value, which, device),
                       "cudaDeviceGetAttribute");
            return value;
        };
        constexpr int64_t rows_a_block = tuning::onchip_block_rows;
        int64_t rows = 1;
        for (const auto& update : system.updates) {
            rows = std::max(rows, update.matrix.rows);
        }
        const auto blocks = std::min<int64_t>(attribute(cudaDevAttrMultiProcessorCount),
                                              (rows + rows_a_block - 1) / rows_a_block);
        const auto bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
        const auto found = fdtd_onchip_plan<T>::make(
            system,
            plan,
            int32_t(blocks),
            { onchip_threads<T>, onchip_rows, onchip_imports, onchip_phases, bytes });
        if (!found || !found->proved()) {
            return nullptr;
        }
        cuda_check(
            cudaFuncSetAttribute(run_onchip_steps<T>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
            "fdtd_stepper: shared memory");
        int each = 0;
        cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                       &each, run_onchip_steps<T>, found->threads, found->shared_bytes()),
                   "fdtd_stepper: occupancy");
        return each > 0 ? std::unique_ptr<onchip_system>(new onchip_system(*found))
                        : nullptr;
    }

    void run(fdtd_step<T> first, unsigned steps, record* kept, cudaStream_t stream)
    {
        cuda_check(cudaMemsetAsync(d_loaded.data(), 0, sizeof(unsigned), stream),
                   "fdtd_stepper: counter");
        onchip_arguments<T> a{ { d_blocks.data(),
                                 d_parts.data(),
                                 d_elements.data(),
                                 d_rows.data(),
                                 d_imports.data(),
                                 d_specials.data(),
                                 d_rest.data(),
                                 d_marks.data(),
                                 d_sources.data(),
                                 d_probes.data() },
                               first,
                               steps,
                               d_places,
                               { d_words.data() },
                               d_loaded.data(),
                               kept };
        void* all[] = { &a };
        cuda_check(
            cudaLaunchCooperativeKernel(reinterpret_cast<void*>(run_onchip_steps<T>),
                                        dim3(d_block_count),
                                        dim3(d_threads),
                                        all,
                                        d_shared_bytes,
                                        stream),
            "fdtd_stepper: run_onchip_steps");
        cuda_check_launch("fdtd_stepper: run_onchip_steps");
    }

private:
    explicit onchip_system(const fdtd_onchip_plan<T>& plan)
        : d_block_count(plan.blocks), d_threads(plan.threads), d_places(plan.places),
          d_shared_bytes(plan.shared_bytes()), d_blocks(plan.tables.blocks),
          d_parts(plan.tables.parts), d_elements(plan.tables.elements),
          d_rows(plan.tables.rows), d_imports(plan.tables.imports),
          d_specials(plan.tables.specials), d_rest(plan.tables.rest),
          d_marks(plan.tables.marks), d_sources(plan.tables.sources),
          d_probes(plan.tables.probes),
          d_words(std::vector<uint64_t>(size_t(plan.words) * sizeof(T) / 4)),
          d_loaded(size_t{ 1 })
    {
    }

    const int d_block_count, d_threads, d_places;
    const size_t d_shared_bytes;
    const device_memory<fdtd_onchip_block> d_blocks;
    const device_memory<fdtd_onchip_part> d_parts;
    const device_memory<int32_t> d_elements;
    const device_memory<fdtd_onchip_row<T>> d_rows;
    const device_memory<fdtd_onchip_import> d_imports;
    const device_memory<fdtd_onchip_special> d_specials;
    const device_memory<fdtd_onchip_entry<T>> d_rest;
    const device_memory<fdtd_mark> d_marks;
    const device_memory<fdtd_source<T>> d_sources;
    const device_memory<fdtd_probe<T>> d_probes;
    const device_memory<uint64_t> d_words;
    const device_memory<unsigned> d_loaded;
};

} // namespace
} // namespace gr::cudaphy::kernels
