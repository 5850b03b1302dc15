/* SPDX-License-Identifier: GPL-3.0-or-later */
// What stands around the equalizer (layer_separation.cc, soft_bits.cc).
#include "kernels/common/cuda_check.cuh"
#include "kernels/nr_receiver/cuda/layers.cuh"

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int gather_threads = 128, select_threads = 256;

//! An element and an antenna a thread; neighbours are of one antenna.
__global__ void __launch_bounds__(gather_threads) gather(const layers_cuda job)
{
    const int slot = blockIdx.z, antenna = blockIdx.y;
    const int at = blockIdx.x * gather_threads + threadIdx.x;
    const slot_state& own = job.sender[0].state[slot];
    const double error = error_of(job, slot);
    if (at == 0 && antenna == 0) {
        job.n0[slot] = own.usable ? float(own.noise_mean + error) : 1.0f;
    }
    if (at >= job.data || !own.usable) {
        return;
    }
    const uint32_t element = job.element[at];
    const int symbol = element / job.subcarriers;
    const int subcarrier = element - symbol * job.subcarriers;
    const size_t to = (size_t(slot) * job.data + at) * job.antennas + antenna;
    job.received[to] =
        job.grid[(size_t(slot) * job.antennas + antenna) * job.symbols * job.subcarriers +
                 element];
    find_channel_row(
        job, slot, symbol, subcarrier, antenna, job.channel + to * job.layers);
    if (job.covariances) {
        const int tone = job.sender[0].tone_of_subcarrier[subcarrier];
        const int bundle = own.colored ? tone / own.bundle_tones : 0;
        const float2* const row =
            job.covariance +
            ((size_t(slot) * job.most_bundles + bundle) * job.antennas + antenna) *
                job.antennas;
        for (int k = 0; k <= antenna; ++k) {
            float2 value = own.colored ? row[k] : float2{ 0, 0 };
            if (k == antenna) {
                value.x =
                    own.colored ? value.x + float(error) : float(own.noise_mean + error);
            }
            job.covariances[to * job.antennas + k] = value;
        }
    }
}

//! The mean of log2(1 + 1 / noise) in parts, each of some symbols.
__global__ void __launch_bounds__(select_threads)
    select(const layers_cuda job, const codeword_layers_cuda of)
{
    __shared__ double shared[33];
    const int slot = blockIdx.y;
    const size_t all = size_t(job.data) * of.layers;
    const float* const noise = job.noise + size_t(slot) * job.data * job.layers;
    const float2* const x = job.x + size_t(slot) * job.data * job.layers;
    double sum = 0;
    // Products of a few terms, each below 1e12, need one logarithm.
    double product = 1;
    int terms = 0;
    for (size_t i = blockIdx.x * select_threads + threadIdx.x; i < all;
         i += select_parts * select_threads) {
        size_t from = i;
        if (of.layers != job.layers) {
            const unsigned vector = unsigned(i) / unsigned(of.layers);
            from =
                size_t(vector) * job.layers + of.first + (i - size_t(vector) * of.layers);
        }
        const float value = noise[from];
        product *= 1 + 1 / fmaxf(value, 1e-12f);
        if (++terms == 16) {
            sum += log2(product);
            product = 1;
            terms = 0;
        }
        if (of.x) {
            of.x[size_t(slot) * all + i] = x[from];
            of.noise[size_t(slot) * all + i] = value;
        }
    }
    sum = block_sum(sum + log2(product), shared);
    if (threadIdx.x == 0) {
        of.capacity[slot * select_parts + blockIdx.x] = sum;
    }
}

} // namespace

void launch_gather(const layers_cuda& job, int slots, cudaStream_t stream)
{
    const unsigned blocks = (job.data + gather_threads - 1) / gather_threads;
    gather<<<dim3(blocks, job.antennas, slots), gather_threads, 0, stream>>>(job);
    cuda_check_launch("nr receiver, vectors and channels");
}

void launch_select(const layers_cuda& job,
                   const codeword_layers_cuda& of,
                   int slots,
                   cudaStream_t stream)
{
    select<<<dim3(select_parts, slots), select_threads, 0, stream>>>(job, of);
    cuda_check_launch("nr receiver, layers of a codeword");
}

} // namespace gr::cudaphy::kernels::nr
