/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_check.cuh"
#include "kernels/mimo/equalizer_makers.h"
#include <cuda_runtime.h>

namespace gr::cudaphy::kernels {
namespace {

#define CUDAPHY_LANE __device__ __forceinline__
#define CUDAPHY_UNROLL _Pragma("unroll")
#define CUDAPHY_WHOLE_MATRIX_LANE

using real = float;
using mask = bool;

CUDAPHY_LANE real constant(float value) { return value; }
CUDAPHY_LANE real fused(real a, real b, real c) { return __fmaf_rn(a, b, c); }
CUDAPHY_LANE real fused_less(real a, real b, real c) { return __fmaf_rn(-a, b, c); }
CUDAPHY_LANE real larger(real a, real b) { return fmaxf(a, b); }
CUDAPHY_LANE real magnitude(real a) { return fabsf(a); }
CUDAPHY_LANE real square_root(real a) { return sqrtf(a); }
CUDAPHY_LANE mask both(mask a, mask b) { return a && b; }
CUDAPHY_LANE real choose(mask m, real a, real b) { return m ? a : b; }
CUDAPHY_LANE real unscale(real a)
{
    // With exponent field E, 2^(127 - E) has the field 254 - E.
    const unsigned field = __float_as_uint(a) & 0x7F800000u;
    return __uint_as_float((254u << 23) - min(max(field, 7u << 23), 247u << 23));
}

#include "kernels/mimo/equalizer_lane-inl.h"

constexpr unsigned whole_warp = 0xFFFFFFFFu;

struct cuda_job {
    const float2* y;
    const float2* h;
    const float* n0;
    float2* x;
    float* noise;
    int* status;
    size_t matrices, items;
    int receive, layers, symbols, tones, chunk;
    bool one_n0;
    method m;
};

//! Which vectors an item has. Threads beyond the last item repeat it, and write nothing.
struct item_place {
    size_t matrix, group, vector; //!< vector: its first
    int left;                     //!< vectors
    bool active, first;           //!< first: of its matrix
};

__device__ size_t quotient(size_t a, size_t b)
{
    return (a | b) >> 32 ? a / b : unsigned(a) / unsigned(b);
}

__device__ item_place find_place(const cuda_job& job, size_t item)
{
    item_place place;
    place.active = item < job.items;
    item = place.active ? item : job.items - 1;
    const size_t part = item < job.matrices ? 0 : quotient(item, job.matrices);
    place.first = part == 0;
    place.matrix = item - part * job.matrices;
    place.group = job.tones == 1 ? place.matrix : quotient(place.matrix, job.tones);
    const int begin = int(part) * job.chunk;
    place.left = min(job.chunk, job.symbols - begin);
    place.vector = (place.group * job.symbols + begin) * job.tones +
                   (place.matrix - place.group * job.tones);
    return place;
}

constexpr int register_threads = 128;
constexpr size_t nowhere = ~size_t{ 0 };

//! Rows of `Width` elements in shared memory, one for each thread of a warp; the odd
//! pitch puts a column into different banks.
template <int Width>
constexpr int pitch = Width | 1;

//! The row at from[at] for each thread; the warp reads consecutive elements together.
template <int Width>
__device__ void read_rows(const float2* from, size_t at, float2* rows)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    CUDAPHY_UNROLL
    for (int i = 0; i < Width; ++i) {
        const int index = i * 32 + lane;
        const int row = index / Width;
        const size_t start = __shfl_sync(whole_warp, at, row);
        rows[row * pitch<Width> + index % Width] = from[start + index % Width];
    }
    __syncwarp();
}

//! The other way; rows whose place is `nowhere` stay.
template <int Width, typename T>
__device__ void write_rows(const T* rows, T* to, size_t at)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    CUDAPHY_UNROLL
    for (int i = 0; i < Width; ++i) {
        const int index = i * 32 + lane;
        const int row = index / Width;
        const size_t start = __shfl_sync(whole_warp, at, row);
        if (start != nowhere) {
            to[start + index % Width] = rows[row * pitch<Width> + index % Width];
        }
    }
    __syncwarp();
}

