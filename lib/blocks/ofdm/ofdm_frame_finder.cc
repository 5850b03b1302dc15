/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ofdm/ofdm_frame_finder.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy {
namespace {

using complex = std::complex<double>;

const ofdm_frame_shape& checked(const ofdm_frame_shape& shape)
{
    shape.check();
    return shape;
}

//! The threshold that noise exceeds with probability 1e-6, but at least 0.1. In noise the
//! metric exceeds x with probability (1 - x)^(n - 1), where n = antennas · half a symbol
//! (the beta distribution of a squared correlation coefficient). The matched filter
//! rejects false detections.
double automatic_threshold(const ofdm_frame_shape& s)
{
    const double n = double(s.antennas) * s.half();
    return std::max(0.1, 1 - std::pow(1e-6, 1 / (n - 1)));
}

complex turned(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

//! A complex product without the checks for infinities.
complex product(complex a, complex b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! piece[i] becomes the sum over a window of the length of `piece` that begins at i.
//! `next` follows `piece`. Sums are computed without subtractions, because these would
//! leave the roundings of large samples in later sums.
template <typename T>
void sum_windows(std::vector<T>& piece, const std::vector<T>& next)
{
    T sum{};
    for (size_t i = piece.size(); i-- > 0;) {
        sum += piece[i];
        piece[i] = sum;
    }
    sum = T{};
    for (size_t i = 1; i < piece.size(); ++i) {
        sum += next[i - 1];
        piece[i] += sum;
    }
}

} // namespace

ofdm_frame_finder::ofdm_frame_finder(const ofdm_frame_shape& shape)
    : d_shape(checked(shape)),
      d_threshold(shape.threshold > 0 ? shape.threshold : automatic_threshold(shape)),
      d_filter(shape), d_samples(shape.antennas)
{
}

void ofdm_frame_finder::restart()
{
    for (auto& samples : d_samples) {
        samples.clear();
    }
    d_first = d_search = 0;
    d_measured = -1;
    d_detected = d_located = false;
    d_false_alarms = 0;
}

void ofdm_frame_finder::append(const std::vector<const std::complex<float>*>& samples,
                               int count)
{
    const size_t before = kept();
    for (int r = 0; r < d_shape.antennas; ++r) {
        auto& to = d_samples[r];
        to.resize(before + count);
        for (int i = 0; i < count; ++i) {
            const auto value = samples[r][i];
            const bool finite =
                std::isfinite(value.real()) && std::isfinite(value.imag());
            to[before + i] = finite ? value : std::complex<float>(0);
        }
    }
}

bool ofdm_frame_finder::next(ofdm_frame& found)
{
    while (!d_located) {
        // The caller has used the samples of the frame before.
        forget(std::min(d_search, end()));
        const int64_t ahead = d_shape.half() + 4 * d_shape.cyclic_prefix;
        if (!detect() || end() < d_search + ahead + 2 * d_shape.fft_size) {
            return false; // more samples are needed
        }
        d_located = locate();
        d_detected = false;
    }
    const int64_t after =
        d_frame.window + d_shape.fft_size + int64_t(d_shape.symbols) * d_shape.symbol();
    if (end() < after) {
        return false;
    }
    d_frame.carrier_offset = refined(d_frame.window, d_frame.carrier_offset);
    found = d_frame;
    d_located = false;
    // The prefix of the next preamble may begin at the end of the window, and so may the
    // plateau of the metric.
    d_search = after - d_shape.cyclic_prefix + d_shape.advance;
    return true;
}

ofdm_preamble_filter::samples ofdm_frame_finder::samples_from(int64_t at) const
{
    ofdm_preamble_filter::samples from;
    for (const auto& each : d_samples) {
        from.push_back(each.data() + (at - d_first));
    }
    return from;
}

//! The energies of half a symbol of samples, summed over the antennas.
void ofdm_frame_finder::energies(int64_t at, std::vector<double>& to) const
{
    to.assign(d_shape.half(), 0);
    for (const auto* x : samples_from(at)) {
        for (size_t m = 0; m < to.size(); ++m) {
            to[m] += std::norm(complex(x[m]));
        }
    }
}

//! The products of half a symbol of samples with those half a symbol later, summed over
//! the antennas.
void ofdm_frame_finder::products(int64_t at, std::vector<complex>& to) const
{
    const int half = d_shape.half();
    to.assign(half, 0);
    for (const auto* x : samples_from(at)) {
        for (int m = 0; m < half; ++m) {
            to[m] += product(std::conj(complex(x[m])), complex(x[m + half]));
        }
    }
}

//! Computes the metric for another half symbol; false if that needs more samples.
bool ofdm_frame_finder::measure()
{
    const int half = d_shape.half();
    if (d_measured < d_search) {
        d_metrics.clear();
        d_repeated.clear();
        if (end() < d_search + 3 * half) {
            return false;
        }
        d_measured = d_search;
        products(d_measured, d_products);
        energies(d_measured, d_sums);
        energies(d_measured + half, d_energies);
        sum_windows(d_sums, d_energies);
    }
    if (end() < d_measured + 3 * half) {
        return false;
    }
    std::vector<complex> later;
    std::vector<double> latest;
    products(d_measured + half, later);
    energies(d_measured + 2 * half, latest);
    sum_windows(d_products, later);
    sum_windows(d_energies, latest);
    for (int m = 0; m < half; ++m) {
        const double energy = 0.5 * (d_sums[m] + d_energies[m]);
        d_metrics.push_back(energy > 0 ? std::norm(d_products[m]) / (energy * energy)
                                       : 0);
    }
    d_repeated.insert(d_repeated.end(), d_products.begin(), d_products.end());
    d_products.swap(later);
    d_sums.swap(d_energies);
    d_energies.swap(latest);
    d_measured += half;
    return true;
}

//! Moves the search to the next sample at which the metric exceeds the threshold.
bool ofdm_frame_finder::detect()
{
    while (!d_detected) {
        if (d_search >= d_measured && !measure()) {
            return false;
        }
        const auto from = d_metrics.end() - (d_measured - d_search);
        const auto at = std::find_if(
            from, d_metrics.end(), [this](double x) { return x > d_threshold; });
        d_search += at - from;
        d_detected = at != d_metrics.end();
    }
    return true;
}

//! The offset from d_search at which the metric's mean over a prefix is largest, at most
//! a rise of the metric and a plateau later. \param repeated  the sum of the samples'
//! products there
int64_t ofdm_frame_finder::plateau(complex& repeated) const
{
    const int prefix = d_shape.cyclic_prefix;
    const size_t first = d_metrics.size() - (d_measured - d_search);
    const auto* metrics = d_metrics.data() + first;
    double best = -1, mean = 0;
    int64_t found = 0;
    for (int64_t d = 0; d < d_shape.half() + 3 * prefix; ++d) {
        mean += metrics[d];
        if (d >= prefix) {
            mean -= metrics[d - prefix];
        }
        if (d >= prefix - 1 && mean > best) {
            best = mean;
            found = d - (prefix - 1);
        }
    }
    repeated = 0;
    for (int64_t d = found; d < found + prefix; ++d) {
        repeated += d_repeated[first + d];
    }
    return found;
}

//! The place near `begin` where the matched filter finds most energy.
ofdm_preamble_filter::match
ofdm_frame_finder::strongest(int64_t begin, const ofdm_preamble_filter::likeness& like)
{
    const int64_t first = std::max(d_first, begin + d_filter.earliest());
    const int64_t after =
        std::min(begin + d_filter.latest() + d_shape.window(), end() - d_shape.fft_size);
    if (after - first < d_shape.window()) {
        return { begin, 0 };
    }
    auto found =
        d_filter.find(samples_from(first), static_cast<int>(after - first), like);
    found.place += first;
    return found;
}

//! Finds the frame of a detection; false if it was a false alarm. All samples that this
//! needs must have come.
bool ofdm_frame_finder::locate()
{
    const int prefix = d_shape.cyclic_prefix;
    const int half = d_shape.half();
    // The metric rises over half a symbol to a plateau of the length of the prefix.
    while (d_measured < d_search + half + 3 * prefix) {
        measure();
    }
    complex repeated;
    const int64_t flat = plateau(repeated);
    const int64_t begin = d_search + flat;
    // `chance` is the part of its energy that other signals have in a window of the
    // matched filter. A preamble has all of its energy there, except for the noise.
    const double chance = std::min(0.9, double(d_shape.window()) / half);
    const double enough = 0.5 * (1 + chance);
    // The products are over half a symbol, so a full turn is two tone spacings.
    const auto like =
        d_filter.compare(samples_from(begin + prefix / 2), std::arg(repeated) / M_PI);
    int64_t passed = std::max<int64_t>(flat + prefix, half / 2);
    if (like.quality > 0.5 * (chance + enough)) {
        const auto found = strongest(begin, like);
        d_frame = { found.place - d_shape.advance, like.offset };
        // A prefix beside a carrier may look like a preamble. Then the filter finds more
        // energy from there on. 1.001: the same energy differs by rounding.
        if (d_frame.window >= d_first &&
            d_filter.quality(samples_from(found.place), like.offset) >= enough &&
            strongest(found.place, like).energy <= 1.001 * found.energy) {
            return true;
        }
        passed = std::max<int64_t>(passed, half);
    }
    ++d_false_alarms;
    d_search += passed;
    return false;
}

//! The carrier offset from all cyclic prefixes of the frame and the samples that they
//! repeat. Only the later half of a prefix counts, because echoes of the symbol before
//! reach it least.
double ofdm_frame_finder::refined(int64_t window, double offset) const
{
    complex sum = 0;
    const int prefix = d_shape.cyclic_prefix;
    for (int s = 0; s <= d_shape.symbols; ++s) {
        const int64_t start = window + d_shape.advance + int64_t(s) * d_shape.symbol();
        const int64_t from = start - (prefix + 1) / 2;
        for (int64_t m = std::max(d_first, from); m < start; ++m) {
            for (int r = 0; m + d_shape.fft_size < end() && r < d_shape.antennas; ++r) {
                sum += product(std::conj(sample(r, m)), sample(r, m + d_shape.fft_size));
            }
        }
    }
    if (!(std::norm(sum) > 0)) {
        return offset;
    }
    // A turn is one tone spacing. The first estimate gives the whole spacings.
    const double part = std::arg(sum) / (2 * M_PI);
    return part + std::round(offset - part);
}

void ofdm_frame_finder::symbol(const ofdm_frame& frame,
                               int symbol,
                               int antenna,
                               std::complex<float>* to) const
{
    const int64_t after = int64_t(symbol + 1) * d_shape.symbol();
    const auto* const from = d_samples[antenna].data() + (frame.window + after - d_first);
    const double turns = -frame.carrier_offset / d_shape.fft_size;
    const complex step = turned(turns);
    complex turn;
    for (int m = 0; m < d_shape.fft_size; ++m) {
        turn = m % 64 ? product(turn, step) : turned(std::fmod(turns * (after + m), 1.0));
        to[m] = std::complex<float>(product(complex(from[m]), turn));
    }
}

void ofdm_frame_finder::forget(int64_t before)
{
    // The matched filter reads samples before the search, at most two symbols. Samples go
    // in large pieces, because that costs fewer moves.
    const int64_t count = before - 2 * d_shape.symbol() - d_first;
    if (count < 4 * d_shape.symbol()) {
        return;
    }
    for (auto& samples : d_samples) {
        samples.erase(samples.begin(), samples.begin() + count);
    }
    d_first += count;
    const auto unread = std::max<int64_t>(0, d_measured - d_search);
    const auto passed = int64_t(d_metrics.size()) - unread;
    if (passed > 0) {
        d_metrics.erase(d_metrics.begin(), d_metrics.begin() + passed);
        d_repeated.erase(d_repeated.begin(), d_repeated.begin() + passed);
    }
}

} // namespace gr::cudaphy
