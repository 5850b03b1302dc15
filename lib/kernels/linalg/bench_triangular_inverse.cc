/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/triangular_inverse.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

void measure(queue& q, int order, size_t batch, double bandwidth)
{
    const size_t elements = size_t(order) * order;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> host(batch * elements);
    // A few thousand different matrices, over and over: drawing takes longer than all
    // the rest.
    const size_t drawn = std::min(host.size(), (size_t{ 1 } << 20) / elements * elements);
    for (size_t e = 0; e < host.size(); ++e) {
        const bool diagonal = e % elements % (order + 1) == 0;
        host[e] = e < drawn ? normal(engine) / order + diagonal : host[e - drawn];
    }
    array<float> a(q, view<const float>(host));
    array<float> x(q, host.size());
    array<int> status(q, batch);
    const double bound = 2.0 * sizeof(float) * elements * batch / bandwidth;
    const auto row = [&](const char* name, triangular_algorithm algorithm) {
        const auto plan = triangular_inverse<float>::make(
            { order, true, false, algorithm }, q.where(), q.device());
        const auto run = [&] { plan->run(a, x, status, q); };
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
    };
    if (q.where() == backend::cuda) {
        row("recursive_blocks", triangular_algorithm::recursive_blocks);
        row("columns", triangular_algorithm::columns);
    } else {
        row("substitution", triangular_algorithm::recursive_blocks);
    }
}

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
        // Far beyond the caches.
        const size_t large = size_t{ 1 } << (where == backend::cuda ? 26 : 23);
        for (const int order : { 8, 16, 32 }) {
            measure(*q, order, 1200, bandwidth);
            if (where != backend::reference) {
                measure(*q, order, large / (size_t(order) * order), bandwidth);
            }
        }
    }
}
