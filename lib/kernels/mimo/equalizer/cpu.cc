/* SPDX-License-Identifier: GPL-3.0-or-later */
// One item (a channel matrix with the vectors it serves) a lane. Items lie one after the
// other in memory, so elements are moved as whole complex numbers into rows of lanes, and
// from there loaded into vectors of real and imaginary parts.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/mimo/equalizer/makers.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_EQUALIZER_CPU_ONCE
#define CUDAPHY_EQUALIZER_CPU_ONCE
namespace gr::cudaphy::kernels {

//! One call of run(), as the parts of it see it.
struct equalizer_job {
    equalizer::parameters p;
    equalizer_shape shape;
    equalizer_items cut;
    equalizer_run given;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;
using bits_tag = hn::RebindToUnsigned<tag>;
using real = hn::Vec<tag>;
using mask = hn::Mask<tag>;
constexpr size_t lanes = hn::MaxLanes(tag());

HWY_INLINE real constant(float value) { return hn::Set(tag(), value); }
HWY_INLINE real fused(real a, real b, real c) { return hn::MulAdd(a, b, c); }
HWY_INLINE real fused_less(real a, real b, real c) { return hn::NegMulAdd(a, b, c); }
HWY_INLINE real larger(real a, real b) { return hn::Max(a, b); }
HWY_INLINE real magnitude(real a) { return hn::Abs(a); }
HWY_INLINE real square_root(real a) { return hn::Sqrt(a); }
HWY_INLINE mask both(mask a, mask b) { return hn::And(a, b); }
HWY_INLINE real choose(mask m, real a, real b) { return hn::IfThenElse(m, a, b); }
HWY_INLINE real unscale(real a)
{
    // With exponent field E, 2^(127 - E) has the field 254 - E.
    const bits_tag bits;
    const auto field = hn::And(hn::BitCast(bits, a), hn::Set(bits, 0x7F800000u));
    const auto bounded =
        hn::Min(hn::Max(field, hn::Set(bits, 7u << 23)), hn::Set(bits, 247u << 23));
    return hn::BitCast(tag(), hn::Sub(hn::Set(bits, 254u << 23), bounded));
}

#define CUDAPHY_LANE HWY_INLINE
#define CUDAPHY_UNROLL
#define CUDAPHY_WHOLE_MATRIX_LANE
#include "kernels/mimo/equalizer/lane-inl.h"
#undef CUDAPHY_LANE
#undef CUDAPHY_UNROLL
#undef CUDAPHY_WHOLE_MATRIX_LANE

//! Rows of lanes: element e of lane l at [e][l].
template <typename T>
using row = T[lanes];

HWY_INLINE complex_lane load(const row<complex64>& from)
{
    complex_lane value;
    hn::LoadInterleaved2(tag(), reinterpret_cast<const float*>(from), value.re, value.im);
    return value;
}

template <typename T>
HWY_INLINE void scatter_to_lane(const T* from, int n, size_t lane, row<T>* to)
{
    for (int e = 0; e < n; ++e) {
        to[e][lane] = from[e];
    }
}

template <typename T>
HWY_INLINE void gather_from_lane(const row<T>* from, int n, size_t lane, T* to)
{
    for (int e = 0; e < n; ++e) {
        to[e] = from[e][lane];
    }
}

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

constexpr bool is_mmse(detector method)
{
    return method == detector::mmse || method == detector::mmse_irc;
}

method method_of(const equalizer::parameters& p)
{
    return { is_mmse(p.method),
             p.unbiased,
             p.method == detector::max_ratio,
             rank_tolerance_per_antenna * float(p.receive_antennas) };
}

//! A lane's noise variance: 1 once its covariance is taken out, NaN where that fails.
template <typename Antennas>
HWY_INLINE real variance_of(const equalizer_job& job,
                            Antennas size,
                            const size_t* matrices,
                            lane_whitener<Antennas>& whitener)
{
    HWY_ALIGN float n0[lanes];
    if (job.given.covariance.empty()) {
        for (size_t l = 0; l < lanes; ++l) {
            n0[l] = job.given.n0[job.shape.variance_of(matrices[l])];
        }
        return hn::LoadU(tag(), n0);
    }
    constexpr int most = Antennas::most_receive;
    HWY_ALIGN row<complex64> covariance[most * most];
    const int nr = size.receive();
    for (size_t l = 0; l < lanes; ++l) {
        const auto at = job.shape.variance_of(matrices[l]) * nr * nr;
        scatter_to_lane(job.given.covariance.data() + at, nr * nr, l, covariance);
    }
    find_whitener(
        size, [&](int r, int c) { return load(covariance[r * nr + c]); }, whitener);
    const real one = constant(1.0f);
    return choose(whitener.usable, one, constant(float_infinity));
}

//! Items first..last, each of one matrix and up to `chunk` vectors.
template <int Nr, int Nt>
void equalize_many(const equalizer_job& job, size_t first, size_t last)
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
    size_t vector[lanes]; // each lane's next vector
    size_t left[lanes];   // vectors that remain to it
    lane_weights<size_type> weights;
    lane_whitener<size_type> whitener;

