/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

std::vector<complex64> random_symbols(size_t count)
{
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0f, 0.7f);
    std::vector<complex64> x(count);
    for (auto& each : x) {
        each = { normal(engine), normal(engine) };
    }
    return x;
}

void measure(queue& q, const soft_demapper::parameters& p, size_t count, double bandwidth)
{
    const auto host = random_symbols(count);
    const array<complex64> x(q, view<const complex64>(host));
    const std::vector<float> variances(count, 0.1f);
    const array<float> noise(q, view<const float>(variances));
    array<float> llr(q, count * p.points.bits);
    const auto plan = soft_demapper::make(p, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { plan->run(x, noise, llr, q); });
    const double bytes = double(count) * (8 + 4 + 4 * p.points.bits);
    const double bound = bytes / bandwidth;
    std::printf("%-9s %-12s %-7s %9zu %11.1f %11.3f %11.3f %11.1f %6.1f %%\n",
                name_of(q.where()).c_str(),
                p.points.name.c_str(),
                p.max_log ? "max-log" : "exact",
                count,
                1e6 * seconds,
                1e-9 * count / seconds,
                1e-9 * count * p.points.bits / seconds,
                1e6 * bound,
                100.0 * bound / seconds);
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("bound: 8 + 4 bytes in and 4 a bit out, at the bandwidth of a copy\n");
    std::printf("%-9s %-12s %-7s %9s %11s %11s %11s %11s %8s\n",
                "backend",
                "points",
                "sums",
                "symbols",
                "us",
                "Gsymbols/s",
                "Gbit/s",
                "bound us",
                "of bound");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        std::vector<size_t> sizes{ 4096 };
        if (where == backend::cuda) {
            sizes = { size_t{ 1 } << 16, size_t{ 1 } << 24 };
        } else if (where == backend::cpu) {
            sizes = { 4096, size_t{ 1 } << 21 };
        }
        for (const char* name : { "qpsk", "qam16", "qam64", "qam256", "dvbs2_8psk" }) {
            for (const bool max_log : { true, false }) {
                for (const size_t count : sizes) {
                    measure(
                        *q, { constellation::make(name), max_log, 0 }, count, bandwidth);
                }
            }
        }
    }
}
