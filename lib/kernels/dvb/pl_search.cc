/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/pl_search.h"
#include "kernels/common/pi.h"
#include "kernels/dvb/pl_code.h"
#include <algorithm>
#include <array>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using namespace pl_code;

// Of frequencies: half a header's resolution is 1 / 180.
constexpr double header_spacing = 1.0 / 256;
constexpr float most_gain = 1.2f; //!< of a score between two frequencies
constexpr int code_symbols = pl_header_symbols - pl_start_symbols;

bool start_bit(int i) { return start_of_frame >> (pl_start_symbols - 1 - i) & 1; }
bool scrambler_bit(int i) { return scrambler >> (code_symbols - 1 - i) & 1; }

//! The signs of the differences that are known, each times j: of the start of frame, and
//! within the pairs of the code without pilots.
struct known_differences {
    std::array<float, pl_start_symbols - 1> start;
    std::array<float, code_symbols / 2> pair;

    known_differences()
    {
        // s_(i + 1) conj(s_i) of pi/2-BPSK is j for even i and -j for odd ones, if the
        // bits are the same.
        for (size_t i = 0; i < start.size(); ++i) {
            start[i] = (start_bit(i) != start_bit(i + 1)) != (i % 2 == 1) ? -1 : 1;
        }
        for (size_t i = 0; i < pair.size(); ++i) {
            pair[i] = scrambler_bit(2 * i) != scrambler_bit(2 * i + 1) ? -1 : 1;
        }
    }
};

} // namespace

pl_search::pl_search(float most_frequency, const pl_codes& allowed)
    : d_most_frequency(most_frequency), d_allowed(allowed)
{
    if (!(most_frequency >= 0 && most_frequency <= 0.5f)) {
        throw std::invalid_argument("pl_search: most_frequency is " +
                                    std::to_string(most_frequency) +
                                    ", allowed are 0 to 0.5 cycles a symbol");
    }
}

void pl_search::differences(const std::complex<float>* symbols, size_t count, float* out)
{
    static const known_differences known;
    constexpr size_t block = 1024, more = pl_header_symbols - 1;
    std::array<float, block + more> re, im;
    std::array<float, block> start_re, start_im, pair_re, pair_im;
    for (size_t first = 0; first + more < count; first += block) {
        const size_t here = std::min(block, count - more - first);
        for (size_t i = 0; i < here + more - 1; ++i) {
            const std::complex<float> a = symbols[first + i], b = symbols[first + i + 1];
            re[i] = b.real() * a.real() + b.imag() * a.imag();
            im[i] = b.imag() * a.real() - b.real() * a.imag();
        }
        for (auto* sum : { &start_re, &start_im, &pair_re, &pair_im }) {
            sum->fill(0);
        }
        const auto add = [&](float sign, size_t at, float* to_re, float* to_im) {
            const float *from_re = re.data() + at, *from_im = im.data() + at;
            for (size_t i = 0; i < block; ++i) {
                to_re[i] += sign * from_re[i];
                to_im[i] += sign * from_im[i];
            }
        };
        for (size_t k = 0; k < known.start.size(); ++k) {
            add(known.start[k], k, start_re.data(), start_im.data());
        }
        for (size_t k = 0; k < known.pair.size(); ++k) {
            add(known.pair[k], pl_start_symbols + 2 * k, pair_re.data(), pair_im.data());
        }
        for (size_t i = 0; i < here; ++i) {
            const std::complex<float> start(start_re[i], start_im[i]),
                pair(pair_re[i], pair_im[i]);
            out[first + i] =
                std::sqrt(std::max(std::norm(start + pair), std::norm(start - pair)));
        }
    }
}

double pl_search::rough_frequency(const std::complex<float>* symbols)
{
    static const known_differences known;
    std::complex<float> start = 0, pair = 0;
    const auto difference = [&](size_t i) {
        return symbols[i + 1] * std::conj(symbols[i]);
    };
    for (size_t i = 0; i < known.start.size(); ++i) {
        start += known.start[i] * difference(i);
    }
    for (size_t i = 0; i < known.pair.size(); ++i) {
        pair += known.pair[i] * difference(pl_start_symbols + 2 * i);
    }
    const std::complex<float> sum =
        std::norm(start + pair) > std::norm(start - pair) ? start + pair : start - pair;
    // The known differences lack a factor of j.
    return std::arg(sum * std::complex<float>(0, -1)) / (2 * pi);
}

pl_found pl_search::at(const std::complex<float>* symbols) const
{
    return near(symbols, 0, d_most_frequency, 0);
}

pl_found pl_search::near(const std::complex<float>* symbols,
                         double centre,
                         double most_difference,
                         float least) const
{
    pl_found found;
    float energy = 0;
    for (int i = 0; i < pl_header_symbols; ++i) {
        energy += std::norm(symbols[i]);
    }
    if (!(energy > 0)) {
        return found;
    }
    const int steps = static_cast<int>(std::ceil(most_difference / header_spacing));
    const double first = centre - steps * header_spacing;
    const auto best =
        likely_header(symbols, first, header_spacing, 2 * steps + 1, d_allowed);
    found.score = best.power / energy;
    if (best.power < 0 || found.score * most_gain < least) {
        return found;
    }
    double frequency = first + best.step * header_spacing;
    auto sum = header_sum(symbols, best.pls, frequency);
    // Halving steps to the top of the peak.
    for (double step = header_spacing / 2; step > 1e-5; step /= 2) {
        const double middle = frequency;
        for (const double one : { middle - step, middle + step }) {
            const auto here = header_sum(symbols, best.pls, one);
            if (std::norm(here) > std::norm(sum)) {
                sum = here;
                frequency = one;
            }
        }
    }
    found.pls = best.pls;
    found.frequency = static_cast<float>(frequency);
    found.amplitude =
        static_cast<std::complex<float>>(sum / static_cast<double>(pl_header_symbols));
    found.score = static_cast<float>(std::norm(sum)) / energy;
    return found;
}

std::vector<pl_found> pl_search::find(const std::complex<float>* symbols,
                                      size_t count,
                                      size_t candidates,
                                      float least) const
{
    std::vector<pl_found> all;
    if (count < pl_header_symbols) {
        return all;
    }
    const size_t places = count - pl_header_symbols + 1;
    std::vector<float> metric(places);
    differences(symbols, count, metric.data());
    std::vector<size_t> order(places);
    for (size_t i = 0; i < places; ++i) {
        order[i] = i;
    }
    candidates = std::min(candidates, places);
    std::partial_sort(order.begin(),
                      order.begin() + candidates,
                      order.end(),
                      [&](size_t a, size_t b) { return metric[a] > metric[b]; });
    for (size_t i = 0; i < candidates; ++i) {
        auto found = near(symbols + order[i], 0, d_most_frequency, least);
        if (found.score >= least) {
            found.at = order[i];
            all.push_back(found);
        }
    }
    std::sort(all.begin(), all.end(), [](const pl_found& a, const pl_found& b) {
        return a.at < b.at;
    });
    return all;
}

} // namespace gr::cudaphy::kernels
