/* SPDX-License-Identifier: GPL-3.0-or-later */
// One tone at one receive antenna a lane: the received pilots of a pilot symbol lie side
// by side in that order, so that vectors of them are loaded as they are.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/mimo/estimator/makers.h"
#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/estimator/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_CHANNEL_ESTIMATOR_CPU_ONCE
#define CUDAPHY_CHANNEL_ESTIMATOR_CPU_ONCE
namespace gr::cudaphy::kernels {

//! One segment (makers.h) of one group of tones.
struct estimator_job {
    const complex64* factors;
    const float* weights;
    int receive, layers, symbols;
    size_t elements;    //!< of the group
    size_t first;       //!< element of the segment
    int count;          //!< elements of the segment
    const complex64* y; //!< of the group
    complex64* h;       //!< of the group
    bool residual;
};

//! What a segment adds to its group.
struct segment_result {
    double energy = 0;
    bool finite = true;
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<float>;
constexpr int lanes = hn::MaxLanes(tag());

#include "kernels/mimo/cpu_lane-inl.h"

#define CUDAPHY_LANE HWY_INLINE
#define CUDAPHY_UNROLL
#include "kernels/mimo/estimator/lane-inl.h"
#undef CUDAPHY_LANE
#undef CUDAPHY_UNROLL

//! `count` elements, `step` apart; lanes beyond them are 0.
HWY_INLINE complex_lane load_some(const complex64* from, size_t step, int count)
{
    HWY_ALIGN complex64 some[lanes] = {};
    for (int l = 0; l < count; ++l) {
        some[l] = from[l * step];
    }
    return load(some);
}

HWY_INLINE void store_some(complex_lane value, complex64* to, size_t step, int count)
{
    HWY_ALIGN complex64 some[lanes];
    hn::StoreInterleaved2(value.re, value.im, tag(), reinterpret_cast<float*>(some));
    for (int l = 0; l < count; ++l) {
        to[l * step] = some[l];
    }
}

//! Adds the energies of the segment's elements from `i` on to the sums.
HWY_INLINE void add_energies(real energy, int i, int count, double (&sums)[segment_ways])
{
    HWY_ALIGN float some[lanes];
    hn::Store(energy, tag(), some);
    static_assert(segment_ways % lanes == 0);
    double* const to = sums + i % segment_ways;
    for (int l = 0; l < count; ++l) {
        to[l] += some[l];
    }
}

double total(double (&sums)[segment_ways])
{
    for (int half = segment_ways / 2; half; half /= 2) {
        for (int i = 0; i < half; ++i) {
            sums[i] += sums[i + half];
        }
    }
    return sums[0];
}

template <int Most>
segment_result estimate_layers(const estimator_job& job)
{
    const pilot_factors factors{ reinterpret_cast<const float*>(job.factors),
                                 job.symbols,
                                 job.layers };
    double sums[segment_ways] = {};
    real zeros = constant(0.0f);
    for (int i = 0; i < job.count; i += lanes) {
        const int count = std::min(lanes, job.count - i);
        const complex64* const y = job.y + job.first + i;
        const auto received = [&](int s) {
            const complex64* const from = y + s * job.elements;
            return count == lanes ? load(from) : load_some(from, 1, count);
        };
        complex_lane h[Most];
        zeros = zeros + estimate(factors, received, h);
        complex64* const to = job.h + (job.first + i) * job.layers;
        for (int t = 0; t < job.layers; ++t) {
            store_some(h[t], to + t, job.layers, count);
        }
        if (job.residual) {
            add_energies(residual_energy(factors, received, h), i, count, sums);
        }
    }
    return { total(sums), bool(hn::AllTrue(tag(), zeros == constant(0.0f))) };
}

} // namespace

//! The segment's estimates; the energy of the residual, if that is wanted.
segment_result estimate_segment(const estimator_job& job)
{
    return job.layers == 1   ? estimate_layers<1>(job)
           : job.layers <= 2 ? estimate_layers<2>(job)
           : job.layers <= 4 ? estimate_layers<4>(job)
                             : estimate_layers<16>(job);
}

//! The energy of the second differences, once all of the group's estimates are there.
double difference_segment(const estimator_job& job)
{
    double sums[segment_ways] = {};
    const size_t end = job.elements - job.receive;
    for (int i = 0; i < job.count; i += lanes) {
        const int count = std::min(lanes, job.count - i);
        const size_t n = job.first + i;
        // The first tone and the last have one neighbour only, and no energy.
        const int skipped =
            int(std::min<size_t>(count, n < size_t(job.receive) ? job.receive - n : 0));
        const int left = int(std::min<size_t>(count, n < end ? end - n : 0)) - skipped;
        if (left <= 0) {
            continue;
        }
        const complex64* const h = job.h + (n + skipped) * job.layers;
        const size_t tone = size_t(job.receive) * job.layers;
        real energy = constant(0.0f);
        for (int t = 0; t < job.layers; ++t) {
            energy = add_difference(load_some(h + t - tone, job.layers, left),
                                    load_some(h + t, job.layers, left),
                                    load_some(h + t + tone, job.layers, left),
                                    constant(job.weights[t]),
                                    energy);
        }
        HWY_ALIGN float some[lanes];
        hn::Store(energy, tag(), some);
        for (int l = 0; l < left; ++l) {
            sums[(i + skipped + l) % segment_ways] += some[l];
        }
    }
    return total(sums);
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(estimate_segment);
HWY_EXPORT(difference_segment);

class channel_estimator_cpu : public channel_estimator
{
public:
    explicit channel_estimator_cpu(const channel_estimator_plan& plan)
        : d_plan(plan), d_cut(plan), d_factors(plan.rounded()),
          d_weights(plan.difference_weights())
    {
    }

    void run(view<const complex64> received,
             view<complex64> h,
             view<float> n0,
             view<int> status,
             queue&) override
    {
        const size_t batch =
            channel_estimator_batch(d_plan.sizes(), { received, h, n0, status });
        const size_t pieces = batch * d_cut.count;
        d_results.assign(pieces, {});
        // About 4096 elements a part.
        const size_t grain = std::max<size_t>(1, 4096 / d_plan.elements());
        const auto for_each_piece = [&](const auto& treat) {
            for_each_part(pieces, grain, [&](size_t first, size_t last) {
                for (; first < last; ++first) {
                    treat(job(received, h, first), d_results[first]);
                }
            });
        };
        for_each_piece([](const estimator_job& piece, segment_result& result) {
            result = HWY_DYNAMIC_DISPATCH(estimate_segment)(piece);
            if (!result.finite) {
                zero_bad_tones(piece);
            }
        });
        if (!d_plan.residual()) {
            for_each_piece([](const estimator_job& piece, segment_result& result) {
                result.energy = HWY_DYNAMIC_DISPATCH(difference_segment)(piece);
            });
        }
        for (size_t item = 0; item < batch; ++item) {
            double energy = 0;
            bool finite = true;
            for (int s = 0; s < d_cut.count; ++s) {
                energy += d_results[item * d_cut.count + s].energy;
                finite = finite && d_results[item * d_cut.count + s].finite;
            }
            status[item] = finite ? 0 : -1;
            n0[item] = finite ? float(energy / d_plan.divisor())
                              : std::numeric_limits<float>::quiet_NaN();
        }
    }

private:
    estimator_job
    job(view<const complex64> received, view<complex64> h, size_t piece) const
    {
        const size_t item = piece / d_cut.count;
        const size_t first = piece % d_cut.count * d_cut.elements;
        const size_t elements = d_plan.elements();
        return { d_factors.data(),
                 d_weights.data(),
                 d_plan.receive,
                 d_plan.layers,
                 d_plan.symbols,
                 elements,
                 first,
                 int(std::min<size_t>(d_cut.elements, elements - first)),
                 received.data() + item * d_plan.symbols * elements,
                 h.data() + item * d_plan.layers * elements,
                 d_plan.residual() };
    }

    //! Looks again, tone by tone: this is rare.
    static void zero_bad_tones(const estimator_job& piece)
    {
        for (int i = 0; i < piece.count; i += piece.receive) {
            bool finite = true;
            for (int s = 0; s < piece.symbols; ++s) {
                const complex64* y = piece.y + s * piece.elements + piece.first + i;
                for (int r = 0; r < piece.receive; ++r) {
                    finite = finite && std::isfinite(y[r].real()) &&
                             std::isfinite(y[r].imag());
                }
            }
            if (!finite) {
                std::fill_n(piece.h + (piece.first + i) * piece.layers,
                            piece.receive * piece.layers,
                            complex64(0));
            }
        }
    }

    channel_estimator_plan d_plan;
    segments d_cut;
    std::vector<complex64> d_factors;
    std::vector<float> d_weights;
    std::vector<segment_result> d_results;
};

} // namespace

CUDAPHY_HOST_MAKER_1(cpu,
                     channel_estimator,
                     channel_estimator_cpu,
                     channel_estimator_plan)

} // namespace gr::cudaphy::kernels
#endif
