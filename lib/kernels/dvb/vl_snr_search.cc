/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/vl_snr_search.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/vl_snr_differences.h"
#include "kernels/dvb/vl_snr_table.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<double>;
constexpr int rows = 16, edge = 2;
constexpr int all = vl_snr_headers_symbols;

//! Symbols that are summed up before frequencies are tried: 0.04 cycles a symbol cost
//! them 0.4 dB.
constexpr int piece = 4;
// Parts of the headers that are summed up at coarse frequencies: the start of frame, the
// PLS code of both sets, the edges, and the rows.
constexpr int parts = 5 + rows;
// At half of the coarse spacing, a PLS code or a row loses 0.2 dB. Half a cycle a row
// away, where a header looks like another one, it loses 4 dB.
constexpr double coarse = 1.0 / 256, fine = 1.0 / 2048;
constexpr int most_fine = 4;             //!< steps on either side of a coarse frequency
constexpr float most_vl_snr_gain = 1.3f; //!< of a score between two fine frequencies

constexpr double rough_error = 0.02; //!< five deviations at -10 dB

//! Without std::complex's care for infinities.
complex times(complex a, complex b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! Distances of the symbols whose phases are compared: at every place, and at those that
//! are likely. With so many, headers are among the best places at -10 dB, and the
//! frequency is off by 0.0035 cycles a symbol on the average.
constexpr int lags = 4, many_lags = most_vl_snr_lags;

//! |sum over lags of sums exp(-2 pi j lag frequency)|^2.
double power_at(const std::array<complex, many_lags>& sums, double frequency)
{
    complex total = 0;
    for (int lag = 1; lag <= many_lags; ++lag) {
        total += times(sums[lag - 1], std::polar(1.0, -2 * pi * lag * frequency));
    }
    return std::norm(total);
}

bool is_inverted(int number, int row)
{
    return vl_snr_signs[number] >> (rows - 1 - row) & 1;
}

} // namespace

//! A few known symbols, their values and the centre's frequency taken off.
struct vl_snr_search::piece_sum {
    int part;
    double middle;
    complex sum;
};

vl_snr_search::vl_snr_search(double most_frequency) : d_most_frequency(most_frequency)
{
    if (!(most_frequency >= 0 && most_frequency <= 0.5)) {
        throw std::invalid_argument("vl_snr_search: most_frequency is " +
                                    std::to_string(most_frequency) +
                                    ", allowed are 0 to 0.5 cycles a symbol");
    }
    for (int set = 0; set < 2; ++set) {
        for (const auto symbol : pl_header(vl_snr_sets[set].pls)) {
            d_pl_headers[set].push_back(std::conj(symbol));
        }
    }
    for (const auto symbol : vl_snr_header(0)) {
        d_upright.push_back(std::conj(symbol));
    }
    for (const auto& row : vl_snr_modes) {
        d_numbers.push_back(row.number);
    }
    const std::vector<std::complex<float>> nothing(all);
    for (const auto& one : pieces_of(nothing.data(), 0)) {
        d_coarse_steps.push_back(std::polar(1.0, -2 * pi * coarse * one.middle));
    }
}

void vl_snr_search::differences(const std::complex<float>* symbols,
                                size_t count,
                                float* out) const
{
    if (count < all) {
        return;
    }
    const size_t places = count - all + 1;
    std::vector<float> values(2 * lags * places);
    std::array<float*, lags> re_of, im_of;
    for (int lag = 1; lag <= lags; ++lag) {
        re_of[lag - 1] = values.data() + (2 * lag - 2) * places;
        im_of[lag - 1] = re_of[lag - 1] + places;
        sum_vl_snr_differences(symbols, places, lag, re_of[lag - 1], im_of[lag - 1]);
    }
    constexpr int steps = 16; // of frequencies, in a cycle a symbol
    std::fill(out, out + places, 0.0f);
    const int most =
        std::min(steps / 2, static_cast<int>(std::ceil(d_most_frequency * steps - 1e-9)));
    for (int step = -most; step <= most; ++step) {
        std::array<float, lags> c, s;
        for (int lag = 1; lag <= lags; ++lag) {
            c[lag - 1] = static_cast<float>(std::cos(2 * pi * lag * step / steps));
            s[lag - 1] = static_cast<float>(std::sin(2 * pi * lag * step / steps));
        }
        for (size_t i = 0; i < places; ++i) {
            float re = 0, im = 0;
            for (size_t lag = 0; lag < lags; ++lag) {
                const float a = re_of[lag][i], b = im_of[lag][i];
                re += a * c[lag] + b * s[lag];
                im += b * c[lag] - a * s[lag];
            }
            out[i] = std::max(out[i], re * re + im * im);
        }
    }
}

