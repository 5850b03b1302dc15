/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symbol_sync/plan.h"
#include "kernels/common/pi.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::cudaphy::kernels {
namespace {

constexpr double last_candidate = 250e-6;
constexpr int phases_a_symbol = 512;

int padded(int taps)
{
    constexpr int to = symbol_sync_plan::padding;
    return (taps + to - 1) / to * to;
}

//! The greatest stride up to `most` samples that is no whole number of symbols: a carrier
//! that reaches both edges' filters then has no line at the symbol rate.
int stride_of(double samples_per_symbol, double most)
{
    int stride = std::max(1, static_cast<int>(most));
    const auto is_whole = [&] {
        const double symbols = stride / samples_per_symbol;
        return std::abs(symbols - std::rint(symbols)) < 0.25;
    };
    while (stride > 1 && is_whole()) {
        --stride;
    }
    return stride;
}

complex128 turned(double turns)
{
    return std::polar(1.0, 2 * pi * (turns - std::rint(turns)));
}

template <typename T>
complex64 number_at(const unsigned char* from, float scale)
{
    T part[2];
    std::memcpy(part, from, sizeof(part));
    const auto re = static_cast<float>(part[0]), im = static_cast<float>(part[1]);
    const bool good = std::abs(re) <= symbol_sync_plan::largest_sample &&
                      std::abs(im) <= symbol_sync_plan::largest_sample;
    return good ? complex64(re * scale, im * scale) : 0;
}

} // namespace

complex64 sample_at(const unsigned char* samples, size_t index, sample_format format)
{
    const auto* const from = samples + index * bytes_of(format);
    return format == sample_format::complex64 ? number_at<float>(from, 1)
           : format == sample_format::sc16    ? number_at<int16_t>(from, 1 / 32768.0f)
                                              : number_at<int8_t>(from, 1 / 128.0f);
}

double root_raised_cosine(double t, double a)
{
    if (std::abs(t) < 1e-8) {
        return 1 - a + 4 * a / pi;
    }
    const double u = 4 * a * t;
    if (std::abs(std::abs(u) - 1) < 1e-6) {
        return a / std::sqrt(2.0) *
               ((1 + 2 / pi) * std::sin(pi / (4 * a)) +
                (1 - 2 / pi) * std::cos(pi / (4 * a)));
    }
    return (std::sin(pi * t * (1 - a)) + u * std::cos(pi * t * (1 + a))) /
           (pi * t * (1 - u * u));
}

symbol_sync_plan::symbol_sync_plan(const symbol_sync_parameters& p)
    : given(p), samples_per_symbol(p.samples_per_symbol)
{
    constexpr int symbols = symbol_sync::block_symbols;
    const double a = p.roll_off;
    stride = stride_of(samples_per_symbol, samples_per_symbol / (points_a_bandwidth * a));
    points = static_cast<int>(std::lround(symbols * samples_per_symbol / stride));
    block_samples = points * stride;
    advance = block_samples / samples_per_symbol;
    centre = (points - 1) * stride / 2.0;
    edge_half = static_cast<int>(2 / a * samples_per_symbol);
    edge_taps = padded(2 * edge_half + 1);

    const double averaging = p.averaging ? p.averaging : 1536 / a;
    half_window = std::max(1, static_cast<int>(std::ceil((averaging / symbols - 1) / 2)));
    window = 2 * half_window + 1;
    candidate_step = 1 / (2 * window * advance);
    candidates = 2 * static_cast<int>(std::ceil(last_candidate / candidate_step)) + 1;

    const int span = p.span ? p.span : std::max(8, static_cast<int>(std::ceil(2 / a)));
    filter_half = static_cast<int>(std::ceil(span * samples_per_symbol));
    filter_taps = padded(2 * filter_half + 2);
    phase_bits =
        static_cast<int>(std::ceil(std::log2(phases_a_symbol / samples_per_symbol)));
    // The last segment is up to a block long, and every one may be half a symbol off.
    most_symbols = static_cast<int>(advance * (1 + most_clock_error)) + 4;
}

complex128 symbol_sync_plan::edge(double sample) const
{
    // From the band's inner end, x = 0, to its outer one, x = 1, the received pulse's
    // spectrum is cos(pi x / 2). This filter's is cos(pi x / 2) sin^2(pi x / 2), and the
    // product sin^2(pi x) / 4.
    constexpr int steps = 256;
    const double a = given.roll_off, t = sample / samples_per_symbol;
    const double reach = (edge_half + 1) / samples_per_symbol;
    if (std::abs(t) >= reach) {
        return 0;
    }
    complex128 sum = 0;
    for (int i = 0; i < steps; ++i) {
        const double x = (i + 0.5) / steps, s = std::sin(pi * x / 2);
        sum += std::cos(pi * x / 2) * s * s * turned(t * ((1 - a) / 2 + a * x));
    }
    const double taper = std::cos(pi * t / (2 * reach));
    return sum * (a / steps / samples_per_symbol * taper * taper);
}

double symbol_sync_plan::filter(double sample) const
{
    return std::abs(sample) > filter_half
               ? 0
               : root_raised_cosine(sample / samples_per_symbol, given.roll_off) /
                     samples_per_symbol;
}

complex128 symbol_sync_plan::turn(double from, double clock_error) const
{
    return turned(-from * advance * (1 + clock_error));
}

complex128 symbol_sync_plan::rotation(int point) const
{
    return turned(-(point * stride - centre) / samples_per_symbol);
}

void symbol_sync_plan::make_tables()
{
    edge_real.assign(edge_taps, 0);
    edge_imag.assign(edge_taps, 0);
    for (int k = 0; k <= 2 * edge_half; ++k) {
        // A filter's taps are its impulse response backwards.
        const auto value = edge(edge_half - k);
        edge_real[k] = static_cast<float>(value.real());
        edge_imag[k] = static_cast<float>(value.imag());
    }
    for (int i = 0; i < points; ++i) {
        rotations.emplace_back(rotation(i));
    }
    for (int j = 0; j < window; ++j) {
        for (int c = 0; c < candidates; ++c) {
            turns.emplace_back(turn(j - half_window, candidate(c)));
        }
    }
    filters.assign(phases() * filter_taps, 0);
    for (size_t p = 0; p < phases(); ++p) {
        const double fraction = static_cast<double>(p) / phases();
        for (int k = 0; k < 2 * filter_half + 2; ++k) {
            filters[p * filter_taps + k] =
                static_cast<float>(filter(k - filter_half - fraction));
        }
    }
}

} // namespace gr::cudaphy::kernels
