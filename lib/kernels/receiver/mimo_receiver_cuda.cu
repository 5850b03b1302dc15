/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_graph.cuh"
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/receiver/mimo_receiver_makers.h"
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

constexpr int block_threads = 256;

unsigned blocks_for(size_t threads)
{
    return unsigned((threads + block_threads - 1) / block_threads);
}

struct split_job {
    const float2* received;
    float2 *pilots, *data;
    const int* rows; //!< of each symbol its place among the pilots, then in the data
    size_t items;
    int row, symbols, pilot_rows, data_rows;
};

// One sample a thread: 8 bytes in, 8 out, neighbours together.
__global__ void __launch_bounds__(block_threads) split_slots(const split_job job)
{
    const size_t i = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (i >= job.items) {
        return;
    }
    const size_t symbol = i / job.row;
    const size_t within = i - symbol * job.row;
    const size_t slot = symbol / job.symbols;
    const int number = int(symbol - slot * job.symbols);
    const int pilot = job.rows[number];
    const int data = job.rows[job.symbols + number];
    const float2 value = job.received[i];
    if (pilot >= 0) {
        job.pilots[(slot * job.pilot_rows + pilot) * job.row + within] = value;
    }
    if (data >= 0) {
        job.data[(slot * job.data_rows + data) * job.row + within] = value;
    }
}

struct select_job {
    const float2* grid_x;
    const float* grid_noise;
    float2* x;
    float* noise;
    const int* places;
    size_t items, grid;
    int layers, place_count;
};

// One layer of one place a thread.
__global__ void __launch_bounds__(block_threads) select_places(const select_job job)
{
    const size_t i = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    if (i >= job.items) {
        return;
    }
    const size_t vector = i / job.layers;
    const size_t layer = i - vector * job.layers;
    const size_t slot = vector / job.place_count;
    const int place = job.places[vector - slot * job.place_count];
    const size_t from = (slot * job.grid + place) * job.layers + layer;
    job.x[i] = job.grid_x[from];
    job.noise[i] = job.grid_noise[from];
}

// One word of a row a thread; all that `copy` counts is a multiple of the word.
template <typename Word>
__global__ void __launch_bounds__(block_threads) copy_words(const row_copy copy)
{
    const size_t i = size_t{ blockIdx.x } * block_threads + threadIdx.x;
    const size_t width = copy.width / sizeof(Word);
    const size_t row = i / width;
    if (row >= copy.rows) {
        return;
    }
    const size_t at = (i - row * width) * sizeof(Word);
    *reinterpret_cast<Word*>(copy.to + row * copy.to_pitch + at) =
        *reinterpret_cast<const Word*>(copy.from + row * copy.from_pitch + at);
}

template <typename Word>
bool launch_copy(const row_copy& copy, cudaStream_t stream)
{
    const auto all = copy.width | copy.from_pitch | copy.to_pitch |
                     reinterpret_cast<uintptr_t>(copy.from) |
                     reinterpret_cast<uintptr_t>(copy.to);
    if (all % sizeof(Word)) {
        return false;
    }
    copy_words<Word>
        <<<blocks_for(copy.width / sizeof(Word) * copy.rows), block_threads, 0, stream>>>(
            copy);
    return true;
}

std::vector<int> rows_of(const receiver_layout& layout)
{
    auto out = layout.pilot_row;
    out.insert(out.end(), layout.data_row.begin(), layout.data_row.end());
    return out;
}

//! What lies on the device for as long as the receiver lives.
struct receiver_tables {
    explicit receiver_tables(const receiver_layout& layout)
        : rows(rows_of(layout)), places(layout.places)
    {
    }
    device_memory<int> rows, places;
    recorded_work recorded;
};

class receiver_steps_cuda : public receiver_steps
{
public:
    receiver_steps_cuda(const receiver_layout& layout, bool recorded, int device)
        : d_layout(layout), d_recorded(recorded), d_device(device)
    {
        cuda_device_scope scope(device);
        d_tables = std::make_unique<receiver_tables>(layout);
    }
    ~receiver_steps_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_tables.reset();
    }

    void split(view<const complex64> received,
               complex64* pilots,
               complex64* data,
               queue& queue) override
    {
        cuda_device_scope scope(d_device);
        const split_job job{ reinterpret_cast<const float2*>(received.data()),
                             reinterpret_cast<float2*>(pilots),
                             reinterpret_cast<float2*>(data),
                             d_tables->rows.data(),
                             received.size(),
                             int(d_layout.row_items()),
                             d_layout.symbols,
                             d_layout.pilot_rows,
                             d_layout.data_rows };
        split_slots<<<blocks_for(job.items), block_threads, 0, stream_of(queue)>>>(job);
        cuda_check_launch("mimo_receiver, pilots and data");
    }

    void select(size_t slots,
                const complex64* grid_x,
                const float* grid_noise,
                complex64* x,
                float* noise,
                queue& queue) override
    {
        cuda_device_scope scope(d_device);
        const select_job job{ reinterpret_cast<const float2*>(grid_x),
                              grid_noise,
                              reinterpret_cast<float2*>(x),
                              noise,
                              d_tables->places.data(),
                              slots * d_layout.slot.layers,
                              d_layout.grid_vectors(),
                              d_layout.layers,
                              int(d_layout.places.size()) };
        select_places<<<blocks_for(job.items), block_threads, 0, stream_of(queue)>>>(job);
        cuda_check_launch("mimo_receiver, places with data");
    }

    void copy_rows(const row_copy& copy, queue& queue) override
    {
        cuda_device_scope scope(d_device);
        const auto stream = stream_of(queue);
        if (!launch_copy<uint4>(copy, stream) && !launch_copy<uint32_t>(copy, stream)) {
            launch_copy<uint8_t>(copy, stream);
        }
        cuda_check_launch("mimo_receiver, codewords");
    }

    void submit(const std::vector<uint64_t>& key,
                queue& queue,
                const std::function<void()>& work) override
    {
        cuda_device_scope scope(d_device);
        if (d_recorded) {
            d_tables->recorded.submit(key, queue, work);
        } else {
            work();
        }
    }

    size_t slots_at_once(size_t) const override
    {
        return std::numeric_limits<size_t>::max();
    }

private:
    const receiver_layout d_layout;
    const bool d_recorded;
    const int d_device;
    std::unique_ptr<receiver_tables> d_tables;
};

} // namespace

std::unique_ptr<receiver_steps>
make_receiver_steps_cuda(const receiver_layout& layout, bool recorded, int device)
{
    return std::make_unique<receiver_steps_cuda>(layout, recorded, device);
}

} // namespace gr::cudaphy::kernels
