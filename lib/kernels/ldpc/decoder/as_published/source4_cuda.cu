/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/ldpc/decoder/as_published/source4.h"
#include <algorithm>
#include <cuda_runtime_api.h>
#include <stdexcept>

namespace gr::cudaphy::kernels::source4 {
namespace {

__constant__ entry d_by_row[most_entries];
__constant__ entry d_by_column[most_entries];

//! One block for each check node, as in the source. Thread t takes edge t / slots of
//! frame t % slots, with as many slots as fit.
__global__ void check_node_kernel(shape s, const float* q, float* r, size_t frames)
{
    const int slots = blockDim.x / s.row_weight;
    const size_t groups = (frames + slots - 1) / slots;
    const int place = threadIdx.x / slots;
    if (place >= s.row_weight) {
        return;
    }
    for (size_t item = blockIdx.x; item < groups * s.checks; item += gridDim.x) {
        const int check = item / groups;
        const size_t frame = item % groups * slots + threadIdx.x % slots;
        if (frame < frames) {
            r[(size_t(check) * s.row_weight + place) * frames + frame] =
                check_message(s, q, frames, check, place, frame);
        }
    }
}

//! One block for each variable node, one thread for each frame.
__global__ void bit_node_kernel(shape s,
                                const float* llr,
                                const float* r,
                                float* q,
                                uint8_t* hard,
                                const uint8_t* done,
                                size_t frames)
{
    const size_t groups = (frames + blockDim.x - 1) / blockDim.x;
    for (size_t item = blockIdx.x; item < groups * s.bits; item += gridDim.x) {
        const int bit = item / groups;
        const size_t frame = item % groups * blockDim.x + threadIdx.x;
        if (frame < frames && !done[frame]) {
            hard[bit * frames + frame] =
                update_bit(s, d_by_column, llr, r, q, frames, bit, frame) < 0;
        }
    }
}

__global__ void parity_kernel(shape s, const uint8_t* hard, uint8_t* wrong, size_t frames)
{
    const size_t groups = (frames + blockDim.x - 1) / blockDim.x;
    for (size_t item = blockIdx.x; item < groups * s.checks; item += gridDim.x) {
        const int check = item / groups;
        const size_t frame = item % groups * blockDim.x + threadIdx.x;
        if (frame < frames) {
            int sum = 0;
            for (int j = 0; j < s.row_weight; ++j) {
                sum ^= hard[bit_of(s, d_by_row, check, j) * frames + frame];
            }
            if (sum) {
                wrong[frame] = 1;
            }
        }
    }
}

__global__ void finish_kernel(const uint8_t* wrong, uint8_t* done, size_t frames)
{
    for (size_t frame = blockIdx.x * size_t(blockDim.x) + threadIdx.x; frame < frames;
         frame += gridDim.x * size_t(blockDim.x)) {
        done[frame] = !wrong[frame];
    }
}

//! Lq_nm = L_n.
__global__ void begin_kernel(shape s, const float* llr, float* q, size_t frames)
{
    const size_t groups = (frames + blockDim.x - 1) / blockDim.x;
    for (size_t item = blockIdx.x; item < groups * s.edges(); item += gridDim.x) {
        const int edge = item / groups;
        const size_t frame = item % groups * blockDim.x + threadIdx.x;
        if (frame < frames) {
            const int bit = bit_of(s, d_by_row, edge / s.row_weight, edge % s.row_weight);
            q[edge * frames + frame] = llr[bit * frames + frame];
        }
    }
}

template <typename T>
class device_array
{
public:
    explicit device_array(size_t size) : d_bytes(size * sizeof(T))
    {
        cuda_check(cudaMalloc(&d_data, d_bytes), "cudaMalloc");
    }
    ~device_array() { cudaFree(d_data); }
    device_array(const device_array&) = delete;
    device_array& operator=(const device_array&) = delete;

