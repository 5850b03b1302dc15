/* SPDX-License-Identifier: GPL-3.0-or-later */
// A weighted sum's observations in the lanes: they lie side by side, real and imaginary
// parts apart, as the weights do; a row of weights serves four antennas at once.
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include "kernels/mimo/estimator/channel_filter.h"
#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/estimator/channel_filter_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef CUDAPHY_CHANNEL_FILTER_CPU_ONCE
#define CUDAPHY_CHANNEL_FILTER_CPU_ONCE
namespace gr::cudaphy::kernels {

//! Weighted sums of one slot's observations at some antennas.
struct filter_job {
    const float* weights; //!< (rows, 2, width)
    int width;
    const float* observations; //!< (antennas, 2, stride)
    size_t stride;
    int antennas; //!< up to 4
};

} // namespace gr::cudaphy::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<float, filter_ways>;
constexpr int lanes = hn::MaxLanes(tag());
constexpr int parts = filter_ways / lanes;

#include "kernels/mimo/cpu_lane-inl.h"

//! Adds the lanes of a vector by halves.
template <typename Tag>
HWY_INLINE float total_of_lanes([[maybe_unused]] Tag d, hn::Vec<Tag> v)
{
#if HWY_TARGET == HWY_SCALAR
    return hn::GetLane(v);
#else
    if constexpr (hn::MaxLanes(Tag()) == 4) {
        const auto pairs = hn::Add(v, hn::Shuffle1032(v));
        return hn::GetLane(hn::Add(pairs, hn::Shuffle2301(pairs)));
    } else {
        const hn::Half<Tag> half;
        return total_of_lanes(half,
                              hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
#endif
}

//! Adds filter_ways sums by halves.
HWY_INLINE float total(const real (&sums)[parts])
{
    real all[parts];
    std::copy_n(sums, parts, all);
    for (int half = parts / 2; half; half /= 2) {
        for (int i = 0; i < half; ++i) {
            all[i] = hn::Add(all[i], all[i + half]);
        }
    }
    return total_of_lanes(tag(), all[0]);
}

template <int Antennas>
HWY_INLINE void
weighted_sums(const filter_job& job, const channel_filter_plan::sum& of, complex64* out)
{
    real re[Antennas][parts], im[Antennas][parts];
    for (int r = 0; r < Antennas; ++r) {
        for (int i = 0; i < parts; ++i) {
            re[r][i] = im[r][i] = hn::Zero(tag());
        }
    }
    const float* const weights = job.weights + size_t(of.row) * 2 * job.width;
    const float* const z = job.observations + of.first;
    for (int w = 0; w < job.width; w += filter_ways) {
        for (int i = 0; i < parts; ++i) {
            const int at = w + i * lanes;
            const complex_lane weight{ hn::LoadU(tag(), weights + at),
                                       hn::LoadU(tag(), weights + job.width + at) };
            for (int r = 0; r < Antennas; ++r) {
                const float* const from = z + size_t(r) * 2 * job.stride + at;
                const complex_lane seen{ hn::LoadU(tag(), from),
                                         hn::LoadU(tag(), from + job.stride) };
                const auto sum =
                    add_product(weight, seen, complex_lane{ re[r][i], im[r][i] });
                re[r][i] = sum.re;
                im[r][i] = sum.im;
            }
        }
    }
    for (int r = 0; r < Antennas; ++r) {
        out[r] = { total(re[r]), total(im[r]) };
    }
}

} // namespace

//! One sum at each of the antennas.
void weigh(const filter_job& job, const channel_filter_plan::sum& of, complex64* out)
{
    switch (job.antennas) {
    case 1:
        return weighted_sums<1>(job, of, out);
    case 2:
        return weighted_sums<2>(job, of, out);
    case 3:
        return weighted_sums<3>(job, of, out);
    default:
        return weighted_sums<4>(job, of, out);
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(weigh);

constexpr size_t slots_at_once = 64; // bounds the workspace
constexpr int tones_a_part = 64;

class channel_filter_cpu : public channel_estimator
{
public:
    explicit channel_filter_cpu(const channel_filter_plan& plan)
        : d_plan(plan), d_project(plan.rounded(plan.project)),
          d_over_time(plan.time_weights()),
          d_stride(size_t(plan.observations) + plan.width)
    {
        const size_t width = plan.width;
        d_weights.resize(2 * plan.weights.size());
        for (size_t i = 0; i < plan.weights.size(); ++i) {
            float* const row = d_weights.data() + i / width * 2 * width + i % width;
            row[0] = float(plan.weights[i].real());
            row[width] = float(plan.weights[i].imag());
        }
    }

    void run(view<const complex64> received,
             view<complex64> h,
             view<float> n0,
             view<int> status,
             queue&) override
    {
        const size_t batch =
            channel_estimator_batch(d_plan.sizes(), { received, h, n0, status });
        const size_t at_once = std::min(batch, slots_at_once);
        d_observations.resize(at_once * slot_floats());
        d_energies.resize(at_once * d_plan.energies() * d_plan.receive);
        for (size_t first = 0; first < batch; first += at_once) {
            const size_t count = std::min(at_once, batch - first);
            for_each_part(count, 1, [&](size_t slot, size_t last) {
                for (; slot < last; ++slot) {
                    const size_t item = first + slot;
                    status[item] =
                        project(received.data() + item * d_plan.sizes().received, slot)
                            ? 0
                            : -1;
                    put_noise(slot, status[item], n0.data() + item * d_plan.times);
                }
            });
            const size_t parts = (d_plan.tones + tones_a_part - 1) / tones_a_part;
            for_each_part(count * parts, 1, [&](size_t piece, size_t last) {
                for (; piece < last; ++piece) {
                    const size_t item = first + piece / parts;
                    estimate(piece / parts,
                             int(piece % parts) * tones_a_part,
                             status[item],
                             h.data() + item * d_plan.sizes().h);
                }
            });
        }
    }

private:
    size_t slot_floats() const { return 2 * d_stride * d_plan.receive; }

    filter_job job(size_t slot, int antenna) const
    {
        return { d_weights.data(),
                 d_plan.width,
                 d_observations.data() + slot * slot_floats() + antenna * 2 * d_stride,
                 d_stride,
                 std::min(4, d_plan.receive - antenna) };
    }

    //! Whether all pilots of the slot are finite.
    bool project(const complex64* y, size_t slot)
    {
        float* const z = d_observations.data() + slot * slot_floats();
        float* const energies =
            d_energies.data() + slot * d_plan.energies() * d_plan.receive;
        float zeros = 0;
        for (size_t o = 0; o < d_plan.projections.size(); ++o) {
            const auto [tone, first] = d_plan.projections[o];
            const complex64* const weights = d_project.data() + o * d_plan.group_symbols;
            for (int r = 0; r < d_plan.receive; ++r) {
                float re = 0, im = 0;
                for (int s = 0; s < d_plan.group_symbols; ++s) {
                    const complex64 w = weights[s];
                    if (w == complex64(0)) {
                        continue; // the sample may be data
                    }
                    const complex64 sample =
                        y[(size_t(first + s) * d_plan.tones + tone) * d_plan.receive + r];
                    re = re + w.real() * sample.real();
                    re = re - w.imag() * sample.imag();
                    im = im + w.real() * sample.imag();
                    im = im + w.imag() * sample.real();
                }
                zeros += 0 * re + 0 * im;
                if (o < size_t(d_plan.observations)) {
                    z[2 * r * d_stride + o] = re;
                    z[(2 * r + 1) * d_stride + o] = im;
                } else {
                    energies[(o - d_plan.observations) * d_plan.receive + r] =
                        re * re + im * im;
                }
            }
        }
        return zeros == 0;
    }

    void put_noise(size_t slot, int status, float* n0)
    {
        const size_t count = d_plan.energies() * d_plan.receive;
        float* const energies = d_energies.data() + slot * count;
        for (size_t i = 0; i < d_plan.noise_sums.size(); ++i) {
            for (int r = 0; r < d_plan.receive; r += 4) {
                complex64 sums[4];
                HWY_DYNAMIC_DISPATCH(weigh)(job(slot, r), d_plan.noise_sums[i], sums);
                for (int a = 0; a < std::min(4, d_plan.receive - r); ++a) {
                    energies[i * d_plan.receive + r + a] =
                        sums[a].real() * sums[a].real() + sums[a].imag() * sums[a].imag();
                }
            }
        }
        double ways[energy_ways] = {};
        for (size_t i = 0; i < count; ++i) {
            ways[i % energy_ways] += energies[i];
        }
        for (int half = energy_ways / 2; half; half /= 2) {
            for (int i = 0; i < half; ++i) {
                ways[i] += ways[i + half];
            }
        }
        std::fill_n(n0,
                    d_plan.times,
                    status ? std::numeric_limits<float>::quiet_NaN()
                           : float(ways[0] / d_plan.divisor()));
    }

    void estimate(size_t slot, int first, int status, complex64* h) const
    {
        const int tones = d_plan.tones;
        const int layers = d_plan.layers;
        const int last = std::min(tones, first + tones_a_part);
        const size_t matrix = size_t(d_plan.receive) * layers;
        if (status) {
            for (int u = 0; u < d_plan.times; ++u) {
                std::fill_n(h + (size_t(u) * tones + first) * matrix,
                            (last - first) * matrix,
                            complex64(0));
            }
            return;
        }
        complex64 sums[most_groups][4];
        for (int r = 0; r < d_plan.receive; r += 4) {
            const auto at = job(slot, r);
            for (int t = 0; t < layers; ++t) {
                for (int k = first; k < last; ++k) {
                    for (int g = 0; g < d_plan.groups; ++g) {
                        HWY_DYNAMIC_DISPATCH(weigh)
                        (at,
                         d_plan.estimates[(size_t(g) * layers + t) * tones + k],
                         sums[g]);
                    }
                    for (int u = 0; u < d_plan.times; ++u) {
                        complex64* const to =
                            h + (size_t(u) * tones + k) * matrix + r * layers + t;
                        for (int a = 0; a < at.antennas; ++a) {
                            to[a * layers] = over_time(sums, u, a);
                        }
                    }
                }
            }
        }
    }

    complex64 over_time(const complex64 (&sums)[most_groups][4], int u, int antenna) const
    {
        float re = 0, im = 0;
        for (int g = 0; g < d_plan.groups; ++g) {
            const float weight = d_over_time[u * d_plan.groups + g];
            re = re + weight * sums[g][antenna].real();
            im = im + weight * sums[g][antenna].imag();
        }
        return { re, im };
    }

    channel_filter_plan d_plan;
    std::vector<complex64> d_project;
    std::vector<float> d_over_time, d_weights;
    size_t d_stride; //!< from real to imaginary parts; what lies between them beyond the
                     //!< observations stays 0
    std::vector<float> d_observations, d_energies;
};

} // namespace

CUDAPHY_HOST_MAKER_1(cpu, channel_estimator, channel_filter_cpu, channel_filter_plan)

} // namespace gr::cudaphy::kernels
#endif
