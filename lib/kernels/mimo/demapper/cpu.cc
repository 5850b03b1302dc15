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
        : d_parameters(p), d_columns(p), d_sign(p.llr_positive ? -1.0f : 1.0f),
          d_square(make_square_table(p.points, d_sign)),
          d_octant(make_octant_table(p.points, d_sign)),
          d_mirror(d_square ? std::nullopt : make_mirror_table(p.points)),
          d_rings(d_square ? std::nullopt : make_ring_table(p.points)),
          d_plane(d_square ? plane_table<256>{} : make_plane_table(p.points)),
          d_demap(p.max_log  ? demap_max_log
                  : d_square ? demap_exact_axes
                             : demap_exact_plane)
    {
    }

    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float> llr,
             queue&) override
    {
        const auto keep = [](const float* from, size_t count, float* to) {
            std::copy_n(from, count, to);
        };
        if (d_columns.rows) {
            return convert(x, noise, llr, keep);
        }
        check_soft_demapper_sizes(d_parameters, x, noise, llr.size());
        auto job = job_of(x, noise);
        job.llr = llr.data();
        for_each_part(x.size(), symbols_a_part, [&](size_t first, size_t last) {
            d_demap(job, first, last);
        });
    }

    void run(view<const complex64> x,
             const noise_variances& noise,
             view<float16> llr,
             queue&) override
    {
        convert(x, noise, llr, [](const float* from, size_t count, float16* to) {
            std::transform(from, from + count, to, halved);
        });
    }
    void run(view<const complex64> x,
             const noise_variances& noise,
             view<int8_t> llr,
             queue&) override
    {
        const auto quantize_part = HWY_DYNAMIC_DISPATCH(quantize_llrs);
        convert(x, noise, llr, [&](const float* from, size_t count, int8_t* to) {
            quantize_part(from, count, d_parameters.llr_steps, to);
        });
    }

private:
    //! `noise` must outlive what is made of it.
    demapping job_of(view<const complex64> x, const noise_variances& noise) const
    {
        const auto variances = noise.in_memory();
        return { d_parameters.points.bits,
                 d_sign,
                 d_square ? &*d_square : nullptr,
                 d_octant ? &*d_octant : nullptr,
                 d_mirror ? &*d_mirror : nullptr,
                 d_rings ? &*d_rings : nullptr,
                 &d_plane,
                 reinterpret_cast<const float*>(x.data()),
                 noise.is_number() ? noise.address() : variances.data(),
                 !noise.is_number() && variances.size() == x.size(),
                 nullptr,
                 d_columns.rows > 0 };
    }

    //! By way of floats that stay in the cache.
    template <typename T, typename Convert>
    void convert(view<const complex64> x,
                 const noise_variances& noise,
                 view<T> llr,
                 const Convert& convert) const
    {
        check_soft_demapper_sizes(d_parameters, x, noise, llr.size());
        const int bits = d_parameters.points.bits;
        const auto whole = job_of(x, noise);
        for_each_part(x.size(), symbols_a_part, [&](size_t first, size_t last) {
            float values[most_by_bit * 10];
            auto job = whole;
            job.llr = values;
            while (first < last) {
                size_t count = std::min(most_by_bit, last - first);
                if (d_columns.rows) {
                    count = std::min(count, d_columns.rows - first % d_columns.rows);
                }
                job.x = whole.x + 2 * first;
                job.noise = whole.noise + (whole.noise_for_each ? first : 0);
                d_demap(job, 0, count);
                if (d_columns.rows) {
                    scatter(values, first, count, llr, convert);
                } else {
                    convert(values, count * bits, llr.data() + first * bits);
                }
                first += count;
            }
        });
    }

    //! LLRs that stand by bit, of symbols of one frame, to the frame's columns.
    template <typename T, typename Convert>
    void scatter(const float* values,
                 size_t first,
                 size_t count,
                 view<T> llr,
                 const Convert& convert) const
    {
        T* const frame = llr.data() + first / d_columns.rows * d_columns.bits;
        for (int bit = 0; bit < d_parameters.points.bits; ++bit) {
            const size_t place = d_columns.place(first % d_columns.rows, bit);
            if (place < d_columns.bits) {
                convert(values + bit * most_by_bit,
                        std::min(count, d_columns.bits - place),
                        frame + place);
            }
        }
    }

    // A few microseconds of QPSK, which is what it costs to wake another core.
    static constexpr size_t symbols_a_part = 8192;

    const parameters d_parameters;
    const llr_columns d_columns;
    const float d_sign;
    const std::optional<square_table> d_square;
    const std::optional<octant_table> d_octant;
    const std::optional<mirror_table> d_mirror;
    const std::optional<ring_table> d_rings;
    const plane_table<256> d_plane;
    void (*const d_demap)(const demapping&, size_t, size_t);
};

} // namespace

CUDAPHY_HOST_MAKER_1(cpu, soft_demapper, soft_demapper_cpu, soft_demapper::parameters)

} // namespace gr::cudaphy::kernels
#endif
