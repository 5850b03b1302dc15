/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include <cmath>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Points in noise. They repeat: drawing all of them would take longer than the
//! measurement.
std::vector<complex64> noisy_points(const constellation& c, float variance, size_t count)
{
    constexpr size_t period = 65521;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0f, std::sqrt(variance / 2));
    std::vector<complex64> x(count);
    for (size_t i = 0; i < count; ++i) {
        x[i] = i < period ? c.points[engine() % c.points.size()] +
                                complex64{ normal(engine), normal(engine) }
                          : x[i - period];
    }
    return x;
}

template <typename T>
void measure(queue& q,
             const soft_demapper::parameters& p,
             float decibels,
             size_t count,
             double bandwidth)
{
    const float variance = std::pow(10.0f, -0.1f * decibels);
    const auto host = noisy_points(p.points, variance, count);
    const array<complex64> x(q, view<const complex64>(host));
    const std::vector<float> variances(count, variance);
    const array<float> noise(q, view<const float>(variances));
    array<T> llr(q, count * p.points.bits);
    const auto plan = soft_demapper::make(p, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { plan->run(x, noise, llr, q); });
    const double bytes = double(count) * (8 + 4 + sizeof(T) * p.points.bits);
    const double bound = bytes / bandwidth;
    std::printf("%-9s %-12s %-7s %-5s %5.0f %9zu %11.1f %11.3f %11.3f %11.1f %6.1f %%\n",
                name_of(q.where()).c_str(),
                p.points.name.c_str(),
                p.max_log ? "max-log" : "exact",
                sizeof(T) == 1 ? "int8" : "float",
                decibels,
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
    const std::vector<std::string> names{
        "qpsk", "qam16", "qam64", "qam256", "dvbs2_8psk"
    };
    const auto chosen = benchmarks::take_words(argc, argv, names);
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "bound: 8 + 4 bytes in and 4 or 1 a bit out, at the bandwidth of a copy\n");
    std::printf("%-9s %-12s %-7s %-5s %5s %9s %11s %11s %11s %11s %8s\n",
                "backend",
                "points",
                "sums",
                "LLRs",
                "SNR",
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
        for (const auto& name : names) {
            if (!benchmarks::is_chosen(chosen, name)) {
                continue;
            }
            const auto points = constellation::make(name);
            for (const size_t count : sizes) {
                measure<float>(*q, { points, true, 0 }, 10, count, bandwidth);
                measure<int8_t>(*q, { points, true, 0 }, 10, count, bandwidth);
                // Where points are far apart in noise, exact sums take more care.
                for (const float decibels : { 10.0f, 20.0f, 30.0f }) {
                    measure<float>(*q, { points, false, 0 }, decibels, count, bandwidth);
                }
            }
        }
    }
}
