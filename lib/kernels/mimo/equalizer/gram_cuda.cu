/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/device_memory.cuh"
#include "kernels/mimo/equalizer/device.cuh"
#include "kernels/mimo/equalizer/gram_job.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_threads = tuning::gram_threads;
constexpr int most_layers = 16;
constexpr int round_vectors = 16; // of a matrix, at once
//! Elements of the Gram matrix's lower triangle that a thread holds.
constexpr int most_held = 3;
constexpr int square_pitch = most_layers + 1;

__host__ __device__ constexpr int even(int n) { return n + n % 2; }
__host__ __device__ constexpr int pairs_of(int layers)
{
    return layers * (layers + 1) / 2;
}

//! The tile [H | vectors of a round]: rows of antennas. Rows are even, as two neighbours
//! are loaded at once, and 2 more than a multiple of the banks if they are full.
struct tile_shape {
    __host__ __device__ tile_shape(int receive, int layers, size_t chunk)
        : rows(receive + receive % 2), first_vector(layers + layers % 2),
          vectors(chunk < round_vectors ? int(chunk) : round_vectors),
          width(first_vector + vectors + vectors % 2), pitch(width + 2)
    {
    }
    int rows, first_vector, vectors, width, pitch;
};

//! Shared memory of a block beside the tile.
struct gram_state {
    float2 g[pairs_of(most_layers)]; //!< H^H H, the lower triangle
    float2 column[2][most_layers];   //!< of the step of elimination, in turn
    float2 inverse[most_layers][square_pitch];
    float2 z[round_vectors][square_pitch]; //!< H^H y
    float gain[most_layers], noise[most_layers];
    float largest[most_threads / 32], zeros[most_threads / 32];
};

//! Where element e of a lower triangle lies.
CUDAPHY_LANE void find_pair(int e, int& i, int& j)
{
    i = 0;
    while (e > i) {
        e -= ++i;
    }
    j = e;
}

//! Two columns from `a` on times two from `b` on: sums over antennas of conj(left) right,
//! in blocks of gram_block.
CUDAPHY_LANE void find_products(
    const float2* tile, int pitch, int nr, int a, int b, complex_lane (&total)[2][2])
{
    CUDAPHY_UNROLL
    for (int i = 0; i < 4; ++i) {
        total[i / 2][i % 2] = { 0, 0 };
    }
    for (int first = 0; first < nr; first += gram_block) {
        complex_lane sum[2][2] = {};
        const auto add = [&](int r) {
            const float4 left = *reinterpret_cast<const float4*>(tile + r * pitch + a);
            const float4 right = *reinterpret_cast<const float4*>(tile + r * pitch + b);
            const complex_lane l[2] = { { left.x, left.y }, { left.z, left.w } };
            const complex_lane t[2] = { { right.x, right.y }, { right.z, right.w } };
            CUDAPHY_UNROLL
            for (int i = 0; i < 4; ++i) {
                sum[i / 2][i % 2] = add_dot(l[i / 2], t[i % 2], sum[i / 2][i % 2]);
            }
        };
        if (first + gram_block <= nr) {
            CUDAPHY_UNROLL
            for (int r = 0; r < gram_block; ++r) {
                add(first + r);
            }
        } else {
            for (int r = first; r < nr; ++r) {
                add(r);
            }
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < 4; ++i) {
            total[i / 2][i % 2].re += sum[i / 2][i % 2].re;
            total[i / 2][i % 2].im += sum[i / 2][i % 2].im;
        }
    }
}

