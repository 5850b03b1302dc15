/* SPDX-License-Identifier: GPL-3.0-or-later */
// Symbols a second of Symbol Sync from samples in the host's memory to symbols in the
// host's memory, as its block runs it: with page-locked memory and chunks of the block's
// size, one after the other. The samples are QPSK without noise.
#include "bench/benchmark.h"
#include "kernels/symbol_sync/plan.h"
#include "runtime/device/page_lock.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <gnuradio/cudaphy/kernels/symbol_stream.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Shaped with few symbols a side: the time does not depend on the samples.
std::vector<complex64> samples_of(double rate, double roll_off, size_t count)
{
    std::mt19937 engine(1);
    std::vector<complex64> symbols(static_cast<size_t>(count / rate) + 16);
    for (auto& s : symbols) {
        const auto bits = engine();
        s = complex64(bits & 1 ? 1 : -1, bits & 2 ? 1 : -1) * 0.5f;
    }
    std::vector<complex64> samples(count);
    for (size_t n = 0; n < count; ++n) {
        const double t = static_cast<double>(n) / rate + 6;
        for (auto k = static_cast<size_t>(t) - 5; k <= static_cast<size_t>(t) + 6; ++k) {
            samples[n] += symbols[k] * static_cast<float>(root_raised_cosine(
                                           t - static_cast<double>(k), roll_off));
        }
    }
    return samples;
}

void measure(
    backend where, double rate, double roll_off, sample_format format, double most_offset)
{
    symbol_sync_parameters p;
    p.samples_per_symbol = rate;
    p.roll_off = roll_off;
    p.format = format;
    p.most_samples = where == backend::cuda ? 1 << 19 : 1 << 16;
    const auto on = resolve(where);
    symbol_stream stream(p, most_offset, on, make_locked_memory);
    // Eight chunks, over and over.
    const size_t count = 8 * p.most_samples, each = bytes_of(format);
    const auto ring = make_locked_memory(count * each);
    auto* const bytes = static_cast<unsigned char*>(ring.get());
    const auto samples = samples_of(rate, roll_off, count);
    for (size_t n = 0; n < count; ++n) {
        const float parts[] = { samples[n].real(), samples[n].imag() };
        if (format == sample_format::complex64) {
            std::memcpy(bytes + n * each, parts, each);
            continue;
        }
        for (int i = 0; i < 2; ++i) {
            if (format == sample_format::sc16) {
                const auto value = static_cast<int16_t>(8000 * parts[i]);
                std::memcpy(bytes + n * each + 2 * i, &value, 2);
            } else {
                bytes[n * each + i] =
                    static_cast<unsigned char>(static_cast<int8_t>(30 * parts[i]));
            }
        }
    }
    const auto q = queue::make(on.where, on.device);
    size_t symbols = 0, calls = 0;
    const auto run = [&] {
        for (size_t at = 0; at < count; at += p.most_samples) {
            stream.feed(bytes + at * each, p.most_samples, false);
            symbols += stream.symbols().size();
        }
        ++calls;
    };
    run();
    run();
    symbols = calls = 0;
    const double seconds = benchmarks::seconds_per_call(*q, run);
    const double msymbols =
        1e-6 * static_cast<double>(symbols) / static_cast<double>(calls) / seconds;
    const char* const name = format == sample_format::complex64 ? "complex"
                             : format == sample_format::sc16    ? "sc16"
                                                                : "sc8";
    std::printf("%-10s %6.1f %8.2f   %-8s %-8s %10.1f Msym/s\n",
                name_of(on.where).c_str(),
                rate,
                roll_off,
                name,
                most_offset > 0 ? "yes" : "no",
                msymbols);
    char what[80];
    std::snprintf(what,
                  sizeof(what),
                  "%s, %.1f samples a symbol, roll-off %.2f, %s%s",
                  name_of(on.where).c_str(),
                  rate,
                  roll_off,
                  name,
                  most_offset > 0 ? ", carrier search" : "");
    benchmarks::record({ "Symbol Sync", what, msymbols, "Msym/s" });
}

} // namespace

int main(int argc, char** argv)
{
    std::printf("backend   samples/symbol roll-off type  search\n");
    for (const auto where : benchmarks::measured_backends(argc, argv)) {
        for (const double roll_off : { 0.35, 0.2, 0.05 }) {
            measure(where, 2, roll_off, sample_format::complex64, 0);
        }
        measure(where, 2, 0.2, sample_format::complex64, 0.25);
        for (const double rate : { 1.5, 3.7, 8.0 }) {
            measure(where, rate, 0.2, sample_format::complex64, 0);
        }
        measure(where, 2, 0.2, sample_format::sc16, 0);
        measure(where, 2, 0.2, sample_format::sc8, 0);
    }
}
