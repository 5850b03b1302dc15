/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/fdtd/stepper/large.cuh"
#include "kernels/fdtd/stepper/makers.h"
#include "kernels/fdtd/stepper/march.cuh"
#include "kernels/fdtd/stepper/onchip.cuh"
#include <algorithm>
#include <climits>

namespace gr::cudaphy::kernels {
namespace {

//! Blocks for `items`, an item a thread.
unsigned scan_blocks(int64_t items)
{
    return unsigned(std::clamp<int64_t>(
        (items + scan_threads - 1) / scan_threads, 1, tuning::scan_blocks));
}

template <typename T>
using step_kernel = void (*)(arguments<T>);

template <typename T>
step_kernel<T> kernel_for(sparse_format format)
{
    switch (format) {
    case sparse_format::crs:
        return run_steps<T, sparse_format::crs>;
    case sparse_format::subdivided_crs:
        return run_steps<T, sparse_format::subdivided_crs>;
    case sparse_format::diagonal:
        return run_steps<T, sparse_format::diagonal>;
    default:
        return run_steps<T, sparse_format::dictionary>;
    }
}

//! A kernel and the threads of its blocks.
template <typename T>
struct choice {
    step_kernel<T> kernel;
    int threads;
};

//! For a system of many tiles a block.
template <typename T>
choice<T> large_kernel_for(sparse_format format, bool sequences)
{
    constexpr int slices = fdtd_plan<T>::piece_rows / fdtd_slice;
    constexpr int warps = tuning::large_warps, threads = 32 * warps;
    if (format == sparse_format::subdivided_crs) {
        return { run_large_steps<T,
                                 slices,
                                 fdtd_large_rows::own_values,
                                 warps,
                                 tuning::own_values_blocks>,
                 threads };
    }
    if (sequences) {
        return { run_large_steps<T,
                                 slices,
                                 fdtd_large_rows::sequences,
                                 warps,
                                 tuning::sequences_blocks>,
                 threads };
    }
    return { run_large_steps<T,
                             slices,
                             fdtd_large_rows::runs,
                             warps,
                             tuning::runs_blocks(sizeof(T))>,
             threads };
}

//! How many blocks the current device holds at once.
template <typename T>
int resident_blocks(const choice<T>& c, int device)
{
    int multiprocessors = 0, each = 0;
    cuda_check(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
    cuda_check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, c.kernel, c.threads, 0),
        "fdtd_stepper: occupancy");
    return std::max(1, multiprocessors * each);
}

//! Rows of the largest update.
template <typename T>
int64_t most_rows(const fdtd_system<T>& system)
{
    int64_t rows = 1;
    for (const auto& update : system.updates) {
        rows = std::max(rows, update.matrix.rows);
    }
    return rows;
}

//! As few tiles a block as possible, all of one size.
int32_t tile_rows_of(int64_t rows, int blocks)
{
    const int64_t whole = int64_t(blocks) * tuning::most_tile_rows;
    const int64_t tiles = (rows + whole - 1) / whole * blocks;
    const int64_t each =
        std::max<int64_t>(tuning::least_tile_rows, (rows + tiles - 1) / tiles);
    return int32_t((each + fdtd_slice - 1) / fdtd_slice * fdtd_slice);
}

//! Rows of a large system's tiles: several tiles a block, but each with several pieces a
//! warp. \param wide  whether large tiles are faster, if there are enough of them
int32_t large_tile_rows_of(int64_t rows, int blocks, bool wide)
{
    int32_t each = tuning::most_tile_rows;
    if (wide && rows >= int64_t(2 * each) * blocks * tuning::tiles_for_wide) {
        return 2 * each;
    }
    while (each > tuning::least_large_tile_rows &&
           rows < int64_t(each) * blocks * tuning::least_tiles) {
        each /= 2;
    }
    return each;
}

//! The stepper's memory on the device.
template <typename T>
struct resident {
    fdtd_tables<T, device_table> stored;
    device_table<T> state;
    device_table<record> kept;
    device_table<unsigned> flags;
    device_table<int32_t> neighbour_start, neighbours;
    fdtd_tables<T, fdtd_pointer> tables{};

