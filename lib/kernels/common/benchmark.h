/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the kernels' benchmarks share.

#include "kernels/common/parallel.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <string>
#include <vector>
#ifdef CUDAPHY_HAVE_CUDA
#include "kernels/common/benchmark_cuda.h"
#endif

namespace gr::cudaphy::benchmarks {

//! The backends to measure: those named as arguments, else all but the slow reference.
//! Lines then show as they come, also into a file.
inline std::vector<backend> measured_backends(int argc, char** argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::vector<backend> measured;
    for (int i = 1; i < argc; ++i) {
        measured.push_back(resolve(backend_from_name(argv[i])).where);
    }
    for (const auto where : backends()) {
        if (argc < 2 && where != backend::reference) {
            measured.push_back(where);
        }
    }
    return measured;
}

//! The arguments that are among `known`, in their order; they are taken out of argv.
inline std::vector<std::string>
take_words(int& argc, char** argv, const std::vector<std::string>& known)
{
    std::vector<std::string> taken;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::count(known.begin(), known.end(), argv[i])) {
            taken.push_back(argv[i]);
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
    return taken;
}

//! Whether `word` is to be measured: it was chosen, or nothing was.
inline bool is_chosen(const std::vector<std::string>& chosen, const std::string& word)
{
    return chosen.empty() || std::count(chosen.begin(), chosen.end(), word);
}

//! Seconds that one call of run() takes where many are queued: after a warm-up, the best
//! of three series of at least 0.1 s each.
template <typename Run>
double seconds_per_call(queue& q, const Run& run)
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
    while (best < 0.1 && calls < 1 << 20) {
        calls *= 2;
        best = series(calls);
    }
    best = std::min({ best, series(calls), series(calls) });
    return best / calls;
}

//! Bytes a second that the memory behind a queue moves, read and written bytes both
//! counted: a copy of `bytes` bytes, several times the caches unless told otherwise. It
//! is the bound of a kernel that touches its data once.
inline double copy_bandwidth(queue& q, size_t bytes = size_t{ 1 } << 29)
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
    return 2.0 * bytes / seconds_per_call(q, copy);
}

} // namespace gr::cudaphy::benchmarks
