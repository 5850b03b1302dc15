/* SPDX-License-Identifier: GPL-3.0-or-later */
// Information bits a second of BCH encoding and decoding, with a share of wrong words.
// The bound is the memory: every bit is read once and written once.
#include "bench/benchmark.h"
#include <cmath>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/bch_decoder.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

std::vector<uint8_t> random_bytes(size_t count, uint8_t mask)
{
    std::mt19937 engine(1);
    std::vector<uint8_t> out(count);
    for (auto& byte : out) {
        byte = engine() & mask;
    }
    return out;
}

//! `share` of the words get t errors each. \param bandwidth  bytes a second of a copy
void measure(queue& q,
             const bch_code::sptr& code,
             bool packed,
             double share,
             size_t batch,
             double bandwidth)
{
    const auto bytes = [&](int bits) {
        return packed ? (static_cast<size_t>(bits) + 7) / 8 : bits;
    };
    const size_t in = bytes(code->n()), out = bytes(code->k());
    auto encoder = bch_encoder::make(code, { packed, packed }, q.where(), q.device());
    auto decoder = bch_decoder::make(code, { packed, packed }, q.where(), q.device());
    const array<uint8_t> info(
        q, view<const uint8_t>(random_bytes(batch * out, packed ? 255 : 1)));
    array<uint8_t> words(q, batch * in), result(q, batch * out);
    array<uint8_t> workspace(q, decoder->workspace_bytes(batch));
    array<int32_t> corrected(q, batch);
    encoder->run(info, words, q);
    auto received = words.to_host();
    std::mt19937 engine(2);
    for (size_t w = 0; w < batch; ++w) {
        const bool wrong =
            static_cast<size_t>((w + 1) * share) > static_cast<size_t>(w * share);
        for (int e = 0; wrong && e < code->t(); ++e) {
            const size_t at = engine() % code->n();
            received[w * in + (packed ? at / 8 : at)] ^= packed ? 128 >> at % 8 : 1;
        }
    }
    const array<uint8_t> disturbed(q, view<const uint8_t>(received));
    const double bits = double(batch) * code->k();
    const double encoding =
        benchmarks::seconds_per_call(q, [&] { encoder->run(info, words, q); });
    const double decoding = benchmarks::seconds_per_call(
        q, [&] { decoder->run(disturbed, result, corrected, workspace, q); });
    const double bound = bits * bandwidth / (double(batch) * double(in + out));
    std::printf("%-10s %-24s %-8s %8zu %8.3f %10.2f %10.2f %10.2f Gb/s\n",
                name_of(q.where()).c_str(),
                code->name().c_str(),
                packed ? "packed" : "bytes",
                batch,
                share,
                1e-9 * bits / encoding,
                1e-9 * bits / decoding,
                1e-9 * bound);
    const auto what =
        name_of(q.where()) + ", " + code->name() + (packed ? ", packed" : ", bytes");
    const benchmarks::compared copies{ 1e-9 * bound, "bytes at a copy's bandwidth" };
    if (share == 0) {
        benchmarks::record(
            { "BCH codes", what + ", encoding", 1e-9 * bits / encoding, "Gb/s", copies });
    }
    benchmarks::record(
        { "BCH codes",
          what + ", decoding, " + std::to_string(std::lround(100 * share)) + " % wrong",
          1e-9 * bits / decoding,
          "Gb/s",
          copies });
}

} // namespace

int main(int argc, char** argv)
{
    std::printf(
        "backend    code                     bits        batch    wrong     encode     "
        "decode      bound\n");
    for (const auto where : benchmarks::measured_backends(argc, argv)) {
        auto q = queue::make(where);
        const size_t words = where == backend::cuda ? 4096 : 512;
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        const auto code = [](const char* frame, const char* rate) {
            return bch_code::dvbs2(frame, rate);
        };
        for (const bool packed : { false, true }) {
            for (const double share : { 0.0, 0.01, 1.0 }) {
                measure(*q, code("normal", "9/10"), packed, share, words, bandwidth);
                measure(*q, code("normal", "1/2"), packed, share, words, bandwidth);
                measure(*q, code("short", "1/2"), packed, share, words, bandwidth);
            }
            measure(*q, bch_code::primitive(10, 4), packed, 0.01, 64 * words, bandwidth);
        }
    }
}
