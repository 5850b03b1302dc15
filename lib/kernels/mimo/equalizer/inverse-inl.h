/* SPDX-License-Identifier: GPL-3.0-or-later */
// The arithmetic of the route `inverse`, the same on the host and for a thread of a GPU:
// a row of a matrix a call. Included inside a namespace, after complex_lane-inl.h with
// real = float.

constexpr float largest_float = 3.40282347e38f;

CUDAPHY_LANE const complex_lane* lanes_of(const complex64* from)
{
    return reinterpret_cast<const complex_lane*>(from);
}
CUDAPHY_LANE complex_lane* lanes_of(complex64* from)
{
    return reinterpret_cast<complex_lane*>(from);
}

//! Row i of a Gram matrix.
struct find_gram_row {
    CUDAPHY_LANE void operator()(const inverse_job& job, size_t matrix, int i) const
    {
        const int nr = job.shape.receive;
        const int nt = job.shape.layers;
        const complex_lane* const h = lanes_of(job.h) + matrix * nr * nt;
        complex_lane* const row = lanes_of(job.gram) + (matrix * nt + i) * nt;
        for (int j = 0; j < nt; ++j) {
            complex_lane sum{ 0, 0 };
            for (int r = 0; r < nr; ++r) {
                sum = add_dot(h[r * nt + i], h[r * nt + j], sum);
            }
            if (i == j && job.mmse) {
                sum.re += job.n0[job.n0_step ? matrix / job.n0_step : 0];
            }
            row[j] = sum;
        }
    }
};

//! Layer i of all vectors that a matrix serves; layer 0 writes the matrix's status, too.
struct apply_inverse_row {
    CUDAPHY_LANE void operator()(const inverse_job& job, size_t matrix, int i) const
    {
        constexpr float infinity = __builtin_huge_valf();
        const int nr = job.shape.receive;
        const int nt = job.shape.layers;
        const complex_lane* const h = lanes_of(job.h) + matrix * nr * nt;
        const complex_lane* const inverse = lanes_of(job.gram) + (matrix * nt + i) * nt;
        const float n0 = job.n0[job.n0_step ? matrix / job.n0_step : 0];
        const int status = status_of(job, matrix, n0);
        if (i == 0) {
            job.status[matrix] = status;
        }

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
        const bool usable =
            status == 0 && noise > 0 && noise <= largest_float && gain <= largest_float;

        const size_t group = matrix / job.shape.tones;
        size_t vector = group * job.shape.symbols * job.shape.tones +
                        (matrix - group * job.shape.tones);
        for (size_t s = 0; s < job.shape.symbols; ++s, vector += job.shape.tones) {
            complex_lane sum{ 0, 0 };
            for (int r = 0; r < nr; ++r) {
                sum = add_product(w[r], lanes_of(job.y)[vector * nr + r], sum);
            }
            sum = scaled(sum, gain);
            const bool present = usable && sum.re * 0 + sum.im * 0 == 0;
            lanes_of(job.x)[vector * nt + i] = present ? sum : complex_lane{ 0, 0 };
            job.noise[vector * nt + i] = present ? noise : infinity;
        }
    }

    //! The equalizer's status of a matrix from the inversion's.
    CUDAPHY_LANE int status_of(const inverse_job& job, size_t matrix, float n0) const
    {
        const int inverted = job.inverted[matrix];
        if (!(n0 > 0 && n0 <= largest_float) || inverted < 0) {
            return -1;
        }
        if (job.mmse) {
            return 0;
        }
        // Columns of H that depend on each other leave a last pivot of rounding's size.
        const float least = 4 * 1.1920929e-7f * float(job.shape.receive);
        return inverted == 0 && job.rcond[matrix] < least ? job.shape.layers : inverted;
    }
};