double vl_snr_search::rough_frequency(const std::complex<float>* symbols) const
{
    constexpr int steps = 64; // in a cycle a symbol
    std::array<complex, many_lags> sums;
    for (int lag = 1; lag <= many_lags; ++lag) {
        float re, im;
        sum_vl_snr_differences(symbols, 1, lag, &re, &im);
        sums[lag - 1] = complex(re, im);
    }
    const int most =
        std::min(steps / 2, static_cast<int>(std::ceil(d_most_frequency * steps - 1e-9)));
    double frequency = 0, best = -1;
    const auto consider = [&](double one) {
        const double power = power_at(sums, one);
        if (power > best) {
            best = power;
            frequency = one;
        }
    };
    for (int step = -most; step <= most; ++step) {
        consider(static_cast<double>(step) / steps);
    }
    for (double step = 0.5 / steps; step > 1e-3; step /= 2) {
        const double middle = frequency;
        consider(middle - step);
        consider(middle + step);
    }
    return frequency;
}

vl_snr_found vl_snr_search::at(const std::complex<float>* symbols, float least) const
{
    const double rough = rough_frequency(symbols);
    const double low = std::max(rough - rough_error, -d_most_frequency);
    const double high = std::min(rough + rough_error, d_most_frequency);
    return low <= high ? near(symbols, (low + high) / 2, (high - low) / 2, least)
                       : vl_snr_found();
}

std::vector<vl_snr_search::piece_sum>
vl_snr_search::pieces_of(const std::complex<float>* symbols, double centre) const
{
    std::vector<complex> straight(all);
    const complex turn = std::polar(1.0, -2 * pi * centre);
    complex now = 1;
    for (int i = 0; i < all; ++i) {
        straight[i] = times(symbols[i], now);
        now = times(now, turn);
    }
    std::vector<piece_sum> out;
    int at = 0;
    const auto add = [&](int part, const std::complex<float>* known, int count) {
        for (int first = 0; first < count; first += piece) {
            const int here = std::min(piece, count - first);
            piece_sum one{ part, at + first + (here - 1) / 2.0, 0 };
            for (int i = first; i < first + here; ++i) {
                one.sum += times(straight[at + i], known[i]);
            }
            out.push_back(one);
        }
        at += count;
    };
    constexpr int code = pl_header_symbols - pl_start_symbols;
    add(0, d_pl_headers[0].data(), pl_start_symbols);
    add(1, d_pl_headers[0].data() + pl_start_symbols, code);
    at = pl_start_symbols;
    add(2, d_pl_headers[1].data() + pl_start_symbols, code);
    const std::complex<float>* header = d_upright.data();
    add(3, header, edge);
    header += edge;
    for (int row = 0; row < rows; ++row, header += vl_snr_row_bits) {
        add(5 + row, header, vl_snr_row_bits);
    }
    add(4, header, edge);
    return out;
}

