/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <chrono>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Batches are several times as large as the caches, except for the reference.
size_t batch_for(backend where, const ldpc_code& code)
{
    const size_t bits = where == backend::cuda  ? size_t{ 1 } << 29
                        : where == backend::cpu ? size_t{ 1 } << 27
                                                : size_t{ 1 } << 19;
    const size_t words = bits / (code.k() + code.n());
    return where == backend::reference ? words : (words + 63) / 64 * 64;
}

void measure(queue& q,
             const ldpc_code::sptr& code,
             bool packed,
             double bandwidth,
             double plan_seconds)
{
    const size_t batch = batch_for(q.where(), *code);
    const size_t in = packed ? (code->k() + 7) / 8 : code->k();
    const size_t out = packed ? (code->n() + 7) / 8 : code->n();
    std::mt19937 random(1);
    std::vector<uint8_t> bits(batch * in);
    for (auto& bit : bits) {
        bit = packed ? random() >> 24 : random() >> 31;
    }
    const array<uint8_t> info(q, view<const uint8_t>(bits));
    array<uint8_t> words(q, batch * out);
    const auto encoder =
        ldpc_encoder::make(code, { packed, packed }, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { encoder->run(info, words, q); });
    const double bound = static_cast<double>(info.size() + words.size()) / bandwidth;
    // A single codeword, from call to result.
    const double alone = benchmarks::seconds_per_call(q, [&] {
        encoder->run(view<const uint8_t>(info).part(0, in), words.all().part(0, out), q);
        q.synchronize();
    });
    std::printf("%-9s %-24s %-6s %7zu %10.1f %9.3f %10.1f %7.2f %% %9.2f %8.3f\n",
                name_of(q.where()).c_str(),
                code->name().c_str(),
                packed ? "packed" : "bytes",
                batch,
                1e6 * seconds,
                1e-9 * batch * code->k() / seconds,
                1e6 * bound,
                100 * bound / seconds,
                1e6 * alone,
                plan_seconds);
    const double information = 1e-9 * batch * code->k();
    const std::string what = name_of(q.where()) + ", " + code->name();
    benchmarks::record({ "LDPC encoder",
                         what + (packed ? ", packed" : ", bytes"),
                         information / seconds,
                         "Gb/s",
                         { information / bound, "bytes at a copy's bandwidth" } });
    if (packed) {
        benchmarks::record({ "LDPC encoder", what + ", one word", 1e6 * alone, "us" });
    }
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "Encoding. bound: information in and codeword out, a byte a bit or packed, at\n"
        "the bandwidth of a copy. one: a single codeword, from call to result. plan:\n"
        "making the encoder. One core alone: taskset -c 0 bench_ldpc_encoder cpu.\n");
    std::printf("%-9s %-24s %-6s %7s %10s %9s %10s %9s %9s %8s\n",
                "backend",
                "code",
                "bits",
                "words",
                "time us",
                "Gb/s info",
                "bound us",
                "of bound",
                "one us",
                "plan s");
    const std::vector<ldpc_code::sptr> codes = { ldpc_code::wifi(648, "1/2"),
                                                 ldpc_code::wifi(1944, "1/2"),
                                                 ldpc_code::wifi(1944, "5/6"),
                                                 ldpc_code::nr5g(1, 384, 46),
                                                 ldpc_code::nr5g(1, 384, 4),
                                                 ldpc_code::nr5g(2, 384, 42),
                                                 ldpc_code::nr5g(2, 384, 12),
                                                 ldpc_code::nr5g(1, 64, 46),
                                                 ldpc_code::nr5g(2, 8, 42),
                                                 ldpc_code::dvbs2("normal", "1/2"),
                                                 ldpc_code::dvbs2("short", "8/9"),
                                                 ldpc_code::ccsds("ar4ja", 1024, "1/2"),
                                                 ldpc_code::ccsds("ar4ja", 16384, "1/2"),
                                                 ldpc_code::ccsds(
                                                     "ar4ja", 16384, "4/5") };
    for (const backend where : measured) {
        auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        for (const auto& code : codes) {
            const auto start = std::chrono::steady_clock::now();
            ldpc_encoder::make(code, where, q->device());
            const double plan =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
                    .count();
            for (const bool packed : { false, true }) {
                measure(*q, code, packed, bandwidth, plan);
            }
        }
    }
}
