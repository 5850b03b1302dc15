/* SPDX-License-Identifier: GPL-3.0-or-later */
// Each thread has some symbols of a segment. It reads them from the host's memory over
// the bus, which takes as long as a copy would, and saves the copy's place on the device.
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr unsigned threads = 256, symbols_of_thread = 4;
constexpr unsigned symbols_of_block = threads * symbols_of_thread;
constexpr size_t most_segments = 80; // of a launch, whose parameters fit into 4 KiB

//! What a launch does. The segments are parameters, so that they need no memory.
struct correction {
    const float2* in;
    float2* out;
    const uint8_t* quarter_turns;
    carrier_segment segments[most_segments];
};
static_assert(sizeof(correction) <= 4096, "a kernel's parameters have 4 KiB");

//! Block x: a segment. Block y: a part of it.
__global__ void __launch_bounds__(threads) correct(const __grid_constant__ correction all)
{
    const carrier_segment& one = all.segments[blockIdx.x];
    const unsigned first = blockIdx.y * symbols_of_block + threadIdx.x;
    float2 in[symbols_of_thread];
#pragma unroll
    for (unsigned k = 0; k < symbols_of_thread; ++k) {
        const unsigned i = first + k * threads;
        in[k] = i < one.count ? all.in[one.in + i] : float2{ 0, 0 };
    }
#pragma unroll
    for (unsigned k = 0; k < symbols_of_thread; ++k) {
        const unsigned i = first + k * threads;
        if (i >= one.count) {
            break;
        }
        const double cycles =
            fma(one.frequency, double(i), one.phase) +
            0.25 * static_cast<double>(all.quarter_turns[one.place + i]);
        float sine, cosine;
        sincospif(-2 * static_cast<float>(cycles - rint(cycles)), &sine, &cosine);
        const float re = one.gain * cosine, im = one.gain * sine;
        all.out[one.out + i] = { fmaf(in[k].x, re, -(in[k].y * im)),
                                 fmaf(in[k].x, im, in[k].y * re) };
    }
}

class corrector_cuda : public carrier_corrector
{
public:
    corrector_cuda(const parameters& p, int device) : d_device(device)
    {
        const cuda_device_scope scope(d_device);
        d_turns = std::make_unique<device_memory<uint8_t>>(
            pl_scrambling(p.gold_code, p.most_place));
        cuda_check(cudaEventCreateWithFlags(&d_read, cudaEventDisableTiming),
                   "cudaEventCreate");
    }
    ~corrector_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        cudaEventSynchronize(d_read); // the host's memory goes next
        cudaEventDestroy(d_read);
        cudaGetLastError();
        d_turns.reset();
    }

    void run(const std::complex<float>* in,
             std::complex<float>* out,
             const carrier_segment* segments,
             size_t count,
             queue& queue) const override
    {
        const cuda_device_scope scope(d_device);
        correction all{ reinterpret_cast<const float2*>(in),
                        reinterpret_cast<float2*>(out),
                        d_turns->data(),
                        {} };
        for (size_t first = 0; first < count; first += most_segments) {
            const size_t some = std::min(most_segments, count - first);
            std::copy_n(segments + first, some, all.segments);
            uint32_t most = 1;
            for (size_t s = 0; s < some; ++s) {
                most = std::max(most, all.segments[s].count);
            }
            const dim3 grid(static_cast<unsigned>(some),
                            (most + symbols_of_block - 1) / symbols_of_block);
            correct<<<grid, threads, 0, stream_of(queue)>>>(all);
            cuda_check_launch("dvbs2_frame_sync correct");
        }
        cuda_check(cudaEventRecord(d_read, stream_of(queue)), "cudaEventRecord");
    }

    void wait() const override
    {
        const cuda_device_scope scope(d_device);
        cuda_check(cudaEventSynchronize(d_read), "correction of DVB-S2 frames");
    }

private:
    const int d_device;
    std::unique_ptr<device_memory<uint8_t>> d_turns;
    cudaEvent_t d_read = nullptr;
};

} // namespace

std::unique_ptr<carrier_corrector>
make_carrier_corrector_cuda(const carrier_corrector::parameters& p, int device)
{
    return std::make_unique<corrector_cuda>(p, device);
}

} // namespace gr::cudaphy::kernels
