/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#ifdef CUDAPHY_HAVE_CUDA
#include "bench/linalg/bench_triangular_inverse_cuda.h"
#endif
#ifdef CUDAPHY_HAVE_CUBLAS
#include "bench/linalg/bench_triangular_inverse_cublas.h"
#endif
#include <cstdio>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <limits>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

void measure(queue& q, int order, size_t batch, double bandwidth)
{
    const size_t elements = size_t(order) * order;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> host(batch * elements);
    // A few thousand different matrices, repeated, because random numbers take longer
    // than everything else.
    const size_t drawn = std::min(host.size(), (size_t{ 1 } << 20) / elements * elements);
    for (size_t e = 0; e < host.size(); ++e) {
        const bool diagonal = e % elements % (order + 1) == 0;
        host[e] = e < drawn ? normal(engine) / order + diagonal : host[e - drawn];
    }
    array<float> a(q, view<const float>(host));
    array<float> x(q, host.size());
    array<int> status(q, batch);
    const double bound = 2.0 * sizeof(float) * elements * batch / bandwidth;
    const auto row = [&](const char* name, const auto& run) {
        const double queued = benchmarks::seconds_per_call(q, run);
        const double alone = benchmarks::seconds_per_call(q, [&] {
            run();
            q.synchronize();
        });
        std::printf("%-10s %-17s %5d %9zu %11.2f %11.2f %11.3f %11.2f %8.1f %%\n",
                    name_of(q.where()).c_str(),
                    name,
                    order,
                    batch,
                    1e6 * alone,
                    1e6 * queued,
                    1e-6 * batch / queued,
                    1e6 * bound,
                    100.0 * bound / queued);
        return queued;
    };
    const double matrices = 1e-6 * batch;
    const auto case_of = [&](const std::string& name) {
        return name_of(q.where()) + ", float, order " + std::to_string(order) + ", " +
               std::to_string(batch) + " matrices, " + name;
    };
    const auto own_row = [&](const char* name, triangular_algorithm algorithm) {
        const auto plan = triangular_inverse<float>::make(
            { order, true, false, algorithm }, q.where(), q.device());
        const double seconds = row(name, [&] { plan->run(a, x, status, q); });
        benchmarks::record({ "Triangular inverse",
                             case_of(name),
                             matrices / seconds,
                             "M/s",
                             { matrices / bound, "bytes at a copy's bandwidth" } });
    };
    if (q.where() != backend::cuda) {
        own_row("substitution", triangular_algorithm::fastest);
        return;
    }
    own_row("fastest", triangular_algorithm::fastest);
    own_row("recursive_blocks", triangular_algorithm::recursive_blocks);
    own_row("columns", triangular_algorithm::columns);
#ifdef CUDAPHY_HAVE_CUBLAS
    benchmarks::cublas_triangular_inverse peer(q, order, a, x);
    const double seconds = row("strsmBatched", [&] { peer.solve(); });
    benchmarks::record(
        { "Triangular inverse",
          case_of("fastest"),
          std::numeric_limits<double>::quiet_NaN(),
          "M/s",
          {},
          { matrices / seconds, "cuBLAS strsmBatched", benchmarks::cuda_version() } });
#endif
}

#ifdef CUDAPHY_HAVE_CUDA
//! Source 3's algorithm and the columns that it is compared with, without device memory.
void measure_in_shared_memory(queue& q)
{
    std::printf("in shared memory alone, %s\n%5s %17s %14s %14s\n",
                "no memory read or written",
                "order",
                "algorithm",
                "a warp, ns",
                "a matrix, ns");
    for (const int order : { 8, 16, 32 }) {
        const auto rounds = benchmarks::time_in_shared_memory(
            q, order, triangular_algorithm::recursive_blocks);
        const auto columns =
            benchmarks::time_in_shared_memory(q, order, triangular_algorithm::columns);
        const auto row = [&](const char* name, double warp, double matrix, double unit) {
            std::printf(
                "%5d %17s %14.4g %14.4g\n", order, name, unit * warp, unit * matrix);
        };
        row("recursive_blocks", rounds.warp_alone, rounds.matrix, 1e9);
        row("columns", columns.warp_alone, columns.matrix, 1e9);
        row("ratio",
            columns.warp_alone / rounds.warp_alone,
            columns.matrix / rounds.matrix,
            1);
    }
}
#endif

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("lower triangles of float, dense in and out\n"
                "bound: 8 N^2 bytes a matrix, in and out, at the bandwidth of a copy\n"
                "alone: one call and its end; queued: a call of many in the queue\n");
    std::printf("%-10s %-17s %5s %9s %11s %11s %11s %11s %10s\n",
                "backend",
                "algorithm",
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
        // On the CPU first a batch that fits into a core's second-level cache, then one
        // far larger than the caches.
        const size_t large = size_t{ 1 } << (where == backend::cuda ? 26 : 23);
        for (const int order : { 8, 16, 32 }) {
            if (where == backend::cpu) {
                measure(
                    *q, order, (size_t{ 1 } << 17) / (size_t(order) * order), bandwidth);
            }
            measure(*q, order, 1200, bandwidth);
            if (where != backend::reference) {
                measure(*q, order, large / (size_t(order) * order), bandwidth);
            }
        }
#ifdef CUDAPHY_HAVE_CUDA
        if (where == backend::cuda) {
            measure_in_shared_memory(*q);
        }
#endif
    }
}