    //! \throws std::runtime_error if the device has too little memory.
    resident(const fdtd_plan<T>& plan, int64_t size, int blocks, const fdtd_neighbours& n)
    {
        const size_t flag_count = size_t(blocks + 1) * flag_stride;
        size_t needed = sizeof(T) * size_t(size) + sizeof(unsigned) * flag_count;
        const auto& host = plan.tables;
        const auto add = [&](const auto& table) {
            needed += table.size() * sizeof table[0];
        };
        add(host.phases), add(host.marks), add(host.sources), add(host.probes);
        needed += plan.matrix_bytes;
        size_t available = 0, total = 0;
        cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
        if (needed > available) {
            throw std::runtime_error(fdtd_stepper_memory_error(needed, available, total));
        }
        put_table(stored.phases, tables.phases, host.phases);
        put_table(stored.tiles, tables.tiles, host.tiles);
        put_table(stored.words, tables.words, host.words);
        put_table(stored.pieces, tables.pieces, host.pieces);
        put_table(stored.singles, tables.singles, host.singles);
        put_table(stored.numbers, tables.numbers, host.numbers);
        put_table(stored.codes, tables.codes, host.codes);
        put_table(stored.pattern_entries, tables.pattern_entries, host.pattern_entries);
        put_table(stored.blocks, tables.blocks, host.blocks);
        put_table(stored.block_rows, tables.block_rows, host.block_rows);
        put_table(stored.columns, tables.columns, host.columns);
        put_table(stored.values, tables.values, host.values);
        put_table(stored.row_start, tables.row_start, host.row_start);
        put_table(stored.diagonals, tables.diagonals, host.diagonals);
        put_table(stored.marks, tables.marks, host.marks);
        put_table(stored.sources, tables.sources, host.sources);
        put_table(stored.probes, tables.probes, host.probes);
        neighbour_start = std::make_unique<device_memory<int32_t>>(n.start);
        neighbours = std::make_unique<device_memory<int32_t>>(n.neighbours);
        state = std::make_unique<device_memory<T>>(size_t(size));
        kept = std::make_unique<device_memory<record>>(std::vector<record>(1));
        flags = std::make_unique<device_memory<unsigned>>(flag_count);
    }
};

template <typename T>
class fdtd_stepper_cuda : public fdtd_stepper<T>
{
public:
    fdtd_stepper_cuda(const fdtd_system<T>& system,
                      const typename fdtd_stepper<T>::parameters& p,
                      int device,
                      const fdtd_large_shape& forced = {})
        : d_device(device), d_size(system.size), d_sources(system.sources.size()),
          d_probes(system.probes.size()),
          d_max_steps(std::min<size_t>(p.max_steps, INT_MAX)), d_kernel{
              kernel_for<T>(p.format), threads
          }
    {
        const cuda_device_scope scope(d_device);
        int most = resident_blocks(d_kernel, d_device);
        const auto rows = most_rows(system);
        const bool subdivided = p.format == sparse_format::subdivided_crs ||
                                p.format == sparse_format::dictionary;
        // Subdivided rows that do not fit on the chip are faster in pieces, even in a
        // small system; a dictionary is not.
        const int64_t few = p.format == sparse_format::dictionary
                                ? tuning::most_tile_rows
                                : tuning::least_large_tile_rows;
        const bool large = (rows > most * few || forced.tile_rows > 0) && subdivided;
        // With absorbing layers, large tiles cost a dictionary less. Subdivided rows were
        // measured with conductors only.
        const bool layers = system.updates.size() > 2;
        const bool wide = layers == (p.format == sparse_format::dictionary);
        auto plan =
            large ? fdtd_plan<T>::make(system,
                                       p.format,
                                       forced.tile_rows > 0
                                           ? forced.tile_rows
                                           : large_tile_rows_of(rows, most, wide),
                                       fdtd_units::pieces)
                  : fdtd_plan<T>::make(
                        system, p.format, tile_rows_of(rows, most), fdtd_units::words);
        if (large) {
            d_kernel = large_kernel_for<T>(p.format, plan.has_sequences);
            most = resident_blocks(d_kernel, d_device);
            most = forced.blocks > 0 ? std::min(most, forced.blocks) : most;
        }
        d_phases = int(plan.tables.phases.size());
        d_matrix_bytes = plan.matrix_bytes;
        d_blocks = std::clamp(plan.most_tiles, 1, most);
        if (!large && subdivided) {
            d_onchip = onchip_system<T>::make(system, plan, d_device);
        }
        fdtd_neighbours neighbours;
        if (d_onchip) {
            plan = {}; // the on-chip system has its own tables
        } else if (!large && plan.most_tiles <= d_blocks && d_blocks <= threads) {
            neighbours = fdtd_neighbours::find(system, plan, d_blocks);
        }
        d_there = std::make_unique<resident<T>>(plan, d_size, d_blocks, neighbours);
        const bool tested = forced.tile_rows > 0;
        if (large && p.format == sparse_format::dictionary && forced.two_steps &&
            (tested || is_beyond_caches(layers))) {
            d_march =
                march_system<T>::make(system, d_device, tested ? 0 : tuning::march_share);
            d_matrix_bytes += d_march ? d_march->matrix_bytes() : 0;
        }
        clear_all(cudaStreamLegacy);
        // Copies from pageable memory may still be under way.
        cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "fdtd_stepper: clear");
    }
    ~fdtd_stepper_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_onchip.reset();
        d_march.reset();
        d_there.reset();
    }

    int64_t size() const override { return d_size; }
    size_t sources() const override { return d_sources; }
    size_t probes() const override { return d_probes; }
    size_t matrix_bytes() const override { return d_matrix_bytes; }

    void run(view<const T> excitation,
             view<T> probes,
             view<int64_t> status,
             queue& queue) override
    {
        const auto steps = fdtd_stepper_check(
            *this, d_max_steps, excitation, probes, status, queue, backend::cuda);
        const cuda_device_scope scope(d_device);
        const auto stream = stream_of(queue);
        auto& there = *d_there;
        fdtd_step<T> first{ there.state->data(), excitation.data(), probes.data(),
                            d_sources,           d_probes,          0 };
        if (steps > 0 && d_onchip) {
            d_onchip->run(first, unsigned(steps), there.kept->data(), stream);
        } else {
            const auto left = [&] { return unsigned(steps) - first.number; };
            for (; d_march && left() >= d_march->steps; first.number += d_march->steps) {
                d_march->run(first, there.kept->data(), stream);
            }
            if (left() > 0) {
                launch(first, left(), stream);
            }
        }
        examine<<<scan_blocks(d_size), scan_threads, 0, stream>>>(
            there.state->data(), d_size, there.kept->data());
        cuda_check_launch("fdtd_stepper: examine");
        conclude<<<1, scan_threads, 0, stream>>>(there.kept->data(),
                                                 steps,
                                                 d_onchip ? onchip_phases : 0,
                                                 probes.data(),
                                                 d_probes,
                                                 status.data());
        cuda_check_launch("fdtd_stepper: conclude");
    }

    void get(int64_t first, view<T> values, queue& queue) const override
    {
        fdtd_stepper_check_range(d_size, first, values.size());
        const cuda_device_scope scope(d_device);
        cuda_check(cudaMemcpyAsync(values.data(),
                                   d_there->state->data() + first,
                                   values.size() * sizeof(T),
                                   cudaMemcpyDeviceToDevice,
                                   stream_of(queue)),
                   "fdtd_stepper: get");
    }
    void set(int64_t first, view<const T> values, queue& queue) override
    {
        fdtd_stepper_check_range(d_size, first, values.size());
        const cuda_device_scope scope(d_device);
        const auto count = int64_t(values.size());
        put<<<scan_blocks(count), scan_threads, 0, stream_of(queue)>>>(
            d_there->state->data() + first, values.data(), count);
        cuda_check_launch("fdtd_stepper: put");
    }
    void gather(view<const int32_t> elements, view<T> values, queue& queue) const override
    {
        fdtd_stepper_check_gather(elements.size(), values.size());
        const cuda_device_scope scope(d_device);
        const auto count = int64_t(values.size());
        pick<<<scan_blocks(count), scan_threads, 0, stream_of(queue)>>>(
            d_there->state->data(), d_size, elements.data(), values.data(), count);
        cuda_check_launch("fdtd_stepper: pick");
    }
    void reset(queue& queue) override
    {
        const cuda_device_scope scope(d_device);
        clear_all(stream_of(queue));
    }

