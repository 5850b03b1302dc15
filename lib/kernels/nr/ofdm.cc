/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include "kernels/common/pi.h"
#include "kernels/fourier/fourier_transform.h"
#include "kernels/nr/require.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/ofdm.h>
#include <string>

namespace gr::cudaphy::kernels::nr {
namespace {

//! e^(-j 2 pi turns), whose whole turns do not matter.
complex64 turned(double turns)
{
    return complex64(std::polar(1.0, -2 * pi * (turns - std::floor(turns))));
}

} // namespace

struct ofdm::symbol_place {
    size_t prefix_start;
    int prefix;
    complex64 phase; // that compensates the carrier's, in the modulator
};

ofdm::ofdm(const ofdm_parameters& p) : d_parameters(p)
{
    require(p.numerology >= 0 && p.numerology <= 4,
            "numerology is 0 to 4 (TS 38.211, 4.2)");
    require(!p.extended_prefix || p.numerology == 2,
            "the extended cyclic prefix is of numerology 2 alone (TS 38.211, 4.2)");
    require(p.subcarriers >= 1 && p.subcarriers <= 275 * 12,
            "a grid has 1 to 3300 subcarriers (TS 38.211, 4.4.2)");
    require(p.fft_size >= p.subcarriers && p.fft_size <= 65536,
            "fft_size is at least the grid's subcarriers, and at most 65536");
    const int step = p.extended_prefix ? 4 : 128;
    require(p.fft_size % step == 0,
            "fft_size must be a multiple of " + std::to_string(step) +
                ", because the cyclic prefix must be whole samples (TS 38.211, 5.3.1)");
    require(std::isfinite(p.carrier_frequency), "carrier_frequency is not finite");
    require(std::abs(int64_t(p.middle)) <= p.fft_size / 2,
            "the grid's middle lies outside the sample rate");
    require(p.window >= 0 && p.window <= prefix(0, 1),
            "window is 0 to " + std::to_string(prefix(0, 1)) +
                " samples, the shortest prefix");
    d_forward = std::make_unique<fourier_transform>(p.fft_size, true);
    d_backward = std::make_unique<fourier_transform>(p.fft_size, false);
    for (int i = 0; i < p.window; ++i) {
        d_rise.push_back(
            static_cast<float>(0.5 - 0.5 * std::cos(pi * (i + 0.5) / p.window)));
    }
}

ofdm::~ofdm() = default;

double ofdm::sample_rate() const
{
    return 15e3 * (1 << d_parameters.numerology) * d_parameters.fft_size;
}

int ofdm::prefix(int slot, int symbol) const
{
    const auto& p = d_parameters;
    if (p.extended_prefix) {
        return p.fft_size / 4;
    }
    const int a_subframe = 14 << p.numerology;
    const int in_subframe = (14 * slot + symbol) % a_subframe;
    const bool longer = in_subframe % (a_subframe / 2) == 0;
    // 144 and 16 · 2^mu of 2048 parts.
    return p.fft_size / 128 * (9 + (longer ? 1 << p.numerology : 0));
}

size_t ofdm::samples(int slot, int slots) const
{
    size_t out = 0;
    for (int i = 0; i < slots; ++i) {
        for (int l = 0; l < symbols_per_slot(); ++l) {
            out += d_parameters.fft_size + prefix(slot + i, l);
        }
    }
    return out;
}

std::vector<ofdm::symbol_place> ofdm::places(int slot, int slots) const
{
    const auto& p = d_parameters;
    const int a_subframe = 1 << p.numerology; // slots
    std::vector<symbol_place> out;
    // Phases count from the start of the subframe.
    size_t in_subframe = samples(slot - slot % a_subframe, slot % a_subframe), start = 0;
    for (int i = 0; i < slots; ++i) {
        if ((slot + i) % a_subframe == 0) {
            in_subframe = 0;
        }
        for (int l = 0; l < symbols_per_slot(); ++l) {
            const int length = prefix(slot + i, l);
            const double seconds = double(in_subframe + length) / sample_rate();
            out.push_back({ start, length, turned(p.carrier_frequency * seconds) });
            start += length + p.fft_size;
            in_subframe += length + p.fft_size;
        }
    }
    return out;
}

size_t ofdm::bin(int subcarrier) const
{
    const auto& p = d_parameters;
    const int frequency = subcarrier - p.subcarriers / 2 + p.middle;
    return (frequency + 2 * p.fft_size) % p.fft_size;
}

void ofdm::require_sizes(size_t grid, size_t given, int ports, int slots, int slot) const
{
    require(slot >= 0 && slot < 10 << d_parameters.numerology,
            "slot is 0 to 10 · 2^numerology - 1, the slot in a frame (TS 38.211, 4.3.2)");
    require(ports >= 0 && slots >= 0, "numbers of ports and slots are not negative");
    require(given == size_t(ports) * samples(slot, slots),
            std::to_string(given) + " samples; " + std::to_string(slots) + " slots of " +
                std::to_string(ports) + " ports have " +
                std::to_string(size_t(ports) * samples(slot, slots)) +
                " (TS 38.211, 5.3.1)");
    require(grid == size_t(ports) * slots * symbols_per_slot() * d_parameters.subcarriers,
            "the grid is not of these ports, whole slots and the subcarriers");
}

void ofdm::modulate(
    view<const complex64> grid, int ports, int slots, int slot, view<complex64> out) const
{
    require_sizes(grid.size(), out.size(), ports, slots, slot);
    const auto& p = d_parameters;
    const auto all = places(slot, slots);
    const size_t a_port = samples(slot, slots), size = p.fft_size;
    const float scale = 1 / std::sqrt(static_cast<float>(size));
    const auto modulate_port = [&](size_t port) {
        auto* const to = out.data() + port * a_port;
        std::vector<complex64> symbol(size), tail;
        for (size_t l = 0; l < all.size(); ++l) {
            const auto* const from =
                grid.data() + (port * all.size() + l) * p.subcarriers;
            std::fill(symbol.begin(), symbol.end(), 0);
            for (int k = 0; k < p.subcarriers; ++k) {
                symbol[bin(k)] = from[k] * (all[l].phase * scale);
            }
            d_backward->run(symbol.data());
            auto* const prefix = to + all[l].prefix_start;
            std::copy(symbol.end() - all[l].prefix, symbol.end(), prefix);
            std::copy(symbol.begin(), symbol.end(), prefix + all[l].prefix);
            for (int i = 0; i < p.window; ++i) {
                prefix[i] *= d_rise[i];
                if (l) { // the symbol before goes on into this prefix
                    prefix[i] += tail[i] * (1 - d_rise[i]);
                }
            }
            tail.assign(symbol.begin(), symbol.begin() + p.window);
        }
    };
    for_each_part(ports, 1, [&](size_t first, size_t last) {
        for (size_t port = first; port < last; ++port) {
            modulate_port(port);
        }
    });
}

void ofdm::demodulate(view<const complex64> given,
                      int ports,
                      int slots,
                      int slot,
                      int advance,
                      view<complex64> grid) const
{
    require_sizes(grid.size(), given.size(), ports, slots, slot);
    require(advance >= 0 && advance <= prefix(0, 1),
            "advance is 0 to " + std::to_string(prefix(0, 1)) +
                " samples, the shortest prefix");
    const auto& p = d_parameters;
    const auto all = places(slot, slots);
    const size_t a_port = samples(slot, slots), size = p.fft_size;
    const float scale = 1 / std::sqrt(static_cast<float>(size));
    std::vector<complex64> turns(p.subcarriers);
    for (int k = 0; k < p.subcarriers; ++k) {
        turns[k] = turned(-double(advance) * double(bin(k)) / double(size)) * scale;
    }
    const auto demodulate_symbol = [&](size_t number, std::vector<complex64>& symbol) {
        const auto& place = all[number % all.size()];
        const auto* const from = given.data() + number / all.size() * a_port +
                                 place.prefix_start + place.prefix - advance;
        std::copy(from, from + size, symbol.begin());
        d_forward->run(symbol.data());
        auto* const to = grid.data() + number * p.subcarriers;
        for (int k = 0; k < p.subcarriers; ++k) {
            to[k] = symbol[bin(k)] * (turns[k] * std::conj(place.phase));
        }
    };
    for_each_part(ports * all.size(), 4, [&](size_t first, size_t last) {
        std::vector<complex64> symbol(size);
        for (size_t number = first; number < last; ++number) {
            demodulate_symbol(number, symbol);
        }
    });
}

} // namespace gr::cudaphy::kernels::nr