// One item a thread, for the commonest numbers of antennas: Q, R, and what stands below H
// live in registers (4x4: 32 + 20 + 20), so that device memory is touched once. A 4x4
// item of one vector moves 212 bytes, 4.8 TB/s / 212 = 22 G items/s, and computes about
// 200 complex products, which take an H200 about as long. A thread's own rows of H, y and
// x lie apart by their length, so a warp moves them through shared memory, whole lines at
// a time.
template <int Nr, int Nt>
__global__ void __launch_bounds__(register_threads)
    equalize_in_registers(const cuda_job job)
{
    __shared__ float2 shared[register_threads * pitch<Nr * Nt>];
    float2* const rows = shared + threadIdx.x / 32 * 32 * pitch<Nr * Nt>;
    const int lane = threadIdx.x % 32;
    const auto place =
        find_place(job, size_t{ blockIdx.x } * register_threads + threadIdx.x);

    read_rows<Nr * Nt>(job.h, place.matrix * (Nr * Nt), rows);
    lane_weights<antennas<Nr, Nt>> weights;
    const float2* const own = rows + lane * pitch<Nr * Nt>;
    find_weights(
        antennas<Nr, Nt>{},
        job.m,
        job.n0[job.one_n0 ? 0 : place.group],
        [&](int r, int t) {
            return complex_lane{ own[r * Nt + t].x, own[r * Nt + t].y };
        },
        weights);
    if (place.active && place.first) {
        job.status[place.matrix] = int(weights.status);
    }

    for (int s = 0; s < job.chunk; ++s) {
        const size_t vector = place.vector + size_t(min(s, place.left - 1)) * job.tones;
        read_rows<Nr>(job.y, vector * Nr, rows);
        complex_lane y[Nr];
        CUDAPHY_UNROLL
        for (int r = 0; r < Nr; ++r) {
            const float2 value = rows[lane * pitch<Nr> + r];
            y[r] = { value.x, value.y };
        }
        __syncwarp();
        bool present[Nt];
        CUDAPHY_UNROLL
        for (int t = 0; t < Nt; ++t) {
            complex_lane sum{ 0, 0 };
            CUDAPHY_UNROLL
            for (int r = 0; r < Nr; ++r) {
                sum = add_product(weights.q[t][r], y[r], sum);
            }
            present[t] = is_finite(sum);
            rows[lane * pitch<Nt> + t] =
                present[t] ? float2{ sum.re, sum.im } : float2{ 0, 0 };
        }
        const size_t to = place.active && s < place.left ? vector * Nt : nowhere;
        write_rows<Nt>(rows, job.x, to);
        float* const numbers = reinterpret_cast<float*>(rows);
        CUDAPHY_UNROLL
        for (int t = 0; t < Nt; ++t) {
            numbers[lane * pitch<Nt> + t] =
                present[t] ? weights.noise[t] : float_infinity;
        }
        write_rows<Nt>(numbers, job.noise, to);
    }
}

constexpr int group_threads = 64;

//! What a group keeps of its item in shared memory: matrices by rows of `row` elements.
struct group_memory {
    __host__ __device__ group_memory(int receive, int layers)
        : row(layers | 1), below(receive * row), factor(below + layers * row),
          dot(factor + layers * row), y(dot + layers), inverse(y + receive),
          size(inverse + (layers + 1) / 2)
    {
    }
    int row;
    int below, factor, dot, y, inverse; //!< where they begin; q begins at 0
    int size;                           //!< in complex numbers
};

CUDAPHY_LANE complex_lane at(const float2* from, int index)
{
    const float2 value = from[index];
    return { value.x, value.y };
}

CUDAPHY_LANE void put(complex_lane value, float2* to, int index)
{
    to[index] = { value.re, value.im };
}

