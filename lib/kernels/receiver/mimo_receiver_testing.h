/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What the receiver's tests and its benchmark share: slots as a transmitter sends them,
// written from the header's words alone, and what arrives of them.

#include <cmath>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <gnuradio/cudaphy/kernels/mimo_receiver.h>
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>
#include <random>

namespace gr::cudaphy::testing {

using receiver = kernels::mimo_receiver;

//! A receiver for a pattern of pilots, least squares, the constellation by its name.
inline receiver::parameters receiver_of(const kernels::pilot_pattern& pattern,
                                        int receive_antennas,
                                        int symbols,
                                        const std::vector<int>& pilot_symbols,
                                        const std::string& constellation,
                                        kernels::ldpc_code::sptr code)
{
    receiver::parameters p{};
    p.symbols = symbols;
    p.pilots = pattern.estimator(receive_antennas);
    p.pilot_symbols = pilot_symbols;
    p.data_beside_pilots = true;
    p.points = kernels::constellation::make(constellation);
    p.max_log = true;
    p.unbiased = true;
    p.code = code;
    return p;
}

//! What each layer sends on a place: pilots, or null where data stands.
inline const complex64*
pilots_at(const receiver::parameters& p, int symbol, int tone, bool& silent)
{
    for (size_t i = 0; i < p.pilot_symbols.size(); ++i) {
        if (p.pilot_symbols[i] != symbol) {
            continue;
        }
        const auto* const sent =
            p.pilots.pilots.data() +
            (p.pilots.pilots_by_tone ? i * p.pilots.tones + tone : i) * p.pilots.layers;
        silent = true;
        for (int t = 0; t < p.pilots.layers; ++t) {
            silent = silent && sent[t] == complex64(0);
        }
        return silent && p.data_beside_pilots ? nullptr : sent;
    }
    silent = false;
    return nullptr;
}

struct sent_slots {
    size_t slots = 0;
    std::vector<uint8_t> info;       //!< (slots, words, k)
    std::vector<complex64> received; //!< (slots, symbols, tones, Nr)
};

//! Three paths between each pair of antennas, of mean energy 1 together, at delays up to
//! `longest` of a symbol, turning `doppler` times a symbol.
class path_channel
{
public:
    path_channel(int receive, int layers, double longest, double doppler, std::mt19937& g)
        : d_layers(layers), d_doppler(doppler)
    {
        std::normal_distribution<double> normal(0, std::sqrt(0.5 / paths));
        std::uniform_real_distribution<double> delay(0, longest);
        for (int i = 0; i < receive * layers * paths; ++i) {
            d_gains.emplace_back(normal(g), normal(g));
            d_delays.push_back(delay(g));
        }
    }
    std::complex<double> at(int tone, int symbol, int r, int t) const
    {
        std::complex<double> sum = 0;
        for (int path = 0; path < paths; ++path) {
            const int i = (r * d_layers + t) * paths + path;
            sum += d_gains[i] * std::polar(1.0, -2 * M_PI * tone * d_delays[i]);
        }
        return sum * std::polar(1.0, 2 * M_PI * d_doppler * symbol);
    }

private:
    static constexpr int paths = 3;
    int d_layers;
    double d_doppler;
    std::vector<std::complex<double>> d_gains;
    std::vector<double> d_delays;
};

//! Random bits, sent over a channel of its own for each slot, with noise of variance n0.
inline sent_slots send(const receiver::parameters& p,
                       size_t words,
                       size_t slots,
                       double n0,
                       std::mt19937& g,
                       double longest_delay = 0.002,
                       double doppler = 0)
{
    sent_slots out;
    out.slots = slots;
    const size_t n = p.code->n(), k = p.code->k();
    for (size_t i = 0; i < slots * words * k; ++i) {
        out.info.push_back(g() >> 31);
    }
    std::vector<uint8_t> coded(slots * words * n);
    auto here = queue::make(backend::cpu);
    kernels::ldpc_encoder::make(p.code, backend::cpu)->run(out.info, coded, *here);

    const int nr = p.pilots.receive_antennas, nt = p.pilots.layers;
    std::normal_distribution<float> noise(0.0f, float(std::sqrt(n0 / 2)));
    std::vector<complex64> sent(nt);
    for (size_t slot = 0; slot < slots; ++slot) {
        const path_channel h(nr, nt, longest_delay, doppler, g);
        size_t next = slot * words * n;
        const size_t last = next + words * n;
        const auto bit = [&] { return next < last ? coded[next++] : g() >> 31; };
        for (int symbol = 0; symbol < p.symbols; ++symbol) {
            for (int tone = 0; tone < p.pilots.tones; ++tone) {
                bool silent;
                const auto* const pilot = pilots_at(p, symbol, tone, silent);
                for (int t = 0; t < nt; ++t) {
                    int label = 0;
                    for (int b = 0; !pilot && b < p.points.bits; ++b) {
                        label = 2 * label + int(bit());
                    }
                    sent[t] = pilot ? pilot[t] : p.points.points[label];
                }
                for (int r = 0; r < nr; ++r) {
                    std::complex<double> y(noise(g), noise(g));
                    for (int t = 0; t < nt; ++t) {
                        y += h.at(tone, symbol, r, t) * std::complex<double>(sent[t]);
                    }
                    out.received.emplace_back(y);
                }
            }
        }
    }
    return out;
}

} // namespace gr::cudaphy::testing