    operator T*() const { return d_data; }
    void put(const T* host)
    {
        cuda_check(cudaMemcpy(d_data, host, d_bytes, cudaMemcpyHostToDevice),
                   "cudaMemcpy");
    }
    void get(T* host)
    {
        cuda_check(cudaMemcpy(host, d_data, d_bytes, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
    }
    void clear() { cuda_check(cudaMemset(d_data, 0, d_bytes), "cudaMemset"); }

private:
    T* d_data = nullptr;
    size_t d_bytes;
};

class gpu_impl : public gpu
{
public:
    gpu_impl(const code& c, size_t frames, int threads, int blocks)
        : d_shape(c.sizes), d_frames(frames), d_threads(threads), d_blocks(blocks),
          d_llr(c.sizes.bits * frames), d_q(c.sizes.edges() * frames),
          d_r(c.sizes.edges() * frames), d_hard(c.sizes.bits * frames), d_wrong(frames),
          d_done(frames)
    {
        cuda_check(cudaMemcpyToSymbol(
                       d_by_row, c.by_row.data(), c.by_row.size() * sizeof(entry)),
                   "cudaMemcpyToSymbol");
        cuda_check(cudaMemcpyToSymbol(d_by_column,
                                      c.by_column.data(),
                                      c.by_column.size() * sizeof(entry)),
                   "cudaMemcpyToSymbol");
    }

    void begin(const float* llr) override
    {
        d_llr.put(llr);
        d_done.clear();
        begin_kernel<<<grid(d_shape.edges(), d_threads), d_threads>>>(
            d_shape, d_llr, d_q, d_frames);
        wait("begin_kernel");
    }
    void check_nodes() override
    {
        const int slots = d_threads / d_shape.row_weight;
        check_node_kernel<<<grid(d_shape.checks, slots), d_threads>>>(
            d_shape, d_q, d_r, d_frames);
        wait("check_node_kernel");
    }
    void bit_nodes(uint8_t* done) override
    {
        bit_node_kernel<<<grid(d_shape.bits, d_threads), d_threads>>>(
            d_shape, d_llr, d_r, d_q, d_hard, d_done, d_frames);
        d_wrong.clear();
        parity_kernel<<<grid(d_shape.checks, d_threads), d_threads>>>(
            d_shape, d_hard, d_wrong, d_frames);
        finish_kernel<<<grid(1, d_threads), d_threads>>>(d_wrong, d_done, d_frames);
        cuda_check_launch("finish_kernel");
        d_done.get(done); // waits
    }
    void put_q(const float* q) override { d_q.put(q); }
    void get_q(float* q) override { d_q.get(q); }
    void put_r(const float* r) override { d_r.put(r); }
    void get_r(float* r) override { d_r.get(r); }
    void get_hard(uint8_t* bits) override { d_hard.get(bits); }

private:
    //! Blocks for `nodes` nodes, `at_once` frames a block.
    unsigned grid(size_t nodes, size_t at_once) const
    {
        const size_t work = nodes * ((d_frames + at_once - 1) / at_once);
        const size_t most = d_blocks ? d_blocks : size_t{ 1 } << 30;
        return static_cast<unsigned>(std::min(work, most));
    }
    void wait(const char* what)
    {
        cuda_check_launch(what);
        cuda_check(cudaDeviceSynchronize(), what);
    }

    shape d_shape;
    size_t d_frames;
    int d_threads, d_blocks;
    device_array<float> d_llr, d_q, d_r;
    device_array<uint8_t> d_hard, d_wrong, d_done;
};

} // namespace

std::unique_ptr<gpu> gpu::make(const code& c, size_t frames, int threads, int blocks)
{
    if (c.by_row.size() > most_entries || c.by_column.size() > most_entries ||
        threads < c.sizes.row_weight || threads > 1024) {
        throw std::invalid_argument("too many circulants, or threads out of range");
    }
    return std::make_unique<gpu_impl>(c, frames, threads, blocks);
}

} // namespace gr::cudaphy::kernels::source4
