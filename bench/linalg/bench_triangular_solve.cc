/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <gnuradio/cudaphy/kernels/triangular_solve.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

std::vector<float> drawn(size_t count, float deviation, int order, float diagonal)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> host(count);
    // A few million numbers, repeated, because random numbers take longer than everything
    // else.
    const size_t square = size_t(order) * order;
    const size_t period = (size_t{ 1 } << 21) / square * square + square;
    for (size_t e = 0; e < count; ++e) {
        host[e] = e < period ? normal(engine) + diagonal * (e % square % (order + 1) == 0)
                             : host[e - period];
    }
    return host;
}

template <typename Run>
void row(queue& q,
         const char* what,
         int order,
         int columns,
         size_t batch,
         double bytes,
         double operations,
         double bandwidth,
         const Run& run)
{
    const double queued = benchmarks::seconds_per_call(q, run);
    std::printf("%-10s %-8s %5d %7d %9zu %11.2f %11.4f %9.1f %11.2f %8.1f %%\n",
                name_of(q.where()).c_str(),
                what,
                order,
                columns,
                batch,
                1e6 * queued,
                1e-6 * batch / queued,
                1e-9 * batch * operations / queued,
                1e6 * batch * bytes / bandwidth,
                100 * batch * bytes / bandwidth / queued);
    benchmarks::record(
        { "Triangular solve",
          name_of(q.where()) + ", float, " + what + ", order " + std::to_string(order) +
              ", " + std::to_string(columns) + " columns, " + std::to_string(batch) +
              " systems",
          1e-9 * batch * operations / queued,
          "Gflop/s",
          { 1e-9 * operations * bandwidth / bytes, "bytes at a copy's bandwidth" } });
}

void measure_inverse(queue& q, int n, size_t batch, double bandwidth)
{
    const array<float> a(q, view<const float>(drawn(batch * n * n, 1.0f / n, n, 1)));
    array<float> x(q, batch * n * n);
    array<int> status(q, batch);
    const auto plan = triangular_inverse<float>::make({ n }, q.where(), q.device());
    const double elements = double(n) * n;
    row(q, "inverse", n, n, batch, 8 * elements, elements * n / 3, bandwidth, [&] {
        plan->run(a, x, status, q);
    });
}

void measure_solve(queue& q, int n, int columns, size_t batch, double bandwidth)
{
    const array<float> l(q, view<const float>(drawn(batch * n * n, 1.0f / n, n, 1)));
    const array<float> b(q, view<const float>(drawn(batch * n * columns, 1, n, 0)));
    array<float> x(q, batch * n * columns);
    array<int> status(q, batch);
    const auto plan =
        triangular_solve<float>::make({ n, columns }, q.where(), q.device());
    array<unsigned char> workspace(q, plan->workspace_bytes(batch));
    const double sides = double(n) * columns;
    row(q,
        "solve",
        n,
        columns,
        batch,
        4 * (double(n) * n + 2 * sides),
        n * sides,
        bandwidth,
        [&] { plan->run(l, b, x, status, workspace, q); });
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("lower triangles of float; inverse above order 32, and solve\n"
                "bound: bytes in and out, dense, at the bandwidth of a copy\n"
                "Gflop/s: N^3 / 3 operations an inverse, N^2 K a solution\n");
    std::printf("%-10s %-8s %5s %7s %9s %11s %11s %9s %11s %10s\n",
                "backend",
                "what",
                "order",
                "columns",
                "batch",
                "queued us",
                "M/s",
                "Gflop/s",
                "bound us",
                "of bound");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        const size_t elements = size_t{ 1 } << (where == backend::cuda ? 26 : 22);
        for (const int n : { 64, 128, 256, 512, 1024 }) {
            measure_inverse(*q, n, 1, bandwidth);
            measure_inverse(*q, n, elements / (size_t(n) * n), bandwidth);
        }
        for (const int n : { 8, 32, 256 }) {
            for (const int columns : { 1, 32 }) {
                measure_solve(*q, n, columns, elements / (size_t(n) * n), bandwidth);
            }
        }
    }
}
