/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/demapper/cpu.h"
#include "kernels/common/highway_targets.h"
#include "kernels/common/parallel.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/demapper/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels {
namespace {
namespace HWY_NAMESPACE {

using namespace hwy::HWY_NAMESPACE;

//! LLRs as int8, rounded as quantized() does.
void quantize_llrs(const float* llr, size_t count, float steps, int8_t* to)
{
    const ScalableTag<float> d;
    const Rebind<int8_t, decltype(d)> d_byte;
    const auto value = [&](const float* from) HWY_ATTR {
        const auto scaled = LoadU(d, from) * Set(d, steps);
        const auto bound = Set(d, 127.0f);
        return DemoteTo(d_byte, NearestInt(Max(Min(scaled, bound), Neg(bound))));
    };
    size_t i = 0;
    for (; i + Lanes(d) <= count; i += Lanes(d)) {
        StoreU(value(llr + i), d_byte, to + i);
    }
    for (; i < count; ++i) {
        to[i] = quantized(llr[i], steps);
    }
}

} // namespace HWY_NAMESPACE
} // namespace
} // namespace gr::cudaphy::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(quantize_llrs);

class soft_demapper_cpu : public soft_demapper
{
public:
    explicit soft_demapper_cpu(const parameters& p)
        : d_bits(p.points.bits), d_sign(p.llr_positive ? -1.0f : 1.0f),
          d_square(make_square_table(p.points, d_sign)),
          d_octant(make_octant_table(p.points, d_sign)),
          d_plane(d_square ? plane_table<256>{} : make_plane_table(p.points)),
          d_demap(p.max_log  ? demap_max_log
                  : d_square ? demap_exact_axes
                             : demap_exact_plane),
          d_steps(p.llr_steps)
    {
    }

    void run(view<const complex64> x,
             view<const float> noise,
             view<float> llr,
             queue&) override
    {
        check_soft_demapper_sizes(d_bits, x, noise, llr.size());
        auto job = job_of(x, noise);
        job.llr = llr.data();
        for_each_part(x.size(), symbols_a_part, [&](size_t first, size_t last) {
            d_demap(job, first, last);
        });
    }

    void run(view<const complex64> x,
             view<const float> noise,
             view<float16> llr,
             queue&) override
    {
        convert(x, noise, llr, [](const float* from, size_t count, float16* to) {
            std::transform(from, from + count, to, halved);
        });
    }
    void run(view<const complex64> x,
             view<const float> noise,
             view<int8_t> llr,
             queue&) override
    {
        const auto quantize_part = HWY_DYNAMIC_DISPATCH(quantize_llrs);
        convert(x, noise, llr, [&](const float* from, size_t count, int8_t* to) {
            quantize_part(from, count, d_steps, to);
        });
    }

private:
    demapping job_of(view<const complex64> x, view<const float> noise) const
    {
        return { d_bits,
                 d_sign,
                 d_square ? &*d_square : nullptr,
                 d_octant ? &*d_octant : nullptr,
                 &d_plane,
                 reinterpret_cast<const float*>(x.data()),
                 noise.data(),
                 noise.size() == x.size(),
                 nullptr };
    }

    //! By way of floats that stay in the cache.
    template <typename T, typename Convert>
    void convert(view<const complex64> x,
                 view<const float> noise,
                 view<T> llr,
                 const Convert& convert) const
    {
        check_soft_demapper_sizes(d_bits, x, noise, llr.size());
        constexpr size_t block = 256;
        for_each_part(x.size(), symbols_a_part, [&](size_t first, size_t last) {
            float values[block * 10];
            for (; first < last; first += block) {
                const size_t count = std::min(block, last - first);
                auto job =
                    job_of(x.part(first, count),
                           noise.size() == x.size() ? noise.part(first, count) : noise);
                job.noise_for_each = noise.size() == x.size();
                job.llr = values;
                d_demap(job, 0, count);
                convert(values, count * d_bits, llr.data() + first * d_bits);
            }
        });
    }

    // A few microseconds of QPSK, which is what it costs to wake another core.
    static constexpr size_t symbols_a_part = 8192;

    const int d_bits;
    const float d_sign;
    const std::optional<square_table> d_square;
    const std::optional<octant_table> d_octant;
    const plane_table<256> d_plane;
    void (*const d_demap)(const demapping&, size_t, size_t);
    const float d_steps;
};

} // namespace

CUDAPHY_HOST_MAKER_1(cpu, soft_demapper, soft_demapper_cpu, soft_demapper::parameters)

} // namespace gr::cudaphy::kernels
#endif
