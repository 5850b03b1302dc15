/* SPDX-License-Identifier: GPL-3.0-or-later */
// One item (a channel matrix with the vectors it serves) a lane. Items lie one after the
// other in memory, so elements are moved as whole complex numbers into rows of lanes, and
// from there loaded into vectors of real and imaginary parts.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/mimo/equalizer_makers.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_EQUALIZER_CPU_ONCE
#define CUDAPHY_EQUALIZER_CPU_ONCE
namespace gr::cudaphy::kernels {

//! One call of run(), as the parts of it see it.
struct equalizer_job {
    equalizer::parameters p;
    equalizer_items cut;
    const complex64* y;
    const complex64* h;
    view<const float> n0;
    complex64* x;
    float* noise;
    int* status;
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
#include "kernels/mimo/equalizer_lane-inl.h"
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

//! Items first..last.
template <int Nr, int Nt>
void equalize(const equalizer_job& job, size_t first, size_t last)
{
    using size_type = antennas<Nr, Nt>;
    const auto& p = job.p;
    const size_type size{ p.receive_antennas, p.layers };
    const int nr = size.receive();
    const int nt = size.layers();
    const method m{ p.method == detector::mmse,
                    p.unbiased,
                    rank_tolerance_per_antenna * float(nr) };

    HWY_ALIGN row<complex64> h[size_type::most_receive * size_type::most_layers];
    HWY_ALIGN row<complex64> y[size_type::most_receive];
    HWY_ALIGN row<complex64> x[size_type::most_layers];
    HWY_ALIGN row<float> noise[size_type::most_layers];
    HWY_ALIGN float n0[lanes];
    HWY_ALIGN float status[lanes];
    size_t vector[lanes]; // each lane's next vector
    int left[lanes];      // vectors that remain to it
    lane_weights<size_type> weights;

    for (; first < last; first += lanes) {
        const size_t count = std::min(lanes, last - first);
        for (size_t l = 0; l < lanes; ++l) {
            // Lanes beyond the last item repeat it, and write nothing.
            const size_t item = first + std::min(l, count - 1);
            const size_t matrix = item % job.cut.matrices;
            const int begin = int(item / job.cut.matrices) * job.cut.chunk;
            const size_t group = matrix / p.tones;
            vector[l] = (group * p.symbols + begin) * p.tones + matrix % p.tones;
            left[l] = std::min(job.cut.chunk, p.symbols - begin);
            n0[l] = job.n0[job.n0.size() == 1 ? 0 : group];
            scatter_to_lane(job.h + matrix * (nr * nt), nr * nt, l, h);
        }
        find_weights(
            size,
            m,
            hn::LoadU(tag(), n0),
            [&](int r, int t) { return load(h[r * nt + t]); },
            weights);
        hn::StoreU(weights.status, tag(), status);
        for (size_t l = 0; l < count; ++l) {
            if (first + l < job.cut.matrices) {
                job.status[first + l] = int(status[l]);
            }
        }
        for (int s = 0; s < job.cut.chunk; ++s) {
            for (size_t l = 0; l < lanes; ++l) {
                if (s < left[l]) {
                    scatter_to_lane(job.y + vector[l] * nr, nr, l, y);
                }
            }
            apply(size, weights, y, x, noise);
            for (size_t l = 0; l < count; ++l) {
                if (s < left[l]) {
                    gather_from_lane(x, nt, l, job.x + vector[l] * nt);
                    gather_from_lane(noise, nt, l, job.noise + vector[l] * nt);
                }
            }
            for (size_t l = 0; l < lanes; ++l) {
                vector[l] += p.tones;
            }
        }
    }
}

} // namespace

void equalize_items(const equalizer_job& job, size_t first, size_t last)
{
    const int nr = job.p.receive_antennas;
    const int nt = job.p.layers;
    if (nr == 2 && nt == 2) {
        equalize<2, 2>(job, first, last);
    } else if (nr == 4 && nt == 4) {
        equalize<4, 4>(job, first, last);
    } else {
        equalize<0, 0>(job, first, last);
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(equalize_items);

class equalizer_cpu : public equalizer
{
public:
    explicit equalizer_cpu(const parameters& p) : d_p(p) {}

    void run(view<const complex64> y,
             view<const complex64> h,
             view<const float> n0,
             view<complex64> x,
             view<float> noise,
             view<int> status,
             queue&) override
    {
        const size_t groups = equalizer_groups(
            d_p, y.size(), h.size(), n0.size(), x.size(), noise.size(), status.size());
        const equalizer_job job{ d_p, { d_p, groups }, y.data(),     h.data(),
                                 n0,  x.data(),        noise.data(), status.data() };
        // A multiple of every vector's lanes, and some tens of microseconds of work.
        for_each_part(job.cut.items, 256, [&](size_t first, size_t last) {
            HWY_DYNAMIC_DISPATCH(equalize_items)(job, first, last);
        });
    }

private:
    parameters d_p;
};

} // namespace

std::unique_ptr<equalizer> make_equalizer_cpu(const equalizer::parameters& p)
{
    return std::make_unique<equalizer_cpu>(p);
}

} // namespace gr::cudaphy::kernels
#endif