//! Replaces columns first ... last - 1 (even) of the tile by L^-1 times them, from the
//! last antennas up, in place: two antennas and two columns a thread.
CUDAPHY_LANE void whiten_columns(
    const float2* by, float2* tile, int pitch, int nr, int rows, int first, int last)
{
    const int across = (last - first) / 2;
    const int slots = int(blockDim.x) / across;
    const int slot = int(threadIdx.x) / across;
    const int column = first + 2 * (int(threadIdx.x) - slot * across);
    const int step = 2 * slots;
    for (int begin = (rows - 1) / step * step; begin >= 0; begin -= step) {
        const int r = begin + 2 * slot;
        const bool on = slot < slots && r < nr;
        complex_lane sum[2][2] = {};
        if (on) {
            const float2* const m0 = by + r * rows;
            const float2* const m1 = r + 1 < nr ? m0 + rows : m0;
            // Zeros above the diagonal; column `nr`, where there is one, is 0.
            for (int c = 0; c <= r; c += 2) {
                const float4 left0 = *reinterpret_cast<const float4*>(m0 + c);
                const float4 left1 = *reinterpret_cast<const float4*>(m1 + c);
                CUDAPHY_UNROLL
                for (int k = 0; k < 2; ++k) {
                    const float4 right =
                        *reinterpret_cast<const float4*>(tile + (c + k) * pitch + column);
                    const complex_lane x{ right.x, right.y }, y{ right.z, right.w };
                    const complex_lane a = k ? complex_lane{ left0.z, left0.w }
                                             : complex_lane{ left0.x, left0.y };
                    const complex_lane b = k ? complex_lane{ left1.z, left1.w }
                                             : complex_lane{ left1.x, left1.y };
                    sum[0][0] = add_product(a, x, sum[0][0]);
                    sum[0][1] = add_product(a, y, sum[0][1]);
                    sum[1][0] = add_product(b, x, sum[1][0]);
                    sum[1][1] = add_product(b, y, sum[1][1]);
                }
            }
        }
        __syncthreads();
        CUDAPHY_UNROLL
        for (int i = 0; i < 2; ++i) {
            if (on && r + i < nr) {
                *reinterpret_cast<float4*>(tile + (r + i) * pitch + column) = {
                    sum[i][0].re, sum[i][0].im, sum[i][1].re, sum[i][1].im
                };
            }
        }
    }
    __syncthreads();
}

//! Reads H, a row an antenna; an odd number of layers gets a column of zeros.
CUDAPHY_LANE void
read_channel(const float2* from, const tile_shape& shape, int nr, int nt, float2* tile)
{
    const int step = int(blockDim.x);
    int r = int(threadIdx.x) / nt;
    int t = int(threadIdx.x) - r * nt;
    for (int e = threadIdx.x; e < nr * nt; e += step) {
        tile[r * shape.pitch + t] = from[e];
        t += step % nt;
        r += step / nt;
        if (t >= nt) {
            t -= nt;
            ++r;
        }
    }
    if (nt % 2) {
        for (int row = threadIdx.x; row < nr; row += step) {
            tile[row * shape.pitch + nt] = { 0, 0 };
        }
    }
    if (nr % 2) {
        for (int c = threadIdx.x; c < shape.width; c += step) {
            tile[nr * shape.pitch + c] = { 0, 0 };
        }
    }
}

//! Reads up to a round of vectors, `apart` elements from each other, a column each, and
//! zeros in the place of those that lack.
CUDAPHY_LANE void read_vectors(const float2* from,
                               size_t apart,
                               int count,
                               const tile_shape& shape,
                               int nr,
                               float2* tile)
{
    const int lane = threadIdx.x % 32;
    for (int s = threadIdx.x / 32; s < even(shape.vectors); s += blockDim.x / 32) {
        float2* const to = tile + shape.first_vector + s;
        for (int r = lane; r < nr; r += 32) {
            to[r * shape.pitch] = s < count ? from[s * apart + r] : float2{ 0, 0 };
        }
    }
}

//! Scales H in the tile, and finds out how.
CUDAPHY_LANE matrix_scale scale_channel(
    method m, float n0, int nr, int columns, int pitch, float2* tile, gram_state& state)
{
    const int warps = int(blockDim.x) / 32;
    const int step = int(blockDim.x) / columns;
    const int column = int(threadIdx.x) % columns;
    const int first = int(threadIdx.x) / columns; // `step` and above: none
    real largest = 0;
    real zeros = 0;
    for (int r = first; r < nr && first < step; r += step) {
        const float2 value = tile[r * pitch + column];
        largest = larger(largest, larger(magnitude(value.x), magnitude(value.y)));
        zeros = fused(value.y, 0, fused(value.x, 0, zeros));
    }
    for (int apart = 16; apart; apart /= 2) {
        largest = larger(largest, __shfl_xor_sync(whole_warp, largest, apart));
        zeros += __shfl_xor_sync(whole_warp, zeros, apart);
    }
    if (threadIdx.x % 32 == 0) {
        state.largest[threadIdx.x / 32] = largest;
        state.zeros[threadIdx.x / 32] = zeros;
    }
    __syncthreads();
    for (int w = 0; w < warps; ++w) {
        largest = larger(largest, state.largest[w]);
        zeros += state.zeros[w];
    }
    const matrix_scale known = find_scale(m, n0, largest, zeros);
    for (int r = first; r < nr && first < step; r += step) {
        float2& value = tile[r * pitch + column];
        value = { value.x * known.scale, value.y * known.scale };
    }
    __syncthreads();
    return known;
}