    for (; first < last; first += lanes) {
        const size_t count = std::min(lanes, last - first);
        for (size_t l = 0; l < lanes; ++l) {
            // Lanes beyond the last item repeat it, and write nothing.
            const size_t item = first + std::min(l, count - 1);
            matrix[l] = item % job.cut.matrices;
            const size_t begin = item / job.cut.matrices * job.cut.chunk;
            const size_t group = matrix[l] / tones;
            vector[l] = (group * job.shape.symbols + begin) * tones + matrix[l] % tones;
            left[l] = std::min(job.cut.chunk, job.shape.symbols - begin);
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

//! Complex number `e` of each lane's row; the rows, `pitch` long, follow one another.
HWY_INLINE complex_lane load_of_rows(const complex64* from,
                                     [[maybe_unused]] size_t pitch,
                                     int e)
{
#if HWY_TARGET == HWY_SCALAR
    return { hn::Set(tag(), from[e].real()), hn::Set(tag(), from[e].imag()) };
#else
    const hn::Repartition<int64_t, tag> pair;
    const auto* base = reinterpret_cast<const int64_t*>(from + e);
    const auto place = hn::Mul(hn::Iota(pair, 0), hn::Set(pair, int64_t(pitch)));
    const auto low = hn::BitCast(tag(), hn::GatherIndex(pair, base, place));
    const auto high =
        hn::BitCast(tag(), hn::GatherIndex(pair, base + pitch * hn::Lanes(pair), place));
    return { hn::ConcatEven(tag(), high, low), hn::ConcatOdd(tag(), high, low) };
#endif
}

//! Rows of a lane's numbers to each lane's own, which follow one another.
template <typename T>
HWY_INLINE void store_rows(const row<T>* from, int n, T* to)
{
#if HWY_TARGET != HWY_SCALAR
    using word = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    const hn::Repartition<word, tag> d;
    const size_t step = hn::Lanes(d);
    for (size_t l = 0; n <= 4 && n != 3 && l < lanes; l += step) {
        const auto part = [&](int e) HWY_ATTR {
            return hn::LoadU(d, reinterpret_cast<const word*>(from[e] + l));
        };
        auto* out = reinterpret_cast<word*>(to + l * n);
        if (n == 1) {
            hn::StoreU(part(0), d, out);
        } else if (n == 2) {
            hn::StoreInterleaved2(part(0), part(1), d, out);
        } else {
            hn::StoreInterleaved4(part(0), part(1), part(2), part(3), d, out);
        }
    }
    if (n <= 4 && n != 3) {
        return;
    }
#endif
    for (size_t l = 0; l < lanes; ++l) {
        gather_from_lane(from, n, l, to + l * n);
    }
}

//! Matrices first..last with one vector each.
template <bool Mmse, int Nr, int Nt>
void solve_each(const equalizer_job& job, size_t first, size_t last)
{
    using size_type = antennas<Nr, Nt>;
    const size_type size{ job.p.receive_antennas, job.p.layers };
    const int nr = size.receive();
    const int nt = size.layers();
    constexpr int most_h = size_type::most_receive * size_type::most_layers;
    const bool coloured = !job.given.covariance.empty();

    HWY_ALIGN row<complex64> x[size_type::most_layers];
    HWY_ALIGN row<float> noise[size_type::most_layers];
    HWY_ALIGN float status[lanes];
    // Of the last lanes, where fewer are left.
    HWY_ALIGN complex64 few_h[lanes * most_h], few_y[lanes * size_type::most_receive],
        few_x[lanes * size_type::most_layers];
    HWY_ALIGN float few_noise[lanes * size_type::most_layers];
    size_t matrix[lanes];
    complex_lane q[size_type::most_layers][size_type::most_receive];
    complex_lane received[size_type::most_receive];
    complex_lane layers[size_type::most_layers];
    lane_solution<size_type> solution;
    lane_whitener<size_type> whitener;

    for (; first < last; first += lanes) {
        const size_t count = std::min(lanes, last - first);
        const complex64* h = job.given.h.data() + first * nr * nt;
        const complex64* y = job.given.y.data() + first * nr;
        complex64* to_x = job.given.x.data() + first * nt;
        float* to_noise = job.given.noise.data() + first * nt;
        if (count < lanes) {
            std::fill_n(few_h, lanes * nr * nt, complex64(0));
            std::fill_n(few_y, lanes * nr, complex64(0));
            std::copy_n(h, count * nr * nt, few_h);
            std::copy_n(y, count * nr, few_y);
            h = few_h;
            y = few_y;
            to_x = few_x;
            to_noise = few_noise;
        }
        for (size_t l = 0; l < lanes; ++l) {
            matrix[l] = first + std::min(l, count - 1);
        }
        for (int r = 0; r < nr; ++r) {
            received[r] = load_of_rows(y, nr, r);
            for (int t = 0; t < nt; ++t) {
                q[t][r] = load_of_rows(h, nr * nt, r * nt + t);
            }
        }
        const real n0 = variance_of(job, size, matrix, whitener);
        if (coloured) {
            whiten(size, whitener, received);
            for (int t = 0; t < nt; ++t) {
                whiten(size, whitener, q[t]);
            }
        }
        for (auto& layer : layers) {
            layer = { constant(0.0f), constant(0.0f) };
        }
        solve<Mmse>(
            size,
            method_of(job.p),
            n0,
            q,
            solution,
            [&](int k, const complex_lane* column, const complex_lane* below, real last)
                HWY_ATTR {
                    project<Mmse>(size, k, column, below, last, received, layers);
                });
        for (int t = 0; t < nt; ++t) {
            complex_lane layer = layers[t];
            real variance;
            layer_of(solution, t, layer, variance);
            hn::StoreInterleaved2(
                layer.re, layer.im, tag(), reinterpret_cast<float*>(x[t]));
            hn::StoreU(variance, tag(), noise[t]);
        }
        store_rows(x, nt, to_x);
        store_rows(noise, nt, to_noise);
        if (count < lanes) {
            std::copy_n(few_x, count * nt, job.given.x.data() + first * nt);
            std::copy_n(few_noise, count * nt, job.given.noise.data() + first * nt);
        }
        hn::StoreU(solution.status, tag(), status);
        for (size_t l = 0; l < count; ++l) {
            job.given.status[first + l] = int(status[l]);
        }
    }
}

} // namespace

void equalize_items(const equalizer_job& job, size_t first, size_t last)
{
    const auto are = [&](int nr, int nt) {
        return job.p.receive_antennas == nr && job.p.layers == nt;
    };
    if (job.shape.symbols > 1 || job.p.method == detector::max_ratio) {
        (are(2, 2)   ? equalize_many<2, 2>
         : are(4, 4) ? equalize_many<4, 4>
         : are(8, 8) ? equalize_many<8, 8>
                     : equalize_many<0, 0>)(job, first, last);
    } else if (is_mmse(job.p.method)) {
        (are(2, 2)   ? solve_each<true, 2, 2>
         : are(4, 2) ? solve_each<true, 4, 2>
         : are(4, 4) ? solve_each<true, 4, 4>
         : are(8, 8) ? solve_each<true, 8, 8>
                     : solve_each<true, 0, 0>)(job, first, last);
    } else {
        (are(2, 2)   ? solve_each<false, 2, 2>
         : are(4, 4) ? solve_each<false, 4, 4>
                     : solve_each<false, 0, 0>)(job, first, last);
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(equalize_items);

class equalizer_cpu : public equalizer_backend
{
public:
    using equalizer_backend::equalizer_backend;

private:
    void
    equalize(const equalizer_shape& shape, const equalizer_run& given, queue&) override
    {
        const equalizer_job job{ d_p, shape, equalizer_items(shape), given };
        // A multiple of every vector's lanes, and some tens of microseconds of work.
        for_each_part(job.cut.items, 256, [&](size_t first, size_t last) {
            HWY_DYNAMIC_DISPATCH(equalize_items)(job, first, last);
        });
    }
};

} // namespace

std::unique_ptr<equalizer> make_equalizer_cpu(const equalizer::parameters& p)
{
    return std::make_unique<equalizer_cpu>(p);
}

} // namespace gr::cudaphy::kernels
#endif
