/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/benchmark.h"
#include <cmath>
#include <cstdio>
#include <gnuradio/cudaphy/kernels/machine.h>
#include <gnuradio/cudaphy/kernels/soft_demapper.h>
#include <random>
#include <string>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;

namespace {

//! Points in noise. They repeat, because drawing all of them would take longer than the
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

/*!
 * Operations that a symbol's LLRs take by the formulas: powers of 2, logarithms and
 * reciprocals, of which a GPU does an eighth as many as of others, and the others, where
 * a fused multiply-add, a minimum and a comparison count one each.
 */
struct operations {
    double special, other;

    double seconds(double multiply_adds) const
    {
        return std::max(8 * special, special + other) / multiply_adds;
    }
};

//! Of APSK by the search that its structure allows (mirror_tables.h).
operations operations_of_apsk(const soft_demapper::parameters& p, int rounding)
{
    const auto& name = p.points.name;
    const int bits = p.points.bits;
    const double points = double(p.points.points.size());
    const double of_bits = bits * (3.0 + rounding);
    if (!p.max_log) {
        // A point: two distances, their squares' sum, the power; its share in the sums.
        return { 2 + points + 2 * bits, points * (4 + 2) + of_bits };
    }
    const bool rings = name == "dvbs2x_64apsk_128/180" ||
                       (bits == 8 && name.find("/30") == std::string::npos);
    if (rings) {
        // An angle: two products, sum, difference, its share in four extremes; the best
        // ring for the best angle, for each bit of the angle, and beyond the axes: three
        // a ring.
        const double half = bits / 2 - 1, many = std::exp2(half);
        return { 1, many * (4 + 4) + (half + 3) * many * 3 + 2 * many + of_bits };
    }
    const bool mirrored = name.rfind("dvbs2_32apsk", 0) != 0;
    // A point: two products, three sums with its energy, its share in the maxima.
    return { 1, mirrored ? points / 4 * (8 + 4) + of_bits : points * (4 + 2) + of_bits };
}

operations operations_of(const soft_demapper::parameters& p, bool as_int8)
{
    const int bits = p.points.bits;
    const int rounding = as_int8 ? 2 : 0; // and its place in a word
    if (p.points.name.find("apsk") != std::string::npos) {
        return operations_of_apsk(p, rounding);
    }
    if (bits == 3) {
        // 8PSK: turning 4, sizes in order 2; a bit: its size 3, choice and sign 2; exact:
        // six exponents and 1 + E, a bit's two sums and their logarithms' difference.
        const operations max_log{ 1, 4 + 2 + bits * (5.0 + rounding) };
        return p.max_log ? max_log
                         : operations{ 1 + 6 + 2 * 3, max_log.other + 8 + 4 + 3 * 3 };
    }
    const double half = bits / 2;
    const double levels = std::exp2(half - 1); // of an axis's upper half
    if (p.max_log || bits == 2) {
        // A distance 1, two sums, their product, the scale, the sign.
        return { 1, bits * (6.0 + rounding) };
    }
    // Of an axis: a power each step and image; exponents, images, their sums with the
    // levels; two sums of all levels for the sign, two of a half each for the other bits;
    // a bit's two logarithms, their difference, what is linear in it (2), the scale.
    return { 2 + 2 * (levels + 2 * half),
             2 * (2 + (levels - 1) + 2 * levels + 3 * (levels - 1) +
                  (half - 1) * (levels - 2) + half * (4.0 + rounding)) };
}

template <typename T>
void measure(queue& q,
             const soft_demapper::parameters& p,
             float decibels,
             size_t count,
             double bandwidth,
             double multiply_adds)
{
    const bool interleaved = !p.interleaver.columns.empty();
    if (interleaved) {
        count -= count % p.interleaver.symbols;
    }
    const float variance = std::pow(10.0f, -0.1f * decibels);
    const auto host = noisy_points(p.points, variance, count);
    const array<complex64> x(q, view<const complex64>(host));
    // One variance serves all symbols of frames, as it does in packets.
    const std::vector<float> variances(interleaved ? 1 : count, variance);
    const array<float> noise(q, view<const float>(variances));
    array<T> llr(q,
                 interleaved ? count / p.interleaver.symbols * size_t(p.interleaver.bits)
                             : count * p.points.bits);
    const auto plan = soft_demapper::make(p, q.where(), q.device());
    const double seconds =
        benchmarks::seconds_per_call(q, [&] { plan->run(x, noise, llr, q); });
    const double bytes =
        double(count) * (8 + (interleaved ? 0 : 4) + sizeof(T) * p.points.bits);
    const double moving = bytes / bandwidth;
    const double computing =
        double(count) * operations_of(p, sizeof(T) == 1).seconds(multiply_adds);
    std::printf("%-9s %-22s %-7s %-5s %5.0f %9zu %11.1f %11.3f %11.3f %9.1f %10.1f "
                "%6.1f %%\n",
                name_of(q.where()).c_str(),
                p.points.name.c_str(),
                p.max_log ? "max-log" : "exact",
                interleaved      ? "frame"
                : sizeof(T) == 1 ? "int8"
                                 : "float",
                decibels,
                count,
                1e6 * seconds,
                1e-9 * count / seconds,
                1e-9 * count * p.points.bits / seconds,
                1e6 * moving,
                1e6 * computing,
                100.0 * std::max(moving, computing) / seconds);
    benchmarks::record(
        { "Soft demapper",
          name_of(q.where()) + ", " + p.points.name +
              (p.max_log ? ", max-log" : ", exact") +
              (sizeof(T) == 1 ? ", int8, " : ", float, ") +
              (p.max_log ? "" : std::to_string(std::lround(decibels)) + " dB, ") +
              (interleaved ? "normal frames of DVB-S2, interleaved, " : "") +
              std::to_string(count) + " symbols",
          1e-9 * count / seconds,
          "G symbols/s",
          { 1e-9 * count / std::max(moving, computing),
            moving > computing ? "bytes at a copy's bandwidth" : "operations" } });
}

//! The interleaver of a normal frame of DVB-S2 and S2X; any order of columns takes as
//! long.
bit_interleaver of_normal_frame(int bits)
{
    constexpr int frame = 64800;
    return { std::string("01234567").substr(0, bits), (frame + bits - 1) / bits, frame };
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> names{ "qpsk",
                                          "qam16",
                                          "qam64",
                                          "qam256",
                                          "dvbs2_8psk",
                                          "dvbs2_16apsk_3/4",
                                          "dvbs2_32apsk_3/4",
                                          "dvbs2x_64apsk_128/180",
                                          "dvbs2x_64apsk_4/5",
                                          "dvbs2x_128apsk_135/180",
                                          "dvbs2x_256apsk_20/30",
                                          "dvbs2x_256apsk_135/180" };
    const auto chosen = benchmarks::take_words(argc, argv, names);
    const auto measured = benchmarks::measured_backends(argc, argv);
    std::printf("bound: the greater of 8 + 4 bytes in and 4 or 1 a bit out, at the "
                "bandwidth of a "
                "copy,\nand the operations that the formulas take, at the rate of fused "
                "multiply-adds, an eighth of\nit for powers of 2 and logarithms\n");
    std::printf("%-9s %-22s %-7s %-5s %5s %9s %11s %11s %11s %9s %10s %8s\n",
                "backend",
                "points",
                "sums",
                "LLRs",
                "SNR",
                "symbols",
                "us",
                "Gsymbols/s",
                "Gbit/s",
                "bytes us",
                "operations",
                "of bound");
    for (const backend where : measured) {
        const auto q = queue::make(where);
        const double bandwidth = benchmarks::copy_bandwidth(*q);
        const double multiply_adds = measure_machine(where, q->device()).multiply_adds;
        std::printf("%s: a copy moves %.1f GB/s; %.2f T multiply-adds/s\n",
                    name_of(where).c_str(),
                    1e-9 * bandwidth,
                    1e-12 * multiply_adds);
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
                measure<float>(
                    *q, { points, true, 0 }, 10, count, bandwidth, multiply_adds);
                measure<int8_t>(
                    *q, { points, true, 0 }, 10, count, bandwidth, multiply_adds);
                if (name.rfind("dvbs2", 0) == 0 && count > 64800) {
                    measure<int8_t>(*q,
                                    { points, true, 0, 12, of_normal_frame(points.bits) },
                                    10,
                                    count,
                                    bandwidth,
                                    multiply_adds);
                }
                // If points are far apart in units of noise, exact sums take more
                // operations.
                for (const float decibels : { 10.0f, 20.0f, 30.0f }) {
                    measure<float>(*q,
                                   { points, false, 0 },
                                   decibels,
                                   count,
                                   bandwidth,
                                   multiply_adds);
                }
            }
        }
    }
}
