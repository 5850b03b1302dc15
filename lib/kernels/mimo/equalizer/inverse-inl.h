/* SPDX-License-Identifier: GPL-3.0-or-later */
// The arithmetic of the route `inverse`, the same on the host and for a thread of a GPU.
// Included inside a namespace by files that define CUDAPHY_LANE, what stands before a
// function, and real, fused() and fused_less().

#include "kernels/mimo/complex_lane-inl.h"

constexpr float largest_float = 3.40282347e38f;

//! inverse_job as both sides read it: complex numbers as pairs of floats.
struct inverse_arrays {
    const complex_lane *y, *h;
    const float* n0;
    complex_lane* x;
    float* noise;
    int* status;
    complex_lane* gram;
    const float* rcond;
    equalizer_shape shape;
    size_t n0_step; //!< matrices that one n0 serves; 0: all
    bool mmse, unbiased;

    CUDAPHY_LANE float variance(size_t matrix) const
    {
        return n0[n0_step ? matrix / n0_step : 0];
    }
};

inline inverse_arrays arrays_of(const inverse_job& job)
{
    const auto& given = job.given;
    return { reinterpret_cast<const complex_lane*>(given.y.data()),
             reinterpret_cast<const complex_lane*>(given.h.data()),
             given.n0.data(),
             reinterpret_cast<complex_lane*>(given.x.data()),
             given.noise.data(),
             given.status.data(),
             reinterpret_cast<complex_lane*>(job.gram),
             job.rcond,
             job.shape,
             job.shape.variances == 1 ? size_t{ 0 } : size_t(job.shape.tones),
             job.mmse,
             job.unbiased };
}

//! The equalizer's status of a matrix from the inversion's.
CUDAPHY_LANE int status_of(const inverse_arrays& job, size_t matrix)
{
    const float n0 = job.variance(matrix);
    const int found = job.status[matrix];
    if (!(n0 > 0 && n0 <= largest_float) || found < 0) {
        return -1;
    }
    if (job.mmse) {
        return 0;
    }
    // Columns of H that depend on each other leave a last pivot of rounding's size.
    const float least = 4 * 1.1920929e-7f * float(job.shape.receive);
    return found == 0 && job.rcond[matrix] < least ? job.shape.layers : found;
}

//! Row i of a Gram matrix.
CUDAPHY_LANE void find_gram_row(const inverse_arrays& job, size_t matrix, int i)
{
    const int nr = job.shape.receive;
    const int nt = job.shape.layers;
    const complex_lane* const h = job.h + matrix * nr * nt;
    complex_lane* const row = job.gram + (matrix * nt + i) * nt;
    for (int j = 0; j < nt; ++j) {
        complex_lane sum{ 0, 0 };
        for (int r = 0; r < nr; ++r) {
            sum = add_dot(h[r * nt + i], h[r * nt + j], sum);
        }
        if (i == j && job.mmse) {
            sum.re += job.variance(matrix);
        }
        row[j] = sum;
    }
}

//! Layer i of all vectors that a matrix serves.
CUDAPHY_LANE void apply_inverse_row(const inverse_arrays& job, size_t matrix, int i)
{
    constexpr float infinity = __builtin_huge_valf();
    const int nr = job.shape.receive;
    const int nt = job.shape.layers;
    const complex_lane* const h = job.h + matrix * nr * nt;
    const complex_lane* const inverse = job.gram + (matrix * nt + i) * nt;
    const float n0 = job.variance(matrix);

    complex_lane w[16];
    float b = 0;
    for (int r = 0; r < nr; ++r) {
        complex_lane sum{ 0, 0 };
        for (int j = 0; j < nt; ++j) {
            const complex_lane e = h[r * nt + j];
            sum = add_product(inverse[j], { e.re, -e.im }, sum);
        }
        w[r] = sum;
        b = fused_less(sum.im, h[r * nt + i].im, fused(sum.re, h[r * nt + i].re, b));
    }
    const float error = n0 * inverse[i].re;
    const float noise = !job.mmse ? error : job.unbiased ? error / b : error * b;
    const float gain = job.mmse && job.unbiased ? 1.0f / b : 1.0f;
    const bool usable = status_of(job, matrix) == 0 && noise > 0 &&
                        noise <= largest_float && gain <= largest_float;

    const size_t group = matrix / job.shape.tones;
    size_t vector =
        group * job.shape.symbols * job.shape.tones + (matrix - group * job.shape.tones);
    for (size_t s = 0; s < job.shape.symbols; ++s, vector += job.shape.tones) {
        complex_lane sum{ 0, 0 };
        for (int r = 0; r < nr; ++r) {
            sum = add_product(w[r], job.y[vector * nr + r], sum);
        }
        sum = scaled(sum, gain);
        const bool present = usable && sum.re * 0 + sum.im * 0 == 0;
        job.x[vector * nt + i] = present ? sum : complex_lane{ 0, 0 };
        job.noise[vector * nt + i] = present ? noise : infinity;
    }
}
