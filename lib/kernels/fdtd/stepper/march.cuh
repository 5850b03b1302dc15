/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include "kernels/fdtd/stepper/kernels.cuh"
#include "kernels/fdtd/stepper/march_lane.h"
#include <algorithm>
#include <memory>

// Two time steps a launch, from one copy of the state to another, of a system that is a
// grid. Blocks do not wait for each other.

namespace gr::cudaphy::kernels {
namespace {

struct march_shape {
    int tiles_z, tiles, planes;
    const int32_t* order; //!< of the blocks: part * tiles + tile
};

template <typename T, bool Layers, int Height, int Width, int BlocksAMultiprocessor>
__global__ void __launch_bounds__(Height* Width, BlocksAMultiprocessor)
    run_march(const __grid_constant__ fdtd_march_pass<T> pass,
              march_shape shape,
              record* kept)
{
    using lane_type = fdtd_march_lane<T, Layers, Height, Width>;
    extern __shared__ __align__(16) unsigned char march_shared[];
    if (kept->status >= 0) {
        return;
    }
    T* const shared = reinterpret_cast<T*>(march_shared);
    for (int i = threadIdx.x; i < lane_type::shared; i += Height * Width) {
        shared[i] = 0;
    }
    const int block = shape.order[blockIdx.x];
    const int tile = block % shape.tiles, x = block / shape.tiles * shape.planes;
    lane_type lane(pass,
                   threadIdx.x,
                   tile / shape.tiles_z * (Height - 2 * lane_type::halo),
                   tile % shape.tiles_z * (Width - 2 * lane_type::halo),
                   x,
                   min(x + shape.planes, pass.grid.nx),
                   shared);
    const auto not_finite = [&](unsigned step) {
        atomicMin(&kept->bad_step, static_cast<unsigned long long>(step));
    };
    __syncthreads();
    lane.start();
    __syncthreads();
    const int end = lane.end();
#pragma unroll 1
    for (int k = lane.begin(); k < end; ++k) {
        lane.first(k, not_finite);
        __syncthreads();
        lane.second(k, not_finite);
        __syncthreads();
    }
}

template <typename T>
struct march_choice {
    void (*kernel)(fdtd_march_pass<T>, march_shape, record*);
    int height, width;
    size_t shared;

    template <bool Layers, typename Shape>
    static march_choice of()
    {
        constexpr int height = Shape::height, width = Shape::width;
        return { run_march<T, Layers, height, width, Shape::blocks_a_multiprocessor>,
                 height,
                 width,
                 sizeof(T) * fdtd_march_lane<T, Layers, height, width>::shared };
    }
    static march_choice of(bool layers)
    {
        return layers ? of<true, tuning::march_layers<sizeof(T)>>()
                      : of<false, tuning::march<sizeof(T)>>();
    }
};

template <typename T>
class march_system
{
public:
    static constexpr unsigned steps = 4; //!< of a run: two passes, there and back

    //! Nothing if the system is no grid of cells that are mostly alike, or the device has
    //! too little memory left.
    static std::unique_ptr<march_system>
    make(const fdtd_system<T>& system, int device, double least_share)
    {
        const auto plan = fdtd_march_plan<T>::make(system);
        if (!plan || plan->share < least_share) {
            return {};
        }
        size_t available = 0, total = 0;
        cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
        const size_t needed = bytes_of(plan->tables) + sizeof(T) * size_t(system.size);
        if (needed + needed / 8 > available) {
            return {};
        }
        return std::unique_ptr<march_system>(new march_system(*plan, system, device));
    }

    size_t matrix_bytes() const { return d_matrix_bytes; }

    //! Time steps step.number ... + 3.
    void run(const fdtd_step<T>& step, record* kept, cudaStream_t stream) const
    {
        auto pass = d_pass;
        pass.step = step;
        pass.from = step.state;
        pass.to = d_other.data();
        launch(pass, kept, stream);
        pass.from = d_other.data();
        pass.to = step.state;
        pass.step.number += 2;
        launch(pass, kept, stream);
    }

private:
    static size_t bytes_of(const fdtd_march_tables<T, fdtd_on_host>& t)
    {
        const auto of = [](const auto& table) { return table.size() * sizeof table[0]; };
        return of(t.classes) + of(t.kinds) + of(t.rows) + of(t.forms) + of(t.places);
    }

    march_system(const fdtd_march_plan<T>& plan, const fdtd_system<T>& system, int device)
        : d_matrix_bytes(bytes_of(plan.tables)),
          d_kernel(march_choice<T>::of(plan.layers)), d_other(size_t(system.size))
    {
        d_pass.grid = plan.grid;
        put_table(d_stored.classes, d_pass.tables.classes, plan.tables.classes);
        put_table(d_stored.kinds, d_pass.tables.kinds, plan.tables.kinds);
        put_table(d_stored.rows, d_pass.tables.rows, plan.tables.rows);
        put_table(d_stored.forms, d_pass.tables.forms, plan.tables.forms);
        put_table(d_stored.places, d_pass.tables.places, plan.tables.places);
        put_table(d_stored.starts, d_pass.tables.starts, plan.tables.starts);
        put_table(d_stored.marks, d_pass.tables.marks, plan.tables.marks);
        put_table(d_stored.sources, d_pass.tables.sources, plan.tables.sources);
        put_table(d_stored.probes, d_pass.tables.probes, plan.tables.probes);

        const int threads = d_kernel.height * d_kernel.width;
        int multiprocessors = 0, each = 0;
        cuda_check(cudaDeviceGetAttribute(
                       &multiprocessors, cudaDevAttrMultiProcessorCount, device),
                   "cudaDeviceGetAttribute");
        cuda_check(cudaFuncSetAttribute(d_kernel.kernel,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        int(d_kernel.shared)),
                   "cudaFuncSetAttribute");
        cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                       &each, d_kernel.kernel, threads, d_kernel.shared),
                   "fdtd_stepper: occupancy");
        const auto shares = fdtd_march_shares::find(
            plan, d_kernel.height, d_kernel.width, int64_t(multiprocessors) * each);
        d_shape.tiles_z = shares.tiles_z;
        d_shape.tiles = shares.tiles_z * shares.tiles_y;
        d_shape.planes = shares.planes;
        d_blocks = unsigned(shares.order.size());
        put_table(d_order, d_shape.order, shares.order);
    }

    void launch(const fdtd_march_pass<T>& pass, record* kept, cudaStream_t stream) const
    {
        d_kernel.kernel<<<d_blocks,
                          unsigned(d_kernel.height * d_kernel.width),
                          d_kernel.shared,
                          stream>>>(pass, d_shape, kept);
        cuda_check_launch("fdtd_stepper: run_march");
    }

    const size_t d_matrix_bytes;
    const march_choice<T> d_kernel;
    const device_memory<T> d_other; //!< the state after the first of two passes
    fdtd_march_tables<T, device_table> d_stored;
    device_table<int32_t> d_order;
    fdtd_march_pass<T> d_pass{};
    march_shape d_shape{};
    unsigned d_blocks = 0;
};

} // namespace
} // namespace gr::cudaphy::kernels