//! Inverts G + N0 I by the steps of find_gram_inverse() (gram-inl.h), with the elements
//! spread over the block's threads. Returns the status.
CUDAPHY_LANE real find_gram_inverse(int nt, method m, real n0, gram_state& state)
{
    complex_lane a[most_held];
    int row[most_held], column[most_held];
    const int pairs = pairs_of(nt);
    CUDAPHY_UNROLL
    for (int n = 0; n < most_held; ++n) {
        const int e = int(threadIdx.x + n * blockDim.x);
        row[n] = column[n] = -1;
        if (e < pairs) {
            find_pair(e, row[n], column[n]);
            a[n] = lane_of(state.g[e]);
            if (m.mmse && row[n] == column[n]) {
                a[n].re += n0;
            }
        }
    }
    real status = 0;
    for (int k = 0; k < nt; ++k) {
        float2* const shared = state.column[k % 2];
        CUDAPHY_UNROLL
        for (int n = 0; n < most_held; ++n) {
            if (row[n] == k) {
                shared[column[n]] = { a[n].re, 0 - a[n].im };
            } else if (column[n] == k) {
                shared[row[n]] = { a[n].re, a[n].im };
            }
        }
        __syncthreads();
        real pivot = shared[k].x;
        if (m.mmse) {
            pivot = larger(pivot, n0);
        } else if (!(pivot > gram_rank_tolerance * state.g[pairs_of(k + 1) - 1].x) &&
                   !(status > 0)) {
            status = real(k + 1);
        }
        const real by = 1.0f / pivot;
        CUDAPHY_UNROLL
        for (int n = 0; n < most_held; ++n) {
            if (row[n] < 0) {
                continue;
            }
            const complex_lane i = lane_of(shared[row[n]]);
            const complex_lane j = lane_of(shared[column[n]]);
            if (row[n] == k && column[n] == k) {
                a[n] = { 0 - by, 0 };
            } else if (row[n] == k) {
                const complex_lane value = scaled(j, by);
                a[n] = { value.re, 0 - value.im };
            } else if (column[n] == k) {
                a[n] = scaled(i, by);
            } else {
                a[n] = less_product(scaled(i, by), { j.re, 0 - j.im }, a[n]);
            }
        }
    }
    CUDAPHY_UNROLL
    for (int n = 0; n < most_held; ++n) {
        if (row[n] >= 0) {
            const complex_lane value{ 0 - a[n].re, 0 - a[n].im };
            state.inverse[row[n]][column[n]] = { value.re, value.im };
            if (row[n] != column[n]) {
                state.inverse[column[n]][row[n]] = { value.re, 0 - value.im };
            }
        }
    }
    __syncthreads();
    return status;
}

CUDAPHY_LANE complex_lane gram_at(const gram_state& state, int i, int j)
{
    return lane_of(state.g[j < i ? pairs_of(i) + j : pairs_of(j) + i]);
}

//! Gain and noise of the thread's layer by max ratio, as find_ratio_gains(). Returns the
//! status.
CUDAPHY_LANE real find_ratio_gain(int nt, method m, matrix_scale known, gram_state& state)
{
    const int i = threadIdx.x;
    int absent = most_layers + 1;
    if (i < nt) {
        const real length = gram_at(state, i, i).re;
        real interference = 0;
        for (int j = 0; j < nt; ++j) {
            if (j != i) {
                interference = add_norm(gram_at(state, i, j), interference);
            }
        }
        const bool kept = length > float_min;
        absent = kept ? absent : i + 1;
        const real by = 1.0f / length;
        const real noise =
            fused(known.noise_amplitude * known.noise_amplitude, length, interference);
        const layer_gain layer = find_gain(m, known.usable && kept, noise * by * by, 0);
        state.gain[i] = layer.present ? by : 0;
        state.noise[i] = layer.noise;
    }
    for (int apart = 16; apart; apart /= 2) {
        absent = min(absent, __shfl_xor_sync(whole_warp, absent, apart));
    }
    return absent > most_layers ? 0.0f : real(absent); // thread 0's is right
}