// One item a group of Nr threads, rounded up to a power of two, for any number of
// antennas: the matrices lie in shared memory (16x16: 6.9 KB), whose odd rows put both
// rows and columns into different banks. Products with the columns so far are taken with
// a column a thread, and subtracted with a row a thread, so that every sum runs in the
// order of a lane. An item of 16x16 and one vector moves 2.5 KB and computes about 13000
// complex products: 4.8 TB/s would allow 1.9 G items/s, the arithmetic about 0.6 G.
__global__ void __launch_bounds__(group_threads)
    equalize_in_groups(const cuda_job job, int group_size)
{
    extern __shared__ float2 shared[];
    const int nr = job.receive;
    const int nt = job.layers;
    const group_memory where(nr, nt);
    const int l = threadIdx.x % group_size;
    const int slot = threadIdx.x / group_size;
    float2* const q = shared + slot * where.size;
    float2* const below = q + where.below;
    float2* const factor = q + where.factor;
    float2* const dot = q + where.dot;
    float2* const y = q + where.y;
    float* const inverse = reinterpret_cast<float*>(q + where.inverse);
    const int row = where.row;
    const auto place =
        find_place(job, size_t{ blockIdx.x } * (group_threads / group_size) + slot);
    const float2* const h = job.h + place.matrix * (nr * nt);
    const method m = job.m;

    real largest = 0;
    real zeros = 0;
    for (int e = l; e < nr * nt; e += group_size) {
        const complex_lane value = at(h, e);
        put(value, q, e / nt * row + e % nt);
        largest = larger(largest, larger(magnitude(value.re), magnitude(value.im)));
        zeros = fused(value.im, 0, fused(value.re, 0, zeros));
    }
    for (int apart = group_size / 2; apart; apart /= 2) {
        largest = larger(largest, __shfl_xor_sync(whole_warp, largest, apart));
        zeros += __shfl_xor_sync(whole_warp, zeros, apart);
    }
    const auto known =
        find_scale(m, job.n0[job.one_n0 ? 0 : place.group], largest, zeros);
    for (int e = l; e < nr * nt; e += group_size) {
        const int index = e / nt * row + e % nt;
        put(scaled(at(q, index), known.scale), q, index);
    }
    __syncwarp();

    real status = 0;
    for (int k = 0; k < nt; ++k) {
        real before = 0;
        for (int r = 0; r < nr; ++r) {
            before = add_norm(at(q, r * row + k), before);
        }
        if (l < k) {
            put({ 0, 0 }, below, l * row + k);
            put({ 0, 0 }, factor, l * row + k);
        }
        __syncwarp();
        for (int pass = 0; pass < 2; ++pass) {
            if (l < k) {
                complex_lane sum{ 0, 0 };
                for (int r = 0; r < nr; ++r) {
                    sum = add_dot(at(q, r * row + l), at(q, r * row + k), sum);
                }
                if (m.mmse && pass) {
                    for (int i = 0; i <= l; ++i) {
                        sum =
                            add_dot(at(below, i * row + l), at(below, i * row + k), sum);
                    }
                }
                put(sum, dot, l);
                const complex_lane so_far = at(factor, l * row + k);
                put({ so_far.re + sum.re, so_far.im + sum.im }, factor, l * row + k);
            }
            __syncwarp();
            if (l < nr) {
                complex_lane value = at(q, l * row + k);
                for (int j = 0; j < k; ++j) {
                    value = less_product(at(q, l * row + j), at(dot, j), value);
                }
                put(value, q, l * row + k);
            }
            if (m.mmse && l < k) {
                complex_lane value = at(below, l * row + k);
                for (int j = l; j < k; ++j) {
                    value = less_product(at(below, l * row + j), at(dot, j), value);
                }
                put(value, below, l * row + k);
            }
            __syncwarp();
        }
        real length = 0;
        for (int r = 0; r < nr; ++r) {
            length = add_norm(at(q, r * row + k), length);
        }
        if (m.mmse) {
            for (int i = 0; i < k; ++i) {
                length = add_norm(at(below, i * row + k), length);
            }
            length = fused(known.noise_amplitude, known.noise_amplitude, length);
        }
        length = square_root(length);
        if (!m.mmse && !(length > m.rank_tolerance * square_root(before)) &&
            !(status > 0)) {
            status = float(k + 1);
        }
        const real by = 1.0f / length;
        __syncwarp();
        if (l < nr) {
            put(scaled(at(q, l * row + k), by), q, l * row + k);
        }
        if (l < k) {
            put(scaled(at(below, l * row + k), by), below, l * row + k);
        }
        if (l == k) {
            put({ known.noise_amplitude * by, 0 }, below, k * row + k);
            inverse[k] = by;
        }
        __syncwarp();
    }

    // R^-1 takes the place of what stood below H.
    if (l < nt) {
        for (int i = l; i >= 0; --i) {
            complex_lane sum{ 0, 0 };
            for (int j = i + 1; j <= l; ++j) {
                sum = less_product(at(factor, i * row + j), at(below, j * row + l), sum);
            }
            put(i == l ? complex_lane{ inverse[l], 0 } : scaled(sum, inverse[i]),
                below,
                i * row + l);
        }
    }
    if (l < nr) {
        for (int i = nt - 1; i >= 0; --i) {
            const complex_lane element = at(q, l * row + i);
            complex_lane sum{ element.re, 0 - element.im };
            for (int j = i + 1; j < nt; ++j) {
                sum = less_product(at(factor, i * row + j), at(q, l * row + j), sum);
            }
            put(scaled(sum, inverse[i]), q, l * row + i);
        }
    }
    __syncwarp();

    real noise = 0;
    if (l < nt) {
        for (int c = l; c < nt; ++c) {
            noise = add_norm(at(below, l * row + c), noise);
        }
        real b = 0;
        if (m.mmse) {
            for (int r = 0; r < nr; ++r) {
                const complex_lane element = scaled(at(h, r * nt + l), known.scale);
                const complex_lane w = at(q, r * row + l);
                b = fused_less(w.im, element.im, fused(w.re, element.re, b));
            }
        }
        const real error = noise * known.noise_amplitude * known.noise_amplitude;
        const layer_gain layer = find_gain(m, known.usable && status == 0, error, b);
        noise = layer.noise;
        for (int r = 0; r < nr; ++r) {
            const complex_lane w =
                scaled(scaled(at(q, r * row + l), layer.gain), known.scale);
            put(layer.present ? w : complex_lane{ 0, 0 }, q, r * row + l);
        }
    }
    if (place.active && place.first && l == 0) {
        job.status[place.matrix] = known.usable ? int(status) : -1;
    }
    __syncwarp();

    for (int s = 0; s < job.chunk; ++s) {
        const size_t vector = place.vector + size_t(min(s, place.left - 1)) * job.tones;
        if (l < nr) {
            put(at(job.y, vector * nr + l), y, l);
        }
        __syncwarp();
        if (place.active && s < place.left && l < nt) {
            complex_lane sum{ 0, 0 };
            for (int r = 0; r < nr; ++r) {
                sum = add_product(at(q, r * row + l), at(y, r), sum);
            }
            const bool present = is_finite(sum);
            put(present ? sum : complex_lane{ 0, 0 }, job.x, vector * nt + l);
            job.noise[vector * nt + l] = present ? noise : float_infinity;
        }
        __syncwarp();
    }
}

