/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/many_antennas.cuh"
#include <algorithm>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int element_threads = 128, fill_threads = 256;
//! Channels that are formed at once: they stay in the GPU's cache.
constexpr size_t channel_bytes = size_t{ 32 } << 20;

//! An element and an antenna a thread; neighbours are of one antenna.
__global__ void __launch_bounds__(element_threads)
    gather_elements(const layers_cuda job, const elements_cuda of)
{
    const int antenna = blockIdx.y, i = blockIdx.x * element_threads + threadIdx.x;
    if (i >= of.count) {
        return;
    }
    const int slot = (of.first + i) / job.data;
    const slot_state& own = job.sender[0].state[slot];
    const uint32_t element = job.element[of.first + i - slot * job.data];
    const int symbol = element / job.subcarriers;
    const int subcarrier = element - symbol * job.subcarriers;
    if (antenna == 0) {
        of.n0[i] = own.usable ? float(own.noise_mean + error_of(job, slot)) : 1.0f;
        if (of.whitener_of) {
            const int tone = job.sender[0].tone_of_subcarrier[subcarrier];
            of.whitener_of[i] = own.usable && own.colored
                                    ? slot * job.most_bundles + tone / own.bundle_tones
                                    : -1;
        }
    }
    const size_t to = size_t(i) * job.antennas + antenna;
    of.received[to] =
        job.grid[(size_t(slot) * job.antennas + antenna) * job.symbols * job.subcarriers +
                 element];
    find_channel_row(
        job, slot, symbol, subcarrier, antenna, of.channel + to * job.layers);
}

//! A bundle and slot a block: its covariance with the errors of estimates, and whether it
//! serves some element.
__global__ void __launch_bounds__(fill_threads)
    fill_covariances(const layers_cuda job, float2* covariances, int* wanted)
{
    const int slot = blockIdx.y, bundle = blockIdx.x, n = job.antennas;
    const slot_state& own = job.sender[0].state[slot];
    const size_t at = size_t(slot) * job.most_bundles + bundle;
    const bool on = own.usable && own.colored && bundle < own.bundles;
    if (threadIdx.x == 0) {
        wanted[at] = on;
    }
    if (!on) {
        return;
    }
    const float error = float(error_of(job, slot));
    for (int e = threadIdx.x; e < n * n; e += fill_threads) {
        const int row = e / n, column = e - row * n;
        if (column <= row) {
            float2 value = job.covariance[at * n * n + e];
            value.x += row == column ? error : 0.0f;
            covariances[at * n * n + e] = value;
        }
    }
}

} // namespace

many_antennas::many_antennas(
    int antennas, int layers, int data, int bundles, bool white, int device)
    : d_antennas(antennas), d_layers(layers), d_data(data), d_bundles(bundles),
      d_white(white), d_at_once(static_cast<int>(std::max<size_t>(
                          1, channel_bytes / (sizeof(float2) * antennas * layers))))
{
    cuda_check(
        cudaDeviceGetAttribute(&d_room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
}

void many_antennas::place(arena& work, int slots)
{
    const size_t elements = std::min(size_t(d_at_once), size_t(slots) * d_data);
    d_place.received = work.place<float2>(elements * d_antennas);
    d_place.channel = work.place<float2>(elements * d_antennas * d_layers);
    d_place.n0 = work.place<float>(elements);
    d_place.status = work.place<int>(elements);
    if (d_white) {
        return;
    }
    const size_t covariances = size_t(slots) * d_bundles;
    d_place.whitener_of = work.place<int>(elements);
    d_place.inverse =
        work.place<float2>(covariances * d_antennas * whitener_pitch(d_antennas));
    d_place.variance = work.place<float>(covariances);
    d_place.covariances = work.place<float2>(covariances * d_antennas * d_antennas);
    d_place.wanted = work.place<int>(covariances);
}

void many_antennas::take(const arena& work)
{
    d_elements.received = work.at<float2>(d_place.received);
    d_elements.channel = work.at<float2>(d_place.channel);
    d_elements.n0 = work.at<float>(d_place.n0);
    d_status = work.at<int>(d_place.status);
    if (!d_white) {
        d_elements.whitener_of = work.at<int>(d_place.whitener_of);
        d_whiteners = { work.at<float2>(d_place.inverse),
                        work.at<float>(d_place.variance) };
        d_covariances = work.at<float2>(d_place.covariances);
        d_wanted = work.at<int>(d_place.wanted);
    }
}

void many_antennas::run(const layers_cuda& job, int slots, cudaStream_t stream) const
{
    if (!d_white) {
        fill_covariances<<<dim3(d_bundles, slots), fill_threads, 0, stream>>>(
            job, d_covariances, d_wanted);
        launch_whiteners(d_covariances,
                         size_t(slots) * d_bundles,
                         d_antennas,
                         d_whiteners,
                         d_room,
                         stream,
                         d_wanted);
    }
    auto of = d_elements;
    const int all = slots * d_data;
    for (of.first = 0; of.first < all; of.first += d_at_once) {
        of.count = std::min(d_at_once, all - of.first);
        const unsigned blocks = (of.count + element_threads - 1) / element_threads;
        gather_elements<<<dim3(blocks, d_antennas), element_threads, 0, stream>>>(job,
                                                                                  of);
        const size_t to = size_t(of.first) * d_layers, count = of.count;
        gram_job equalize{ of.received, of.channel,     of.n0,    d_whiteners,
                           1, // an n0 for each matrix
                           job.x + to,  job.noise + to, d_status, 0,
                           count,       count,          1,        1,
                           d_antennas,  d_layers,       of.count,
                           true, // MMSE
                           true, // unbiased
                           false };
        equalize.whitener_of = of.whitener_of;
        launch_gram(equalize, stream);
    }
    cuda_check_launch("nr receiver, layers at many antennas");
}

} // namespace gr::cudaphy::kernels::nr
