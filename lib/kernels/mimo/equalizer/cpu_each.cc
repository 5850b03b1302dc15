/* SPDX-License-Identifier: GPL-3.0-or-later */
// One item (a channel matrix with the vectors it serves) a lane. Items lie one after the
// other in memory, so elements are moved as whole complex numbers into rows of lanes, and
// from there loaded into vectors of real and imaginary parts.
#include "kernels/common/highway_targets.h"
#include "kernels/mimo/equalizer/cpu.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer/cpu_each.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

#include "kernels/mimo/equalizer/cpu-inl.h"

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
void solve_items(const equalizer_job& job, size_t first, size_t last)
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

void solve_each(const equalizer_job& job, size_t first, size_t last)
{
    const auto are = [&](int nr, int nt) {
        return job.p.receive_antennas == nr && job.p.layers == nt;
    };
    if (is_mmse(job.p.method)) {
        (are(2, 2)   ? solve_items<true, 2, 2>
         : are(4, 2) ? solve_items<true, 4, 2>
         : are(4, 4) ? solve_items<true, 4, 4>
         : are(8, 8) ? solve_items<true, 8, 8>
                     : solve_items<true, 0, 0>)(job, first, last);
    } else {
        (are(2, 2)   ? solve_items<false, 2, 2>
         : are(4, 4) ? solve_items<false, 4, 4>
                     : solve_items<false, 0, 0>)(job, first, last);
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(solve_each);

} // namespace

void solve_each_cpu(const equalizer_job& job, size_t first, size_t last)
{
    HWY_DYNAMIC_DISPATCH(solve_each)(job, first, last);
}

} // namespace gr::cudaphy::kernels
#endif
