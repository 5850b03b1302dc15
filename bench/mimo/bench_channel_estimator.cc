/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/channel_estimator.h>
#include <random>
#include <string>

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

void measure(
    queue& q, int n, int tones, int pilot_symbols, size_t batch, double bandwidth)
{
    const size_t elements = batch * tones * n;
    const auto host = random_symbols(elements * pilot_symbols);
    const array<complex64> received(q, view<const complex64>(host));
    array<complex64> h(q, elements * n);
    array<float> n0(q, batch);
    array<int> status(q, batch);
    const auto plan = channel_estimator::make(
        { n, n, tones, orthogonal_pilots(pilot_symbols, n) }, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { plan->run(received, h, n0, status, q); });
    const double bytes = 8.0 * elements * (pilot_symbols + n) + 8.0 * batch;
    const double bound = bytes / bandwidth;
    std::printf("%-9s %2d x %-2d %7d %6d %7zu %11.1f %11.4f %11.1f %6.1f %%\n",
                name_of(q.where()).c_str(),
                n,
                n,
                pilot_symbols,
                tones,
                batch,
                1e6 * seconds,
                1e-9 * batch * tones / seconds,
                1e6 * bound,
                100.0 * bound / seconds);
    benchmarks::record(
        { "Channel estimator",
          name_of(q.where()) + ", " + std::to_string(n) + " x " + std::to_string(n) +
              ", " + std::to_string(pilot_symbols) + " pilot symbols, " +
              std::to_string(tones) + " tones, " + std::to_string(batch) + " groups",
          1e-9 * batch * tones / seconds,
          "G tones/s",
          { 1e-9 * batch * tones / bound, "bytes at a copy's bandwidth" } });
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "bound: 8 Nr bytes a pilot symbol and tone in, 8 Nr Nt a tone out, at the "
        "bandwidth of a copy;\nas many pilot symbols as layers: noise from second "
        "differences, else from the residual\n");
    std::printf("%-9s %-7s %7s %6s %7s %11s %11s %11s %8s\n",
                "backend",
                "Nr x Nt",
                "pilots",
                "tones",
                "groups",
                "us",
                "Gtones/s",
                "bound us",
                "of bound");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        const size_t all = where == backend::cuda  ? size_t{ 1 } << 21
                           : where == backend::cpu ? size_t{ 1 } << 17
                                                   : 3276;
        // 52 tones are a 20 MHz symbol of IEEE 802.11, 3276 are 100 MHz of 5G NR.
        for (const int n : { 2, 4, 8, 16 }) {
            for (const int tones : { 52, 3276 }) {
                for (const int extra : { 0, n }) {
                    measure(*q, n, tones, n + extra, 1, bandwidth);
                    measure(*q, n, tones, n + extra, all / tones * 4 / n + 1, bandwidth);
                }
            }
        }
    }
}