//! Gains and noise, as find_gains(). Returns the status, to thread 0 at least.
CUDAPHY_LANE real find_gains(int nt, method m, matrix_scale known, gram_state& state)
{
    real status = 0;
    if (m.ratio) {
        status = find_ratio_gain(nt, m, known, state);
    } else {
        real n0 = known.noise_amplitude * known.noise_amplitude;
        if (m.mmse) {
            real most = 0;
            for (int i = 0; i < nt; ++i) {
                most = larger(most, gram_at(state, i, i).re);
            }
            n0 = larger(n0, gram_least_noise * most);
        }
        status = find_gram_inverse(nt, m, n0, state);
        const int i = threadIdx.x;
        if (i < nt) {
            real b = 0;
            for (int j = 0; j < nt && m.mmse; ++j) {
                // The lower triangle's elements, of which this sum takes no sign.
                const complex_lane v = lane_of(state.inverse[max(i, j)][min(i, j)]);
                const complex_lane g = gram_at(state, i, j);
                b = fused(v.im, g.im, fused(v.re, g.re, b));
            }
            const layer_gain layer =
                find_gain(m, known.usable && status == 0, state.inverse[i][i].x * n0, b);
            state.gain[i] = layer.gain;
            state.noise[i] = layer.noise;
        }
    }
    __syncthreads();
    return known.usable ? status : -1.0f;
}

// An item (a matrix with the vectors it serves) a block. H and a round of vectors lie in
// shared memory, where a thread takes 2 x 2 products over all antennas: of the Gram
// matrix's lower triangle, and of H^H y. The inverse of order Nt then serves all vectors.
//
// Bounds of 64 x 16, 14 vectors a matrix: 18 KB move, and 33,000 complex products (Gram
// 8,700, H^H y 14,300, inverse and its products 5,600, the tiles' other half not counted)
// are 0.26 Mflop. An H200's 4.0 TB/s would allow 222 M matrices/s, its 67 TFLOPS 255 M.
// Split TF32 would lift the second alone, and so plain FFMA does.
__global__ void __launch_bounds__(most_threads) equalize_by_gram(const gram_job job)
{
    extern __shared__ float4 shared[];
    __shared__ gram_state state;
    float2* const tile = reinterpret_cast<float2*>(shared);
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
    const bool coloured = job.whiteners.inverse;
    const size_t variance =
        job.variance_step ? quotient(coloured ? local : matrix, job.variance_step) : 0;
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
    read_channel(job.h + matrix * (nr * nt), shape, nr, nt, tile);
    read_vectors(job.y + vector * nr,
                 apart,
                 int(min(left, size_t(shape.vectors))),
                 shape,
                 nr,
                 tile);
    __syncthreads();
    if (coloured) {
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
                for (int j = 0; j < nt; ++j) {
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
        read_vectors(job.y + (vector + done * job.tones) * nr,
                     apart,
                     int(min(left - done, size_t(shape.vectors))),
                     shape,
                     nr,
                     tile);
        __syncthreads();
        if (coloured) {
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
        const size_t step = shape.variances == 1                  ? 0
                            : shape.variances == shape.matrices() ? 1
                                                                  : size_t(shape.tones);
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
    const int threads =
        job.whiteners.inverse ? most_threads : std::min(wanted, most_threads);
    equalize_by_gram<<<unsigned(job.items),
                       threads,
                       sizeof(float2) * shape.rows * shape.pitch,
                       stream>>>(job);
    cuda_check_launch("equalizer of many antennas");
}

std::unique_ptr<equalizer> make_equalizer_by_gram_cuda(const equalizer::parameters& p,
                                                       int device)
{
    return std::make_unique<equalizer_by_gram>(p, device);
}

} // namespace gr::cudaphy::kernels