class equalizer_cuda : public equalizer
{
public:
    equalizer_cuda(const parameters& p, int device) : d_p(p), d_device(device) {}

    void run(view<const complex64> y,
             view<const complex64> h,
             view<const float> n0,
             view<complex64> x,
             view<float> noise,
             view<int> status,
             queue& queue) override
    {
        const size_t groups = equalizer_groups(
            d_p, y.size(), h.size(), n0.size(), x.size(), noise.size(), status.size());
        const equalizer_items cut(d_p, groups);
        if (cut.items == 0) {
            return;
        }
        const cuda_job job{ reinterpret_cast<const float2*>(y.data()),
                            reinterpret_cast<const float2*>(h.data()),
                            n0.data(),
                            reinterpret_cast<float2*>(x.data()),
                            noise.data(),
                            status.data(),
                            cut.matrices,
                            cut.items,
                            d_p.receive_antennas,
                            d_p.layers,
                            d_p.symbols,
                            d_p.tones,
                            cut.chunk,
                            n0.size() == 1,
                            { d_p.method == detector::mmse,
                              d_p.unbiased,
                              rank_tolerance_per_antenna *
                                  float(d_p.receive_antennas) } };
        cuda_device_scope scope(d_device);
        launch(job, stream_of(queue));
        cuda_check_launch("equalizer");
    }

private:
    static unsigned blocks(const cuda_job& job, int items_a_block)
    {
        return unsigned((job.items + items_a_block - 1) / items_a_block);
    }

    template <int Nr, int Nt>
    static bool launch_in_registers(const cuda_job& job, cudaStream_t stream)
    {
        if (job.receive != Nr || job.layers != Nt) {
            return false;
        }
        equalize_in_registers<Nr, Nt>
            <<<blocks(job, register_threads), register_threads, 0, stream>>>(job);
        return true;
    }

    static void launch(const cuda_job& job, cudaStream_t stream)
    {
        if (launch_in_registers<1, 1>(job, stream) ||
            launch_in_registers<2, 1>(job, stream) ||
            launch_in_registers<2, 2>(job, stream) ||
            launch_in_registers<4, 1>(job, stream) ||
            launch_in_registers<4, 2>(job, stream) ||
            launch_in_registers<4, 4>(job, stream)) {
            return;
        }
        int group_size = 2;
        while (group_size < job.receive) {
            group_size *= 2;
        }
        const int items = group_threads / group_size;
        const size_t memory =
            items * group_memory(job.receive, job.layers).size * sizeof(float2);
        equalize_in_groups<<<blocks(job, items), group_threads, memory, stream>>>(
            job, group_size);
    }

    parameters d_p;
    int d_device;
};

} // namespace

std::unique_ptr<equalizer> make_equalizer_cuda(const equalizer::parameters& p, int device)
{
    return std::make_unique<equalizer_cuda>(p, device);
}

} // namespace gr::cudaphy::kernels
