/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <algorithm>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/equalizer.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Random symbols. They repeat, with a period that no number of antennas divides: drawing
//! all of them would take longer than the measurement.
std::vector<complex64> random_symbols(size_t count)
{
    constexpr size_t period = 65521;
    std::mt19937 engine(1);
    std::normal_distribution<float> normal(0.0f, 0.7f);
    std::vector<complex64> x(count);
    for (size_t i = 0; i < count; ++i) {
        x[i] = i < period ? complex64{ normal(engine), normal(engine) } : x[i - period];
    }
    return x;
}

//! Real operations of a matrix with its vectors by the Gram matrix, the way of more than
//! 16 antennas: G, H^H y, the inverse and its product. A covariance's factor, which many
//! matrices share, is not counted; whitening is.
double operations(const equalizer::parameters& p)
{
    const double nr = p.receive_antennas, nt = p.layers, symbols = p.symbols;
    const double products =
        nr * nt * (nt + 1) / 2 + symbols * nt * (nr + nt) + nt * nt * nt / 2 +
        (p.method == detector::mmse_irc ? nr * nr / 2 * (nt + symbols) : 0);
    return 8 * products;
}

const char* name_of_method(detector method)
{
    return method == detector::mmse       ? "mmse"
           : method == detector::mmse_irc ? "irc"
                                          : "zf";
}

//! The covariance of an interferer and noise, as the pilots' bundle of a slot has it.
std::vector<complex64> covariance_of(size_t nr)
{
    const auto a = random_symbols(nr);
    std::vector<complex64> out(nr * nr);
    for (size_t r = 0; r < nr; ++r) {
        for (size_t c = 0; c < nr; ++c) {
            out[r * nr + c] = a[r] * std::conj(a[c]) + (r == c ? 0.1f : 0.0f);
        }
    }
    return out;
}

//! About `count` matrices, in groups of p.tones; mmse_irc with one covariance for all.
void measure(queue& q, const equalizer::parameters& p, size_t count, double bandwidth)
{
    const size_t nr = p.receive_antennas;
    const size_t nt = p.layers;
    const size_t groups = std::max<size_t>(1, count / p.tones);
    const size_t matrices = groups * p.tones;
    const size_t vectors = matrices * p.symbols;
    const auto host_h = random_symbols(matrices * nr * nt);
    const auto host_y = random_symbols(vectors * nr);
    const std::vector<float> host_n0(1, 0.1f);
    const array<complex64> h(q, view<const complex64>(host_h));
    const array<complex64> y(q, view<const complex64>(host_y));
    const array<float> n0(q, view<const float>(host_n0));
    array<complex64> x(q, vectors * nt);
    array<float> noise(q, vectors * nt);
    array<int> status(q, matrices);
    const bool colored = p.method == detector::mmse_irc;
    const auto host_covariance = covariance_of(colored ? nr : 0);
    const array<complex64> covariance(q, view<const complex64>(host_covariance));
    const auto plan = equalizer::make(p, q.where(), q.device());
    const double seconds = benchmarks::seconds_per_call(q, [&] {
        if (colored) {
            plan->run(y, h, covariance, x, noise, status, q);
        } else {
            plan->run(y, h, n0, x, noise, status, q);
        }
    });
    const double bytes =
        double(matrices) * (8 * nr * nt + 4) + double(vectors) * (8 * nr + 12 * nt);
    const double bound = bytes / bandwidth;
    std::printf("%-9s %3zu x %-2zu %-5s %7d %9zu %11.1f %11.4f %11.4f %11.1f %6.1f %%",
                name_of(q.where()).c_str(),
                nr,
                nt,
                name_of_method(p.method),
                p.symbols,
                matrices,
                1e6 * seconds,
                1e-9 * matrices / seconds,
                1e-9 * vectors / seconds,
                1e6 * bound,
                100.0 * bound / seconds);
    if (nr > 16) {
        std::printf(" %9.0f", 1e-9 * operations(p) * matrices / seconds);
    }
    std::printf("\n");
    benchmarks::record({ "MIMO equalizer",
                         name_of(q.where()) + ", " + std::to_string(nr) + " x " +
                             std::to_string(nt) + ", " + name_of_method(p.method) + ", " +
                             std::to_string(p.symbols) + " a matrix, " +
                             std::to_string(matrices) + " matrices",
                         1e-9 * vectors / seconds,
                         "G vectors/s",
                         { 1e-9 * vectors / bound, "bytes at a copy's bandwidth" } });
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::pair<int, int>> antennas{ { 2, 2 },  { 4, 2 },   { 4, 4 },
                                                     { 8, 8 },  { 16, 8 },  { 16, 16 },
                                                     { 64, 4 }, { 64, 16 }, { 128, 16 } };
    const auto name = [](int nr, int nt) {
        return std::to_string(nr) + "x" + std::to_string(nt);
    };
    std::vector<std::string> names;
    for (const auto& [nr, nt] : antennas) {
        names.push_back(name(nr, nt));
    }
    const auto chosen = benchmarks::take_words(argc, argv, names);
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf(
        "bound: 8 Nr Nt bytes a matrix and 8 Nr a vector in, 4 a matrix and 12 Nt "
        "a vector out,\nat the bandwidth of a copy; Gflop/s: beyond 16 antennas, "
        "of the Gram matrix's way\n");
    std::printf("%-9s %-8s %-5s %7s %9s %11s %11s %11s %11s %8s %9s\n",
                "backend",
                "Nr x Nt",
                "method",
                "symbols",
                "matrices",
                "us",
                "Gmatrices/s",
                "Gvectors/s",
                "bound us",
                "of bound",
                "Gflop/s");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        std::printf(
            "%s: a copy moves %.1f GB/s\n", name_of(where).c_str(), 1e-9 * bandwidth);
        // 3276 tones are 100 MHz of 5G NR at 30 kHz, and 14 symbols its slot; 45864, each
        // with its own matrix, are what a receiver that follows time has in a slot.
        std::vector<size_t> sizes{ 64 };
        if (where == backend::cuda) {
            sizes = { 3276, size_t{ 1 } << 20 };
        } else if (where == backend::cpu) {
            sizes = { 3276, size_t{ 1 } << 16 };
        }
        for (const auto& [nr, nt] : antennas) {
            if (!benchmarks::is_chosen(chosen, name(nr, nt))) {
                continue;
            }
            const bool many = nr > 16;
            if (many && where != backend::reference) {
                sizes = { 3276, 45864 };
            }
            for (const auto method :
                 { detector::zero_forcing, detector::mmse, detector::mmse_irc }) {
                if (method == (many ? detector::zero_forcing : detector::mmse_irc)) {
                    continue;
                }
                for (const int symbols : { 1, 14 }) {
                    for (const size_t count : sizes) {
                        if (many && symbols == 14 && count > 3276) {
                            continue;
                        }
                        const int tones = int(std::min<size_t>(count, 3276));
                        measure(*q,
                                { nr, nt, method, true, symbols, tones },
                                count,
                                bandwidth);
                    }
                }
            }
        }
    }
}
