/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dvb/pl_search.h"
#include "kernels/dvb/pl_code.h"
#include <algorithm>
#include <array>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

using complex = std::complex<float>;
using namespace pl_code;

constexpr double pi = 3.14159265358979323846;
constexpr float spacing =
    1.0f / 256; // of frequencies: half a header's resolution is 1 / 180
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

//! The 90 symbols, the start of frame, the scrambler and pi/2-BPSK taken off.
void take_off(const complex* symbols, complex* out)
{
    for (int i = 0; i < pl_header_symbols; ++i) {
        const bool flip =
            i < pl_start_symbols ? start_bit(i) : scrambler_bit(i - pl_start_symbols);
        const complex straight = symbols[i] * std::conj(turned(i));
        out[i] = flip ? -straight : straight;
    }
}

struct likely {
    int pls = 0;
    float power = -1;
    complex sum;
};

//! The code whose sum over the header has the most power at a frequency. `straight`: as
//! take_off() leaves the symbols, the frequency taken off.
likely best_code(const complex* straight)
{
    complex start = 0;
    for (int i = 0; i < pl_start_symbols; ++i) {
        start += straight[i];
    }
    likely best;
    const complex* const code = straight + pl_start_symbols;
    for (const bool pilots : { false, true }) {
        complex pair[code_symbols / 2];
        for (int i = 0; i < code_symbols / 2; ++i) {
            pair[i] = code[2 * i] + (pilots ? -code[2 * i + 1] : code[2 * i + 1]);
        }
        for (const bool extended : { false, true }) {
            complex sums[code_symbols / 2];
            for (int i = 0; i < code_symbols / 2; ++i) {
                const bool flip = extended && (extended_row >> (31 - i) & 1);
                // The symbols of S2X are turned by a quarter.
                const complex value =
                    extended ? complex(pair[i].imag(), -pair[i].real()) : pair[i];
                sums[i] = flip ? -value : value;
            }
            transform(sums);
            for (int u = 0; u < 32; ++u) {
                for (const bool negative : { false, true }) {
                    const complex sum = negative ? start - sums[u] : start + sums[u];
                    const float power = std::norm(sum);
                    if (power > best.power) {
                        best = { code_of_value(u, negative, extended, pilots),
                                 power,
                                 sum };
                    }
                }
            }
        }
    }
    return best;
}

void turn(const complex* in, double frequency, complex* out)
{
    std::complex<double> step = std::polar(1.0, -2 * pi * frequency), phase = 1;
    for (int i = 0; i < pl_header_symbols; ++i) {
        out[i] = in[i] * complex(phase);
        phase *= step;
    }
}

} // namespace

pl_search::pl_search(float most_frequency)
{
    if (!(most_frequency >= 0 && most_frequency <= 0.5f)) {
        throw std::invalid_argument("pl_search: most_frequency is " +
                                    std::to_string(most_frequency) +
                                    ", allowed are 0 to 0.5 cycles a symbol");
    }
    const int steps = static_cast<int>(std::ceil(most_frequency / spacing));
    for (int i = -steps; i <= steps; ++i) {
        d_frequencies.push_back(i * spacing);
    }
}

void pl_search::differences(const complex* symbols, size_t count, float* out)
{
    static const known_differences known;
    constexpr size_t block = 1024, more = pl_header_symbols - 1;
    std::array<float, block + more> re, im;
    std::array<float, block> start_re, start_im, pair_re, pair_im;
    for (size_t first = 0; first + more < count; first += block) {
        const size_t here = std::min(block, count - more - first);
        for (size_t i = 0; i < here + more - 1; ++i) {
            const complex a = symbols[first + i], b = symbols[first + i + 1];
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
            const complex start(start_re[i], start_im[i]), pair(pair_re[i], pair_im[i]);
            out[first + i] =
                std::sqrt(std::max(std::norm(start + pair), std::norm(start - pair)));
        }
    }
}

pl_found pl_search::at(const complex* symbols) const
{
    std::array<complex, pl_header_symbols> straight, turned_back;
    take_off(symbols, straight.data());
    float energy = 0;
    for (int i = 0; i < pl_header_symbols; ++i) {
        energy += std::norm(symbols[i]);
    }
    pl_found found;
    if (!(energy > 0)) {
        return found;
    }
    likely best;
    double frequency = 0;
    const auto try_at = [&](double one) {
        turn(straight.data(), one, turned_back.data());
        const auto here = best_code(turned_back.data());
        if (here.power > best.power) {
            best = here;
            frequency = one;
        }
    };
    for (const float one : d_frequencies) {
        try_at(one);
    }
    // Halving steps to the top of the peak.
    for (double step = spacing / 2; step > 1e-5; step /= 2) {
        const double centre = frequency;
        try_at(centre - step);
        try_at(centre + step);
    }
    found.pls = best.pls;
    found.frequency = static_cast<float>(frequency);
    found.amplitude = best.sum / static_cast<float>(pl_header_symbols);
    found.score = best.power / energy;
    return found;
}

std::vector<pl_found> pl_search::find(const complex* symbols,
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
        auto found = at(symbols + order[i]);
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