vl_snr_found vl_snr_search::near(const std::complex<float>* symbols,
                                 double centre,
                                 double most_difference,
                                 float least) const
{
    vl_snr_found found;
    double energy = 0;
    for (int i = 0; i < all; ++i) {
        energy += std::norm(symbols[i]);
    }
    if (!(energy > 0)) {
        return found;
    }
    auto pieces = pieces_of(symbols, centre);
    // What a fine step turns the middle of each part by.
    std::array<complex, parts> sums, fine_steps, first_steps;
    std::array<double, parts> first_middle, last_middle;
    first_middle.fill(-1);
    for (const auto& one : pieces) {
        auto& first = first_middle[one.part];
        first = first < 0 ? one.middle : first;
        last_middle[one.part] = one.middle;
    }
    for (int part = 0; part < parts; ++part) {
        const double middle = (first_middle[part] + last_middle[part]) / 2;
        fine_steps[part] = std::polar(1.0, -2 * pi * fine * middle);
        first_steps[part] = std::polar(1.0, 2 * pi * fine * most_fine * middle);
    }
    int number = d_numbers[0];
    double frequency = centre, best = -1;
    const int steps =
        static_cast<int>(std::ceil(std::max(most_difference - coarse / 2, 0.0) / coarse));
    for (size_t i = 0; i < pieces.size(); ++i) { // to the first coarse frequency
        for (int step = 0; step < steps; ++step) {
            pieces[i].sum = times(pieces[i].sum, std::conj(d_coarse_steps[i]));
        }
    }
    for (int step = -steps; step <= steps; ++step) {
        sums.fill(0);
        for (size_t i = 0; i < pieces.size(); ++i) {
            sums[pieces[i].part] += pieces[i].sum;
            pieces[i].sum = times(pieces[i].sum, d_coarse_steps[i]);
        }
        for (int part = 0; part < parts; ++part) {
            sums[part] = times(sums[part], first_steps[part]);
        }
        for (int small = -most_fine; small <= most_fine; ++small) {
            const complex common = sums[0] + sums[3] + sums[4];
            for (const int one : d_numbers) {
                complex total = common + sums[one < first_number_of_set_2 ? 1 : 2];
                for (int row = 0; row < rows; ++row) {
                    total += is_inverted(one, row) ? -sums[5 + row] : sums[5 + row];
                }
                if (std::norm(total) > best) {
                    best = std::norm(total);
                    number = one;
                    frequency = centre + step * coarse + small * fine;
                }
            }
            for (int part = 0; part < parts; ++part) {
                sums[part] = times(sums[part], fine_steps[part]);
            }
        }
    }
    found.pls = first_vl_snr + number;
    found.frequency = frequency;
    found.score = static_cast<float>(best / energy);
    return found.score * most_vl_snr_gain < least ? found
                                                  : refined(symbols, found, energy);
}

//! By halving steps to the top of the peak.
vl_snr_found vl_snr_search::refined(const std::complex<float>* symbols,
                                    vl_snr_found found,
                                    double energy) const
{
    const int number = found.pls - first_vl_snr;
    auto top = sum(symbols, number, found.frequency);
    for (double step = fine / 2; step > 1e-6; step /= 2) {
        const double middle = found.frequency;
        for (const double one : { middle - step, middle + step }) {
            const auto here = sum(symbols, number, one);
            if (std::norm(here) > std::norm(top)) {
                top = here;
                found.frequency = one;
            }
        }
    }
    found.score = static_cast<float>(std::norm(top) / energy);
    return found;
}

//! The 990 symbols, the headers taken off, at a frequency.
complex
vl_snr_search::sum(const std::complex<float>* symbols, int number, double frequency) const
{
    const complex turn = std::polar(1.0, -2 * pi * frequency);
    complex now = 1, total = 0;
    const auto& first = d_pl_headers[number < first_number_of_set_2 ? 0 : 1];
    for (int i = 0; i < pl_header_symbols; ++i) {
        total += times(times(symbols[i], first[i]), now);
        now = times(now, turn);
    }
    const auto* const rest = symbols + pl_header_symbols;
    for (int i = 0; i < vl_snr_header_symbols; ++i) {
        const int row = (i - edge) / vl_snr_row_bits;
        const bool within = i >= edge && row < rows;
        const auto one = times(times(rest[i], d_upright[i]), now);
        total += within && is_inverted(number, row) ? -one : one;
        now = times(now, turn);
    }
    return total;
}

} // namespace gr::cudaphy::kernels
