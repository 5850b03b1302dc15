/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/inverse.h>
#include <random>
#ifdef CUDAPHY_HAVE_CUBLAS
#include "kernels/linalg/bench_inverse_cublas.h"
#endif

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

void print_row(const char* what,
               int order,
               size_t batch,
               double seconds,
               double alone,
               double bandwidth)
{
    const double bytes = 2.0 * sizeof(complex64) * order * order * batch;
    const double bound = bytes / bandwidth;
    std::printf("%-20s %5d %9zu %11.2f %11.2f %11.3f %11.2f %8.1f %%\n",
                what,
                order,
                batch,
                1e6 * alone,
                1e6 * seconds,
                1e-6 * batch / seconds,
                1e6 * bound,
                100.0 * bound / seconds);
}

void measure(queue& q, int order, size_t batch, double bandwidth)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<complex64> host(batch * order * order);
    // A few thousand different matrices, over and over: drawing takes longer than all
    // the rest.
    const size_t drawn = std::min(host.size(), size_t{ 1 } << 18);
    std::generate_n(host.begin(), drawn, [&] {
        return complex64{ normal(engine), normal(engine) };
    });
    for (size_t e = drawn; e < host.size(); ++e) {
        host[e] = host[e - drawn];
    }
    array<complex64> a(q, view<const complex64>(host));
    array<complex64> x(q, host.size());
    array<int> status(q, batch);
    const auto row = [&](const char* what, const auto& run, double less = 0.0) {
        const double queued = benchmarks::seconds_per_call(q, run) - less;
        const double alone = benchmarks::seconds_per_call(q,
                                                          [&] {
                                                              run();
                                                              q.synchronize();
                                                          }) -
                             less;
        print_row(what, order, batch, queued, alone, bandwidth);
    };

    const auto plan = inverse<complex64>::make({ order }, q.where(), q.device());
    row(name_of(q.where()).c_str(), [&] { plan->run(a, x, status, q); });
#ifdef CUDAPHY_HAVE_CUBLAS
    if (q.where() == backend::cuda) {
        array<complex64> scratch(q, host.size());
        benchmarks::cublas_inverse peer(q, order, a, x, scratch);
        row("cuBLAS matinv", [&] { peer.matinv(); });
        const double copy = benchmarks::seconds_per_call(q, [&] { peer.copy(); });
        row(
            "cuBLAS getrf + getri", [&] { peer.getrf_getri(); }, copy);
    }
#endif
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("complex64, full pivoting (cuBLAS: partial; getrf + getri less the copy "
                "that it needs)\n"
                "bound: 16 N^2 bytes a matrix, in and out, at the bandwidth of a copy\n"
                "alone: one call and its end; queued: a call of many in the queue\n");
    std::printf("%-20s %5s %9s %11s %11s %11s %11s %10s\n",
                "backend",
                "order",
                "batch",
                "alone us",
                "queued us",
                "M/s",
                "bound us",
                "of bound");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        // Far beyond the caches.
        const size_t large = size_t{ 1 } << (where == backend::cuda ? 25 : 22);
        for (const int order : { 2, 4, 8, 16, 32 }) {
            if (where == backend::reference) {
                measure(*q, order, 300, bandwidth);
                continue;
            }
            // LTE's tones in a sub-frame at 5, 10, 15 and 20 MHz.
            for (const size_t batch : { 300, 600, 900, 1200 }) {
                measure(*q, order, batch, bandwidth);
            }
            measure(*q, order, large / (size_t(order) * order), bandwidth);
        }
    }
}
