/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Time measurements for the self-test and for benchmarks.

#include "kernels/common/parallel.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <gnuradio/cudaphy/kernels/queue.h>
#ifdef CUDAPHY_HAVE_CUDA
#include "kernels/common/timing_cuda.h"
#endif

namespace gr::cudaphy {

//! Of a series in cudaphy_info, which measures a dozen rates.
constexpr double short_series = 0.05;

//! Seconds that one call of run() takes if many calls are queued: the best of three
//! series of at least `least` seconds each, after a warm-up.
template <typename Run>
double seconds_per_call(queue& q, const Run& run, double least = 0.1)
{
    const auto series = [&](int calls) {
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < calls; ++call) {
            run();
        }
        q.synchronize();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    };
    run();
    q.synchronize();
    int calls = 1;
    double best = series(calls);
    while (best < least && calls < 1 << 20) {
        // As many as should take a little longer; the first calls tell little.
        const double growth = std::min(64.0, std::max(1.1, 1.1 * least / best));
        calls = std::min(1 << 20, static_cast<int>(std::ceil(calls * growth)));
        best = series(calls);
    }
    best = std::min({ best, series(calls), series(calls) });
    return best / calls;
}

//! Bytes a second that the memory behind a queue moves in a copy of `bytes` bytes. Bytes
//! that are read and bytes that are written both count. The default is several times the
//! size of the caches. The result is the bound of a kernel that touches its data once.
inline double
copy_bandwidth(queue& q, size_t bytes = size_t{ 1 } << 29, double least = 0.1)
{
    if (q.where() != backend::cuda) {
        bytes = std::min(bytes, size_t{ 1 } << 28);
    }
    array<char> from(q, bytes);
    array<char> to(q, bytes);
    const auto copy = [&] {
#ifdef CUDAPHY_HAVE_CUDA
        if (q.where() == backend::cuda) {
            copy_on_device(q, to.data(), from.data(), bytes);
            return;
        }
#endif
        for_each_part(bytes, size_t{ 1 } << 20, [&](size_t first, size_t last) {
            std::memcpy(to.data() + first, from.data() + first, last - first);
        });
    };
    if (q.where() != backend::cuda) {
        std::memset(from.data(), 1, bytes);
    }
    return 2.0 * bytes / seconds_per_call(q, copy, least);
}

} // namespace gr::cudaphy
