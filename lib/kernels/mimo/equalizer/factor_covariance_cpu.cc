/* SPDX-License-Identifier: GPL-3.0-or-later */
// Cholesky's factors of covariances of more than most_solved_antennas, by rows: element
// (r, c) is a product of rows r and c of L, whose real and imaginary parts stand in rows
// of their own. (Golub and Van Loan, Matrix Computations, 4th ed., 4.2.5.)
#include "kernels/common/highway_targets.h"
#include "kernels/mimo/equalizer/cpu.h"
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer/factor_covariance_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<float, 16>;

//! Rows of L so far: zeros from the diagonal on.
struct factor_rows {
    HWY_ALIGN float re[most_antennas][most_antennas];
    HWY_ALIGN float im[most_antennas][most_antennas];
};

//! sum over k < count of L_rk conj(L_ck)
HWY_INLINE complex64 product_of_rows(const factor_rows& l, int r, int c, int count)
{
    const tag d;
    auto re = hn::Zero(d), im = hn::Zero(d), re2 = hn::Zero(d), im2 = hn::Zero(d);
    for (int k = 0; k < count; k += int(hn::Lanes(d))) {
        const auto ar = hn::Load(d, l.re[r] + k), ai = hn::Load(d, l.im[r] + k);
        const auto br = hn::Load(d, l.re[c] + k), bi = hn::Load(d, l.im[c] + k);
        re = hn::MulAdd(ar, br, re);
        re2 = hn::MulAdd(ai, bi, re2);
        im = hn::MulAdd(ai, br, im);
        im2 = hn::MulAdd(ar, bi, im2);
    }
    return { hn::GetLane(hn::SumOfLanes(d, hn::Add(re, re2))),
             hn::GetLane(hn::SumOfLanes(d, hn::Sub(im, im2))) };
}

//! Whether the covariance is finite and positive definite.
bool factor(const complex64* covariance, int nr, factor_rows& l, complex64* out)
{
    const float least = least_pivot_of(nr);
    bool usable = true;
    for (int r = 0; r < nr; ++r) {
        std::fill_n(l.re[r], most_antennas, 0.0f);
        std::fill_n(l.im[r], most_antennas, 0.0f);
        for (int c = 0; c < r; ++c) {
            const complex64 element = covariance[r * nr + c];
            usable =
                usable && std::isfinite(element.real()) && std::isfinite(element.imag());
            // Row r ends before column c, so that the sum does, too.
            const complex64 sum = element - product_of_rows(l, r, c, c);
            l.re[r][c] = sum.real() * out[c * nr + c].real();
            l.im[r][c] = sum.imag() * out[c * nr + c].real();
            out[r * nr + c] = { l.re[r][c], l.im[r][c] };
        }
        const float before = covariance[r * nr + r].real();
        const float pivot = before - product_of_rows(l, r, r, r).real();
        usable = usable && std::isfinite(before) && pivot > least * before;
        out[r * nr + r] = 1.0f / std::sqrt(pivot);
    }
    return usable;
}

} // namespace

void factor_covariances(const equalizer_job& job,
                        covariance_factors& out,
                        size_t first,
                        size_t last)
{
    const int nr = job.p.receive_antennas;
    const auto rows = std::make_unique<factor_rows>();
    for (; first < last; ++first) {
        const size_t at = first * nr * nr;
        const bool usable =
            factor(job.given.covariance.data() + at, nr, *rows, out.l.data() + at);
        out.variance[first] = usable ? 1.0f : float_infinity;
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(factor_covariances);

} // namespace

void factor_covariances_cpu(const equalizer_job& job,
                            covariance_factors& out,
                            size_t first,
                            size_t last)
{
    HWY_DYNAMIC_DISPATCH(factor_covariances)(job, out, first, last);
}

} // namespace gr::cudaphy::kernels
#endif
