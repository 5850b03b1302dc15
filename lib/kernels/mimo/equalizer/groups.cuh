/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/mimo/equalizer/device.cuh"

namespace gr::cudaphy::kernels {
namespace {

constexpr int group_threads = tuning::group_threads;

//! A group's part of shared memory: matrices by rows of `row` elements.
struct group_memory {
    __host__ __device__ group_memory(int receive, int layers, bool coloured)
        : row(layers | 1), below(receive * row), factor(below + layers * row),
          dot(factor + layers * row), y(dot + layers), inverse(y + receive),
          l_row(receive | 1), l(inverse + (layers + 1) / 2),
          size(l + (coloured ? receive * l_row + receive : 0))
    {
    }
    int row;
    int below, factor, dot, y, inverse; //!< where the matrices begin; q begins at 0
    int l_row, l; //!< the covariance's factor, and each pivot and 1 / sqrt of it
    int size;     //!< in complex numbers
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

//! Factors the covariance by a group, lane l its row l, in the order of find_whitener(),
//! and replaces H by L^-1 H in q. Returns the noise variance after it.
__device__ float whiten_in_group(const cuda_job& job,
                                 const group_memory& where,
                                 size_t matrix,
                                 float2* q,
                                 int l,
                                 int group_size)
{
    const int nr = job.receive;
    const float2* const from = job.covariance + variance_of(job, matrix) * (nr * nr);
    float2* const factor = q + where.l;
    float2* const pivots = factor + nr * where.l_row;
    const int row = where.l_row;
    real zeros = 0;
    bool usable = true;
    for (int c = 0; c < nr; ++c) {
        complex_lane sum{ 0, 0 };
        if (l == c) {
            const real before = at(from, c * nr + c).re;
            zeros = fused(before, 0, zeros);
            real pivot = before;
            for (int k = 0; k < c; ++k) {
                const complex_lane e = at(factor, c * row + k);
                pivot = fused_less(e.im, e.im, fused_less(e.re, e.re, pivot));
            }
            usable = pivot > least_pivot * before;
            put({ pivot, 1.0f / square_root(pivot) }, pivots, c);
        } else if (l > c && l < nr) {
            sum = at(from, l * nr + c);
            zeros = fused(sum.im, 0, fused(sum.re, 0, zeros));
            for (int k = 0; k < c; ++k) {
                const complex_lane e = at(factor, c * row + k);
                sum = less_product(at(factor, l * row + k), { e.re, 0 - e.im }, sum);
            }
        }
        __syncwarp();
        if (l > c && l < nr) {
            put(scaled(sum, at(pivots, c).im), factor, l * row + c);
        }
        __syncwarp();
    }
    int bad = !(usable && zeros == 0);
    for (int apart = group_size / 2; apart; apart /= 2) {
        bad |= __shfl_xor_sync(whole_warp, bad, apart);
    }
    if (l < job.layers) {
        for (int r = 0; r < nr; ++r) {
            complex_lane value = at(q, r * where.row + l);
            for (int c = 0; c < r; ++c) {
                value = less_product(
                    at(factor, r * row + c), at(q, c * where.row + l), value);
            }
            put(scaled(value, at(pivots, r).im), q, r * where.row + l);
        }
    }
    __syncwarp();
    return bad ? float_infinity : 1.0f;
}

//! Max-ratio weights of layer l, as find_ratio_weights(), in its column of q.
__device__ real weigh_by_ratio(const cuda_job& job,
                               const group_memory& where,
                               const matrix_scale& known,
                               float2* q,
                               int l,
                               int group_size,
                               real& status)
{
    const int nr = job.receive;
    const int row = where.row;
    real length = 0;
    real noise = 0;
    if (l < job.layers) {
        for (int r = 0; r < nr; ++r) {
            length = add_norm(at(q, r * row + l), length);
        }
        for (int j = 0; j < job.layers; ++j) {
            complex_lane dot{ 0, 0 };
            for (int r = 0; r < nr && j != l; ++r) {
                dot = add_dot(at(q, r * row + l), at(q, r * row + j), dot);
            }
            noise = add_norm(dot, noise);
        }
        noise = fused(known.noise_amplitude * known.noise_amplitude, length, noise);
    }
    int first = l < job.layers && !(length > float_min) ? l + 1 : 99;
    for (int apart = group_size / 2; apart; apart /= 2) {
        first = min(first, __shfl_xor_sync(whole_warp, first, apart));
    }
    status = first == 99 ? 0.0f : float(first);
    __syncwarp();
    if (l < job.layers) {
        const real inverse = 1.0f / length;
        const layer_gain layer = find_gain(method_of(job),
                                           known.usable && length > float_min,
                                           noise * inverse * inverse,
                                           0);
        noise = layer.noise;
        for (int r = 0; r < nr; ++r) {
            const complex_lane w =
                scaled(scaled(at(q, r * row + l), inverse), known.scale);
            put(layer.present ? complex_lane{ w.re, 0 - w.im } : complex_lane{ 0, 0 },
                q,
                r * row + l);
        }
    }
    __syncwarp();
    return noise;
}

// One item a group of threads, for any number of antennas. A group has as many threads as
// the larger of Nr and Nt, rounded up to a power of two. The matrices lie in shared
// memory (16x16: 6.9 KB), whose odd rows put both rows and columns into different banks.
// Products with the columns so far are taken with a column a thread, and subtracted with
// a row a thread, so that every sum runs in the order of a lane. An item of 16x16 and one
// vector moves 2.5 KB and computes about 13000 complex products: 4.8 TB/s would allow 1.9
// G items/s, the arithmetic about 0.6 G.
__global__ void __launch_bounds__(group_threads)
    equalize_in_groups(const cuda_job job, int group_size)
{
    extern __shared__ float2 shared[];
    const int nr = job.receive;
    const int nt = job.layers;
    const group_memory where(nr, nt, job.covariance);
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
    const method m = method_of(job);

    for (int e = l; e < nr * nt; e += group_size) {
        put(at(h, e), q, e / nt * row + e % nt);
    }
    __syncwarp();
    const float n0 = job.covariance
                         ? whiten_in_group(job, where, place.matrix, q, l, group_size)
                         : job.n0[variance_of(job, place.matrix)];
    real largest = 0;
    real zeros = 0;
    for (int e = l; e < nr * nt; e += group_size) {
        const complex_lane value = at(q, e / nt * row + e % nt);
        largest = larger(largest, larger(magnitude(value.re), magnitude(value.im)));
        zeros = fused(value.im, 0, fused(value.re, 0, zeros));
    }
    for (int apart = group_size / 2; apart; apart /= 2) {
        largest = larger(largest, __shfl_xor_sync(whole_warp, largest, apart));
        zeros += __shfl_xor_sync(whole_warp, zeros, apart);
    }
    const auto known = find_scale(m, n0, largest, zeros);
    for (int e = l; e < nr * nt; e += group_size) {
        const int index = e / nt * row + e % nt;
        put(scaled(at(q, index), known.scale), q, index);
    }
    __syncwarp();

    real status = 0;
    real noise = 0;
    if (m.ratio) {
        noise = weigh_by_ratio(job, where, known, q, l, group_size, status);
    }
    for (int k = 0; !m.ratio && k < nt; ++k) {
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

    // R^-1 replaces the part below H.
    if (l < nt && !m.ratio) {
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
    if (l < nr && !m.ratio) {
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

    if (l < nt && !m.ratio) {
        for (int c = l; c < nt; ++c) {
            noise = add_norm(at(below, l * row + c), noise);
        }
        real b = 0;
        if (m.mmse) {
            complex_lane column[16]; // of H, whitened
            for (int r = 0; r < nr; ++r) {
                column[r] = at(h, r * nt + l);
                for (int c = 0; job.covariance && c < r; ++c) {
                    column[r] = less_product(
                        at(q, where.l + r * where.l_row + c), column[c], column[r]);
                }
                if (job.covariance) {
                    column[r] =
                        scaled(column[r], at(q, where.l + nr * where.l_row + r).im);
                }
            }
            for (int r = 0; r < nr; ++r) {
                const complex_lane element = scaled(column[r], known.scale);
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
        for (int r = nr - 1; r >= 0 && job.covariance; --r) {
            complex_lane w = at(q, r * row + l);
            for (int c = r + 1; c < nr; ++c) {
                w = less_product(
                    at(q, c * row + l), at(q, where.l + c * where.l_row + r), w);
            }
            put(scaled(w, at(q, where.l + nr * where.l_row + r).im), q, r * row + l);
        }
    }
    if (place.active && place.first && l == 0) {
        job.status[place.matrix] = known.usable ? int(status) : -1;
    }
    __syncwarp();

    for (size_t s = 0; s < job.chunk; ++s) {
        const size_t vector = place.vector + min(s, place.left - 1) * job.tones;
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

} // namespace
} // namespace gr::cudaphy::kernels