private:
    //! Whether the state is so large that a pass over it takes the memory's time.
    bool is_beyond_caches(bool layers) const
    {
        int cache = 0;
        cuda_check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, d_device),
                   "cudaDeviceGetAttribute");
        return double(d_size) * sizeof(T) > tuning::march_caches(layers) * cache;
    }

    void launch(const fdtd_step<T>& first, unsigned steps, cudaStream_t stream)
    {
        auto& there = *d_there;
        arguments<T> a{ there.tables,
                        first,
                        steps,
                        d_phases,
                        { there.flags->data(),
                          there.neighbour_start->data(),
                          there.neighbours->data() },
                        there.kept->data() };
        const size_t flags = size_t(d_blocks + 1) * flag_stride;
        cuda_check(
            cudaMemsetAsync(there.flags->data(), 0, flags * sizeof(unsigned), stream),
            "fdtd_stepper: flags");
        void* all[] = { &a };
        cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(d_kernel.kernel),
                                               dim3(d_blocks),
                                               dim3(d_kernel.threads),
                                               all,
                                               0,
                                               stream),
                   "fdtd_stepper: run_steps");
        cuda_check_launch("fdtd_stepper: run_steps");
    }

    void clear_all(cudaStream_t stream)
    {
        clear<<<scan_blocks(d_size), scan_threads, 0, stream>>>(
            d_there->state->data(), d_size, d_there->kept->data());
        cuda_check_launch("fdtd_stepper: clear");
    }

    const int d_device;
    const int64_t d_size;
    const size_t d_sources, d_probes, d_max_steps;
    choice<T> d_kernel;
    int d_phases = 0, d_blocks = 1;
    size_t d_matrix_bytes = 0;
    std::unique_ptr<resident<T>> d_there;
    std::unique_ptr<onchip_system<T>> d_onchip; //!< if it is small enough
    std::unique_ptr<march_system<T>> d_march;   //!< if it is large, and a grid
};

} // namespace

template <typename T>
std::unique_ptr<fdtd_stepper<T>>
make_fdtd_stepper_cuda(const fdtd_system<T>& system,
                       const typename fdtd_stepper<T>::parameters& p,
                       int device,
                       const fdtd_large_shape& forced)
{
    return std::make_unique<fdtd_stepper_cuda<T>>(system, p, device, forced);
}

#define CUDAPHY_INSTANTIATE(T)                                        \
    CUDAPHY_CUDA_MAKER_2(fdtd_stepper<T>,                             \
                         fdtd_stepper_cuda<T>,                        \
                         fdtd_system<T>,                              \
                         fdtd_stepper<T>::parameters)                 \
    template std::unique_ptr<fdtd_stepper<T>> make_fdtd_stepper_cuda( \
        const fdtd_system<T>&,                                        \
        const fdtd_stepper<T>::parameters&,                           \
        int,                                                          \
        const fdtd_large_shape&);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
