/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ofdm_frame_finder.h"
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace gr::cudaphy {
namespace {

using complex = std::complex<double>;

void check(const char* what, double value, double least, double most)
{
    if (!(value >= least && value <= most)) {
        throw std::invalid_argument(
            "ofdm_synchronizer: " + std::string(what) + " is " + std::to_string(value) +
            ", allowed are " + std::to_string(least) + " to " + std::to_string(most));
    }
}

const ofdm_frame_shape& checked(const ofdm_frame_shape& s)
{
    check("antennas", s.antennas, 1, 16);
    check("fft_size", s.fft_size, 16, 65536);
    check("fft_size modulo 2", s.fft_size % 2, 0, 0);
    check("cyclic_prefix", s.cyclic_prefix, 1, s.fft_size / 2 - 1);
    check("symbols", s.symbols, 2, 1024);
    check("the number of the preamble's samples", s.preamble.size(), s.half(), s.half());
    double energy = 0;
    for (const auto& value : s.preamble) {
        energy += std::norm(complex(value));
    }
    check("the preamble's energy", energy, 1e-30, 1e30);
    check("the number of shifts", s.shifts.size(), 1, 64);
    for (const int shift : s.shifts) {
        check("a shift", shift, 0, s.cyclic_prefix);
    }
    check("advance", s.advance, 0, s.cyclic_prefix - 1);
    check("most_offset", s.most_offset, 0, s.half());
    check("threshold", s.threshold, 0, 0.999);
    return s;
}

//! In noise the metric exceeds x with probability (1 - x)^(n - 1), n = antennas · half a
//! symbol (the beta distribution of a correlation coefficient's square). The matched
//! filter sorts out what passes.
double automatic_threshold(const ofdm_frame_shape& s)
{
    const double n = double(s.antennas) * s.half();
    return std::max(0.1, 1 - std::pow(1e-6, 1 / (n - 1)));
}

complex turned(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

//! A sum that is the real and imaginary part's own: no look after infinities.
complex product(complex a, complex b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

} // namespace

ofdm_frame_finder::ofdm_frame_finder(const ofdm_frame_shape& shape)
    : d_shape(checked(shape)),
      d_threshold(shape.threshold > 0 ? shape.threshold : automatic_threshold(shape)),
      d_samples(shape.antennas)
{
}

void ofdm_frame_finder::append(const std::vector<const std::complex<float>*>& samples,
                               int count)
{
    const size_t before = kept();
    const size_t half = d_shape.half();
    d_energy.resize(before + count);
    d_repeated.resize(before + count);
    for (int r = 0; r < d_shape.antennas; ++r) {
        auto& to = d_samples[r];
        to.resize(before + count);
        for (int i = 0; i < count; ++i) {
            const auto value = samples[r][i];
            const bool finite =
                std::isfinite(value.real()) && std::isfinite(value.imag());
            to[before + i] = finite ? value : std::complex<float>(0);
        }
        for (size_t i = before; i < to.size(); ++i) {
            const complex here(to[i]);
            d_energy[i] += std::norm(here);
            if (i >= half) {
                d_repeated[i - half] += product(std::conj(complex(to[i - half])), here);
            }
        }
    }
}

bool ofdm_frame_finder::next(ofdm_frame& found)
{
    for (;;) {
        if (!d_located) {
            // The samples of a frame given before may go now.
            forget(std::min(d_search, end()));
            if (!detect() || !locate()) {
                if (d_detected || end() - d_search < 2 * d_shape.symbol()) {
                    return false; // more samples are wanted
                }
                continue;
            }
            d_located = true;
        }
        const int64_t after = d_frame.window + d_shape.fft_size +
                              int64_t(d_shape.symbols) * d_shape.symbol();
        if (end() < after) {
            return false;
        }
        d_frame.carrier_offset = refined(d_frame.window, d_frame.carrier_offset);
        found = d_frame;
        d_located = d_detected = false;
        // The next preamble's prefix may begin where the window ends, and a plateau of
        // the metric with it.
        d_search = after - d_shape.cyclic_prefix + d_shape.advance;
        d_exact = -1;
        return true;
    }
}

ofdm_frame_finder::metric ofdm_frame_finder::metric_at(int64_t at) const
{
    metric out{};
    const size_t first = at - d_first;
    const size_t half = d_shape.half();
    for (size_t m = first; m < first + half; ++m) {
        out.repeated += d_repeated[m];
        out.energy += 0.5 * (d_energy[m] + d_energy[m + half]);
    }
    return out;
}

//! The metric at the next sample.
void ofdm_frame_finder::slide(int64_t at)
{
    const size_t first = at - d_first;
    const size_t half = d_shape.half();
    d_metric.repeated += d_repeated[first + half] - d_repeated[first];
    d_metric.energy += 0.5 * (d_energy[first + 2 * half] - d_energy[first]);
}

//! Moves the search to where the metric passes the threshold.
bool ofdm_frame_finder::detect()
{
    if (d_detected) {
        return true;
    }
    for (; d_search + d_shape.fft_size + 1 < end(); ++d_search) {
        // Differences gather rounding, and a burst's would stay: sum up anew now and
        // then.
        if (d_exact < 0 || d_search - d_exact >= 4096) {
            d_metric = metric_at(d_search);
            d_exact = d_search;
        }
        if (d_metric.value() > d_threshold && metric_at(d_search).value() > d_threshold) {
            d_detected = true;
            return true;
        }
        slide(d_search);
    }
    return false;
}

//! From a detection to the frame; false if samples are lacking (d_detected stays) or if
//! there is none.
bool ofdm_frame_finder::locate()
{
    const int prefix = d_shape.cyclic_prefix;
    const int half = d_shape.half();
    // The metric rises over half a symbol to a plateau that is as long as the prefix.
    const int64_t span = half + 2 * prefix;
    if (end() < d_search + span + 2 * prefix + 2 * d_shape.fft_size) {
        return false;
    }
    // The plateau is where the metric's mean over a prefix is largest.
    std::vector<metric> metrics;
    d_metric = metric_at(d_search);
    for (int64_t d = 0; d < span + prefix; ++d) {
        metrics.push_back(d_metric);
        slide(d_search + d);
    }
    d_exact = -1;
    double best = -1, mean = 0;
    int64_t plateau = 0;
    complex repeated = 0;
    for (int64_t d = 0; d < int64_t(metrics.size()); ++d) {
        mean += metrics[d].value();
        if (d >= prefix) {
            mean -= metrics[d - prefix].value();
        }
        if (d >= prefix - 1 && mean > best) {
            best = mean;
            plateau = d - (prefix - 1);
        }
    }
    for (int64_t d = plateau; d < plateau + prefix; ++d) {
        repeated += metrics[d].repeated;
    }
    const double fraction =
        std::arg(repeated) / M_PI; // half a symbol: two spacings a turn
    match found;
    const int most = int(std::floor((d_shape.most_offset + 1) / 2));
    for (int g = -most; g <= most; ++g) {
        if (std::abs(fraction + 2 * g) > d_shape.most_offset + 0.5) {
            continue;
        }
        const auto one = matched(d_search + plateau + prefix, fraction + 2 * g);
        if (one.quality > found.quality) {
            found = one;
        }
    }
    // What is no preamble has in a window of the matched filter, as long as the prefix,
    // that part of its energy; a preamble all, less the noise's.
    const double chance = std::min(
        0.9,
        double(prefix + *std::max_element(d_shape.shifts.begin(), d_shape.shifts.end())) /
            half);
    if (found.quality < 0.5 * (1 + chance)) {
        ++d_false_alarms;
        d_detected = false;
        d_search += plateau + prefix;
        return false;
    }
    d_frame = { found.window - d_shape.advance, found.offset };
    if (d_frame.window < d_first) {
        d_detected = false;
        d_search += plateau + prefix;
        return false;
    }
    return true;
}

//! The matched filter for windows that begin within a prefix of `around`.
ofdm_frame_finder::match ofdm_frame_finder::matched(int64_t around, double offset) const
{
    const int half = d_shape.half();
    const int prefix = d_shape.cyclic_prefix;
    const int last_shift =
        *std::max_element(d_shape.shifts.begin(), d_shape.shifts.end());
    const int64_t first = std::max(d_first, around - prefix);
    const int places = int(around + 2 * prefix + last_shift - first);
    double known = 0;
    for (const auto& value : d_shape.preamble) {
        known += std::norm(complex(value));
    }
    // Both halves, without the offset, laid over each other.
    std::vector<complex> folded(places + half);
    std::vector<double> energy(places), total(places);
    for (int r = 0; r < d_shape.antennas; ++r) {
        for (int m = 0; m < places + half; ++m) {
            const complex a =
                product(sample(r, first + m), turned(-offset * m / d_shape.fft_size));
            const complex b = product(sample(r, first + m + half),
                                      turned(-offset * (m + half) / d_shape.fft_size));
            folded[m] = 0.5 * (a + b);
        }
        double running = 0;
        for (int m = 0; m < half; ++m) {
            running += std::norm(folded[m]);
        }
        for (int d = 0; d < places; ++d) {
            total[d] += running;
            running += std::norm(folded[d + half]) - std::norm(folded[d]);
            complex sum = 0;
            for (int m = 0; m < half; ++m) {
                sum += product(std::conj(complex(d_shape.preamble[m])), folded[d + m]);
            }
            energy[d] += std::norm(sum) / known;
        }
    }
    match out;
    out.offset = offset;
    double most = -1;
    for (int d = 0; d + prefix + last_shift <= places; ++d) {
        double sum = 0, all = 0;
        for (int l = 0; l < prefix + last_shift; ++l) {
            // Earlier places weigh more, so that the window begins with the first path
            // where the channel is shorter than the prefix.
            sum += energy[d + l] * (1 - 0.75 * l / (prefix + last_shift));
            all += energy[d + l];
        }
        if (sum > most) {
            most = sum;
            out.window = first + d;
            out.quality = total[d] > 0 ? all / total[d] : 0;
        }
    }
    return out;
}

//! The offset by what cyclic prefixes repeat after a symbol, over the frame; of each
//! prefix the later half, which other symbols' echoes reach least.
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
    // A turn is one spacing; the first estimate says which.
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
    // A prefix more, for what the matched filter looks at; in large pieces.
    const int64_t count = before - 2 * d_shape.symbol() - d_first;
    if (count < 4 * d_shape.symbol()) {
        return;
    }
    for (auto& samples : d_samples) {
        samples.erase(samples.begin(), samples.begin() + count);
    }
    d_energy.erase(d_energy.begin(), d_energy.begin() + count);
    d_repeated.erase(d_repeated.begin(), d_repeated.begin() + count);
    d_first += count;
}

} // namespace gr::cudaphy
