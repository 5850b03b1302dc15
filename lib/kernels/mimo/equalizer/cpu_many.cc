/* SPDX-License-Identifier: GPL-3.0-or-later */
// One item (a channel matrix with the vectors it serves) a lane. Items lie one after the
// other in memory, so elements are moved as whole complex numbers into rows of lanes, and
// from there loaded into vectors of real and imaginary parts.
#include "kernels/common/highway_targets.h"
#include "kernels/mimo/equalizer/cpu.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer/cpu_many.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

#include "kernels/mimo/equalizer/cpu-inl.h"

//! x = W y and its noise, in rows.
template <typename Antennas>
HWY_INLINE void apply(Antennas size,
                      const lane_weights<Antennas>& w,
                      const row<complex64>* y,
                      row<complex64>* x,
                      row<float>* noise)
{
    const real none = constant(0.0f);
    complex_lane received[Antennas::most_receive];
    for (int r = 0; r < size.receive(); ++r) {
        received[r] = load(y[r]);
    }
    for (int t = 0; t < size.layers(); ++t) {
        complex_lane sum{ none, none };
        for (int r = 0; r < size.receive(); ++r) {
            sum = add_product(w.q[t][r], received[r], sum);
        }
        const mask present = is_finite(sum);
        hn::StoreInterleaved2(choose(present, sum.re, none),
                              choose(present, sum.im, none),
                              tag(),
                              reinterpret_cast<float*>(x[t]));
        hn::StoreU(
            choose(present, w.noise[t], constant(float_infinity)), tag(), noise[t]);
    }
}

//! Items first..last, each of one matrix and up to `chunk` vectors.
template <int Nr, int Nt>
void equalize_items(const equalizer_job& job, size_t first, size_t last)
{
    using size_type = antennas<Nr, Nt>;
    const auto& p = job.p;
    const size_type size{ p.receive_antennas, p.layers };
    const int nr = size.receive();
    const int nt = size.layers();
    const size_t tones = p.tones;
    const bool coloured = !job.given.covariance.empty();

    HWY_ALIGN row<complex64> h[size_type::most_receive * size_type::most_layers];
    HWY_ALIGN row<complex64> y[size_type::most_receive];
    HWY_ALIGN row<complex64> x[size_type::most_layers];
    HWY_ALIGN row<float> noise[size_type::most_layers];
    HWY_ALIGN float status[lanes];
    size_t matrix[lanes];
    size_t vector[lanes]; // next vector of each lane
    size_t left[lanes];   // vectors that remain to it
    lane_weights<size_type> weights;
    lane_whitener<size_type> whitener;

    for (; first < last; first += lanes) {
        const size_t count = std::min(lanes, last - first);
        for (size_t l = 0; l < lanes; ++l) {
            // Lanes beyond the last item repeat it, and write nothing.
            const size_t item = first + std::min(l, count - 1);
            const auto place = job.cut.place_of(item, job.shape);
            matrix[l] = place.matrix;
            vector[l] = place.vector;
            left[l] = place.vectors;
            scatter_to_lane(job.given.h.data() + matrix[l] * (nr * nt), nr * nt, l, h);
        }
        const real n0 = variance_of(job, size, matrix, whitener);
        for (int t = 0; coloured && t < nt; ++t) {
            complex_lane column[size_type::most_receive];
            for (int r = 0; r < nr; ++r) {
                column[r] = load(h[r * nt + t]);
            }
            whiten(size, whitener, column);
            for (int r = 0; r < nr; ++r) {
                hn::StoreInterleaved2(column[r].re,
                                      column[r].im,
                                      tag(),
                                      reinterpret_cast<float*>(h[r * nt + t]));
            }
        }
        find_weights(
            size,
            method_of(p),
            n0,
            [&](int r, int t) { return load(h[r * nt + t]); },
            weights);
        for (int t = 0; coloured && t < nt; ++t) {
            weigh_unwhitened(size, whitener, weights.q[t]);
        }
        hn::StoreU(weights.status, tag(), status);
        for (size_t l = 0; l < count; ++l) {
            if (first + l < job.cut.matrices) {
                job.given.status[first + l] = int(status[l]);
            }
        }
        for (size_t s = 0; s < job.cut.chunk; ++s) {
            for (size_t l = 0; l < lanes; ++l) {
                if (s < left[l]) {
                    scatter_to_lane(job.given.y.data() + vector[l] * nr, nr, l, y);
                }
            }
            apply(size, weights, y, x, noise);
            for (size_t l = 0; l < count; ++l) {
                if (s < left[l]) {
                    gather_from_lane(x, nt, l, job.given.x.data() + vector[l] * nt);
                    gather_from_lane(
                        noise, nt, l, job.given.noise.data() + vector[l] * nt);
                }
            }
            for (size_t l = 0; l < lanes; ++l) {
                vector[l] += tones;
            }
        }
    }
}

} // namespace

void equalize_many(const equalizer_job& job, size_t first, size_t last)
{
    const auto are = [&](int nr, int nt) {
        return job.p.receive_antennas == nr && job.p.layers == nt;
    };
    (are(2, 2)   ? equalize_items<2, 2>
     : are(4, 4) ? equalize_items<4, 4>
     : are(8, 8) ? equalize_items<8, 8>
                 : equalize_items<0, 0>)(job, first, last);
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(equalize_many);

} // namespace

void equalize_many_cpu(const equalizer_job& job, size_t first, size_t last)
{
    HWY_DYNAMIC_DISPATCH(equalize_many)(job, first, last);
}

} // namespace gr::cudaphy::kernels
#endif
