/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/nr5g.h>
#include <string>
#include <utility>

// Speed of the steps around the LDPC codes of 5G NR on one core. The decoder must not
// wait for them.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr5g;

namespace {

constexpr int coded = 25200; // of a code block, a multiple of every order

template <typename T>
double recovered_a_second(queue& q, const rate_matcher& matcher)
{
    std::vector<T> llr(coded, T(1)), soft(matcher.soft_bits());
    return coded / benchmarks::seconds_per_call(q, [&] { matcher.recover(llr, soft); });
}

} // namespace

int main()
{
    auto q = queue::make(backend::cpu);
    std::printf(
        "5G NR, base graph 1, lifting size 384, one core. bound: a copy of as many "
        "bytes.\n%-9s %-8s %20s %20s %20s\n",
        "order",
        "version",
        "int8 G LLR/s",
        "float G LLR/s",
        "rate matching Gb/s");
    for (const int order : { 2, 4, 6, 8 }) {
        for (const int version : { 0, 2 }) {
            rate_matcher::parameters p;
            p.modulation_order = order;
            p.redundancy_version = version;
            const rate_matcher matcher(p);
            std::vector<uint8_t> word(matcher.soft_bits(), 1), out(coded);
            const double match = coded / benchmarks::seconds_per_call(
                                             *q, [&] { matcher.match(word, out); });
            const std::pair<const char*, double> rates[]{
                { "recover int8", 1e-9 * recovered_a_second<int8_t>(*q, matcher) },
                { "recover float", 1e-9 * recovered_a_second<float>(*q, matcher) },
                { "match", 1e-9 * match }
            };
            std::printf("%-9d %-8d", order, version);
            for (const auto& [what, rate] : rates) {
                std::printf(" %20.2f", rate);
                benchmarks::record({ "5G NR rate matching",
                                     std::string(what) + ", order " +
                                         std::to_string(order) + ", version " +
                                         std::to_string(version),
                                     rate,
                                     "G/s" });
            }
            std::printf("\n");
        }
    }
    std::vector<uint8_t> from(coded, 1), to(coded);
    const double copy = coded / benchmarks::seconds_per_call(*q, [&] {
                            std::memcpy(to.data(), from.data(), coded);
                            __asm__ volatile("" ::: "memory");
                        });
    uint32_t sum = 0;
    const double check =
        coded / benchmarks::seconds_per_call(*q, [&] { sum ^= remainder(crc24b, from); });
    std::printf("copy %.1f GB/s; CRC 24B %.2f Gb/s%s\n",
                1e-9 * copy,
                1e-9 * check,
                sum == 1 ? " " : "");
    benchmarks::record({ "5G NR rate matching", "CRC 24B", 1e-9 * check, "Gb/s" });
}
