/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/highway_targets.h"
#include "kernels/common/machine_makers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/machine.cc"
#include <hwy/foreach_target.h>

#include "kernels/common/timing.h"
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr size_t steps = 1 << 16;

int target() { return static_cast<int>(HWY_TARGET); }
int lanes() { return static_cast<int>(hn::Lanes(hn::ScalableTag<float>())); }

// Twelve chains keep two units with a latency of 4 to 5 cycles busy, and fit into 16
// registers.
float multiply_add(float start)
{
    const hn::ScalableTag<float> d;
    const auto factor = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
    auto a = hn::Set(d, start), b = hn::Add(a, one), c = hn::Add(b, one);
    auto e = hn::Add(c, one), f = hn::Add(e, one), g = hn::Add(f, one);
    auto h = hn::Add(g, one), i = hn::Add(h, one), j = hn::Add(i, one);
    auto k = hn::Add(j, one), l = hn::Add(k, one), m = hn::Add(l, one);
    for (size_t step = 0; step < steps; ++step) {
        a = hn::MulAdd(a, factor, one);
        b = hn::MulAdd(b, factor, one);
        c = hn::MulAdd(c, factor, one);
        e = hn::MulAdd(e, factor, one);
        f = hn::MulAdd(f, factor, one);
        g = hn::MulAdd(g, factor, one);
        h = hn::MulAdd(h, factor, one);
        i = hn::MulAdd(i, factor, one);
        j = hn::MulAdd(j, factor, one);
        k = hn::MulAdd(k, factor, one);
        l = hn::MulAdd(l, factor, one);
        m = hn::MulAdd(m, factor, one);
    }
    const auto half = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(f, g));
    return hn::GetLane(
        hn::Add(half, hn::Add(hn::Add(hn::Add(h, i), hn::Add(j, k)), hn::Add(l, m))));
}

// Twelve chains again. The compiler can't fold saturating sums into one multiplication.
int add_bytes(int start)
{
    const hn::ScalableTag<int8_t> d;
    const auto one = hn::Set(d, int8_t{ 1 });
    auto a = hn::Set(d, static_cast<int8_t>(start)), b = hn::SaturatedAdd(a, one);
    auto c = hn::SaturatedAdd(b, one), e = hn::SaturatedAdd(c, one);
    auto f = hn::SaturatedAdd(e, one), g = hn::SaturatedAdd(f, one);
    auto h = hn::SaturatedAdd(g, one), i = hn::SaturatedAdd(h, one);
    auto j = hn::SaturatedAdd(i, one), k = hn::SaturatedAdd(j, one);
    auto l = hn::SaturatedAdd(k, one), m = hn::SaturatedAdd(l, one);
    for (size_t step = 0; step < steps; ++step) {
        a = hn::SaturatedAdd(a, one);
        b = hn::SaturatedAdd(b, one);
        c = hn::SaturatedAdd(c, one);
        e = hn::SaturatedAdd(e, one);
        f = hn::SaturatedAdd(f, one);
        g = hn::SaturatedAdd(g, one);
        h = hn::SaturatedAdd(h, one);
        i = hn::SaturatedAdd(i, one);
        j = hn::SaturatedAdd(j, one);
        k = hn::SaturatedAdd(k, one);
        l = hn::SaturatedAdd(l, one);
        m = hn::SaturatedAdd(m, one);
    }
    const auto half = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(f, g));
    return hn::GetLane(
        hn::Add(half, hn::Add(hn::Add(hn::Add(h, i), hn::Add(j, k)), hn::Add(l, m))));
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace gr::cudaphy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy {
namespace {

HWY_EXPORT(target);
HWY_EXPORT(lanes);
HWY_EXPORT(multiply_add);
HWY_EXPORT(add_bytes);

constexpr double chains = 12, steps = 1 << 16;

//! Operations a second of `work` on all cores. A call of `work` does `operations`.
template <typename Work>
double rate_on_all_cores(queue& q, double operations, const Work& work)
{
    constexpr size_t calls = 256;
    std::atomic<int> used{ 0 }; // so that the compiler can't drop the work
    const auto on_all_cores = [&] {
        for_each_part(calls, 1, [&](size_t first, size_t last) {
            for (size_t call = first; call < last; ++call) {
                used += work(static_cast<int>(call)) > 1e30f;
            }
        });
    };
    const double seconds = seconds_per_call(q, on_all_cores, short_series);
    return calls * operations / seconds;
}

} // namespace

std::string cpu_vector_units() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(target)()); }

int cpu_vector_lanes() { return HWY_DYNAMIC_DISPATCH(lanes)(); }

#ifndef CUDAPHY_HAVE_CUDA
cuda_versions versions_of_cuda() { return { 0, 0 }; }
#endif

machine_rates measure_machine(backend wanted, int device)
{
    const auto resolved = resolve(wanted, device);
    const auto q = queue::make(resolved.where, resolved.device);
    machine_rates rates{};
    rates.copied_bytes = copy_bandwidth(*q, size_t{ 1 } << 29, short_series);
#ifdef CUDAPHY_HAVE_CUDA
    if (resolved.where == backend::cuda) {
        constexpr int device_steps = 4096;
        array<float> out(*q, 1);
        double operations = 0;
        const auto on_device = [&] {
            operations = multiply_add_on_device(*q, out.data(), device_steps);
        };
        const double seconds = seconds_per_call(*q, on_device, short_series);
        rates.multiply_adds = operations / seconds;
        rates.byte_operations = 2 * rates.multiply_adds;
        return rates;
    }
#endif
    const double floats = chains * steps * cpu_vector_lanes();
    rates.multiply_adds = rate_on_all_cores(*q, floats, [](int start) {
        return HWY_DYNAMIC_DISPATCH(multiply_add)(static_cast<float>(start));
    });
    rates.byte_operations = rate_on_all_cores(
        *q, 4 * floats, [](int start) { return HWY_DYNAMIC_DISPATCH(add_bytes)(start); });
    return rates;
}

} // namespace gr::cudaphy
#endif
