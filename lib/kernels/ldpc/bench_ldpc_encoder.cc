/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/benchmark.h"
#include <cstdio>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Bytes in and out: several times the caches, but for the reference.
size_t batch_for(backend where, const ldpc_code& code)
{
    const size_t bytes = where == backend::cuda  ? size_t{ 1 } << 29
                         : where == backend::cpu ? size_t{ 1 } << 27
                                                 : size_t{ 1 } << 19;
    const size_t words = bytes / (code.k() + code.n());
    return where == backend::reference ? words : (words + 63) / 64 * 64;
}

void measure(queue& q, const ldpc_code::sptr& code, double bandwidth)
{
    const size_t batch = batch_for(q.where(), *code);
    std::mt19937 random(1);
    std::vector<uint8_t> bits(batch * code->k());
    for (auto& bit : bits) {
        bit = random() & 1;
    }
    const array<uint8_t> info(q, view<const uint8_t>(bits));
    array<uint8_t> words(q, batch * code->n());
    const auto encoder = ldpc_encoder::make(code, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { encoder->run(info, words, q); });
    const double bound = static_cast<double>(info.size() + words.size()) / bandwidth;
    // A single codeword, from call to result.
    const double alone = benchmarks::seconds_per_call(q, [&] {
        encoder->run(view<const uint8_t>(info).part(0, code->k()),
                     words.all().part(0, code->n()),
                     q);
        q.synchronize();
    });
    std::printf("%-9s %-18s %7zu %10.1f %9.3f %10.1f %7.2f %% %9.1f\n",
                name_of(q.where()).c_str(),
                code->name().c_str(),
                batch,
                1e6 * seconds,
                1e-9 * info.size() / seconds,
                1e6 * bound,
                100 * bound / seconds,
                1e6 * alone);
}

} // namespace

int main(int argc, char** argv)
{
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("Encoding. bound: a byte a bit, information in and codeword out, at the\n"
                "bandwidth of a copy. one: a single codeword, from call to result.\n");
    std::printf("%-9s %-18s %7s %10s %9s %10s %9s %9s\n",
                "backend",
                "code",
                "words",
                "time us",
                "Gb/s info",
                "bound us",
                "of bound",
                "one us");
    for (const backend where : measured) {
        auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        for (const auto& code : { ldpc_code::wifi(1944, "1/2"),
                                  ldpc_code::wifi(1944, "5/6"),
                                  ldpc_code::dvbs2("normal", "1/2") }) {
            measure(*q, code, bandwidth);
        }
    }
}
