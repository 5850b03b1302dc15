/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/mimo/equalizer/gram_gains.cuh"

namespace gr::cudaphy::kernels {
namespace {

// An item (a matrix with the vectors it serves) a block. H and a round of vectors lie in
// shared memory, where a thread takes 2 x 2 products over all antennas: of the Gram
// matrix's lower triangle, and of H^H y. The inverse of order Nt then serves all vectors.
//
// Bounds of 64 x 16, 14 vectors a matrix: 18.1 KB move, and 28,700 complex products (Gram
// 8,700, H^H y 14,300, the inverse and its products 5,600) are 0.23 Mflop. An H200's 4.2
// TB/s would allow 233 M matrices/s, its 67 TFLOPS 292 M. Split TF32 would lift the
// second alone, and so plain FFMA does.
template <bool coloured>
__global__ void __launch_bounds__(most_threads) equalize_by_gram(const gram_job job)
{
    extern __shared__ float4 shared_tile[];
    __shared__ gram_state state;
    float2* const tile = reinterpret_cast<float2*>(shared_tile);
    const int nr = job.receive;
    const int nt = job.layers;
    const tile_shape shape(nr, nt, job.chunk);
    const method m{ job.mmse, job.unbiased, job.ratio, 0 };
    const size_t part = quotient(blockIdx.x, job.matrices);
    const size_t local = blockIdx.x - part * job.matrices;
    const size_t matrix = job.first + local;
    const size_t group = quotient(matrix, job.tones);
    const size_t begin = part * job.chunk;
    const size_t left = min(job.chunk, job.symbols - begin);
    const size_t vector =
        (group * job.symbols + begin) * job.tones + (matrix - group * job.tones);
    const size_t apart = size_t(job.tones) * nr;
    size_t variance =
        job.variance_step ? quotient(coloured ? local : matrix, job.variance_step) : 0;
    if (job.whitener_of) {
        const int own = job.whitener_of[matrix];
        if ((own >= 0) != coloured) {
            return; // the other kernel's
        }
        variance = coloured ? own : variance;
    }
    const float2* const whitener =
        job.whiteners.inverse + variance * (nr * whitener_pitch(nr));

    const auto filter = [&](int first_tile, int gram_tiles, int row_tiles) {
        const int tiles = gram_tiles + row_tiles * ((shape.vectors + 1) / 2);
        for (int n = first_tile + threadIdx.x; n < tiles; n += blockDim.x) {
            int i, j;
            const bool of_gram = n < gram_tiles;
            if (of_gram) {
                find_pair(n, i, j);
            } else {
                j = (n - gram_tiles) / row_tiles;
                i = n - gram_tiles - j * row_tiles;
            }
            complex_lane sum[2][2];
            find_products(tile,
                          shape.pitch,
                          nr,
                          2 * i,
                          (of_gram ? 0 : shape.first_vector) + 2 * j,
                          sum);
            CUDAPHY_UNROLL
            for (int e = 0; e < 4; ++e) {
                const int r = 2 * i + e / 2;
                const int c = 2 * j + e % 2;
                const complex_lane value = sum[e / 2][e % 2];
                if (r < nt && !of_gram) {
                    state.z[c][r] = { value.re, value.im };
                } else if (r < nt && c <= r) {
                    state.g[pairs_of(r) + c] = { value.re, value.im };
                }
            }
        }
        __syncthreads();
    };

    const float n0 = coloured ? job.whiteners.variance[variance] : job.n0[variance];
    ask_channel(job.h + matrix * (nr * nt), shape, nr, nt, tile);
    ask_vectors(job.y + vector * nr,
                apart,
                int(min(left, size_t(shape.vectors))),
                shape,
                nr,
                tile);
    await_tile();
    if constexpr (coloured) {
        whiten_columns(whitener, tile, shape.pitch, nr, shape.rows, 0, shape.width);
    }
    const auto known = scale_channel(m, n0, nr, nt, shape.pitch, tile, state);
    const int row_tiles = shape.first_vector / 2;
    const int gram_tiles = pairs_of(row_tiles);
    filter(0, gram_tiles, row_tiles);
    const real status = find_gains(nt, m, known, state);
    if (part == 0 && threadIdx.x == 0) {
        job.status[matrix] = int(status);
    }

    for (size_t done = 0;;) {
        const int count = int(min(left - done, size_t(shape.vectors)));
        for (int n = threadIdx.x; n < count * nt; n += blockDim.x) {
            const int s = n / nt;
            const int i = n - s * nt;
            complex_lane sum = lane_of(state.z[s][i]);
            if (!m.ratio) {
                sum = { 0, 0 };
                _Pragma("unroll 4") for (int j = 0; j < nt; ++j)
                {
                    sum = add_product(
                        lane_of(state.inverse[i][j]), lane_of(state.z[s][j]), sum);
                }
            }
            sum = scaled(scaled(sum, state.gain[i]), known.scale);
            const bool present = is_finite(sum);
            const size_t to = (vector + (done + s) * job.tones) * nt + i;
            job.x[to] = present ? float2{ sum.re, sum.im } : float2{ 0, 0 };
            job.noise[to] = present ? state.noise[i] : float_infinity;
        }
        done += count;
        if (done >= left) {
            return;
        }
        ask_vectors(job.y + (vector + done * job.tones) * nr,
                    apart,
                    int(min(left - done, size_t(shape.vectors))),
                    shape,
                    nr,
                    tile);
        await_tile();
        if constexpr (coloured) {
            whiten_columns(whitener,
                           tile,
                           shape.pitch,
                           nr,
                           shape.rows,
                           shape.first_vector,
                           shape.width);
        }
        filter(gram_tiles, gram_tiles, row_tiles);
    }
}

class equalizer_by_gram : public equalizer_backend
{
public:
    equalizer_by_gram(const parameters& p, int device)
        : equalizer_backend(p), d_device(device)
    {
        const cuda_device_scope scope(device);
        cuda_check(cudaDeviceGetAttribute(
                       &d_room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
        if (p.method == detector::mmse_irc) {
            const size_t bytes = sizeof(float2) * square();
            d_most = std::max<size_t>(1, tuning::gram_workspace_bytes / bytes);
            d_inverse = std::make_unique<device_memory<float2>>(d_most * square());
            d_variance = std::make_unique<device_memory<float>>(d_most);
        }
    }
    ~equalizer_by_gram() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_inverse.reset();
        d_variance.reset();
    }

private:
    size_t square() const
    {
        return size_t(d_p.receive_antennas) * whitener_pitch(d_p.receive_antennas);
    }

    void equalize(const equalizer_shape& shape,
                  const equalizer_run& given,
                  queue& queue) override
    {
        const equalizer_items cut(shape);
        if (cut.items == 0) {
            return;
        }
        const size_t step = shape.matrices_a_variance();
        gram_job job{ reinterpret_cast<const float2*>(given.y.data()),
                      reinterpret_cast<const float2*>(given.h.data()),
                      given.n0.data(),
                      {},
                      step,
                      reinterpret_cast<float2*>(given.x.data()),
                      given.noise.data(),
                      given.status.data(),
                      0,
                      cut.matrices,
                      cut.items,
                      shape.symbols,
                      cut.chunk,
                      shape.receive,
                      shape.layers,
                      shape.tones,
                      d_p.method == detector::mmse || d_p.method == detector::mmse_irc,
                      d_p.unbiased,
                      d_p.method == detector::max_ratio };
        const cuda_device_scope scope(d_device);
        const auto stream = stream_of(queue);
        if (given.covariance.empty()) {
            launch_gram(job, stream);
            return;
        }
        // As many covariances at once as the workspace has room for, and what they serve.
        job.whiteners = { d_inverse->data(), d_variance->data() };
        const size_t serves = step ? step : shape.matrices();
        const size_t parts = cut.items / cut.matrices;
        const auto* const from = reinterpret_cast<const float2*>(given.covariance.data());
        for (size_t done = 0; done < shape.variances; done += d_most) {
            const size_t count = std::min(d_most, shape.variances - done);
            launch_whiteners(from + done * shape.receive * shape.receive,
                             count,
                             shape.receive,
                             job.whiteners,
                             d_room,
                             stream);
            job.first = done * serves;
            job.matrices = count * serves;
            job.items = job.matrices * parts;
            launch_gram(job, stream);
        }
    }

    const int d_device;
    int d_room = 0;
    size_t d_most = 0; //!< covariances of the workspace
    std::unique_ptr<device_memory<float2>> d_inverse;
    std::unique_ptr<device_memory<float>> d_variance;
};

} // namespace

void launch_gram(const gram_job& job, cudaStream_t stream)
{
    const tile_shape shape(job.receive, job.layers, job.chunk);
    const int row_tiles = shape.first_vector / 2;
    const int tiles = pairs_of(row_tiles) + row_tiles * ((shape.vectors + 1) / 2);
    const int held = (pairs_of(job.layers) + most_held - 1) / most_held;
    const int wanted = (std::max(tiles, held) + 31) / 32 * 32;
    const size_t bytes = sizeof(float2) * shape.rows * shape.pitch;
    const auto blocks = unsigned(job.items);
    if (!job.whiteners.inverse || job.whitener_of) {
        equalize_by_gram<false>
            <<<blocks, std::min(wanted, most_threads), bytes, stream>>>(job);
    }
    if (job.whiteners.inverse) {
        equalize_by_gram<true><<<blocks, most_threads, bytes, stream>>>(job);
    }
    cuda_check_launch("equalizer of many antennas");
}

std::unique_ptr<equalizer> make_equalizer_by_gram_cuda(const equalizer::parameters& p,
                                                       int device)
{
    return std::make_unique<equalizer_by_gram>(p, device);
}

} // namespace gr::cudaphy::kernels
