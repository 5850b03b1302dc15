/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/frame_layout.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include "kernels/dvb/pl_code.h"
#include <cmath>
#include <complex>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <map>
#include <random>
#include <vector>

// A transmitter of physical layer frames and a channel, for tests and benchmarks.

namespace gr::cudaphy::testing {

//! One frame as it was sent.
struct sent_frame {
    int pls;
    size_t at; //!< its first symbol
    std::vector<std::complex<float>> data;
};

//! Frames of random symbols, one after another.
class pl_transmitter
{
public:
    using complex = std::complex<float>;

    pl_transmitter(int gold_code, unsigned seed)
        : d_turns(scrambling(gold_code)), d_random(seed)
    {
    }

    //! \param points  of the data; empty: QPSK
    void send(int pls, const std::vector<complex>& points = {})
    {
        const float part = std::sqrt(0.5f);
        const std::vector<complex> qpsk{
            { part, part }, { part, -part }, { -part, part }, { -part, -part }
        };
        const auto& from = points.empty() ? qpsk : points;
        const auto mode = kernels::dvb_mode::of(pls).value();
        sent_frame one{ pls, symbols.size(), {} };
        std::vector<complex> frame(static_cast<size_t>(mode.length()), qpsk[0]);
        constexpr complex turns[] = { 1, { 0, 1 }, -1, { 0, -1 } };
        std::vector<bool> half(frame.size()); // turns of scrambling alone
        int number = 0;                       // of a data symbol
        for (const auto& data : kernels::frame_layout(mode).data) {
            for (int i = data.at; i < data.at + data.count; ++i, ++number) {
                if (mode.bits_a_symbol != 1) {
                    frame[i] = from[d_random() % from.size()];
                    one.data.push_back(frame[i]);
                    continue;
                }
                if (number % mode.repeats == 0) {
                    one.data.push_back(d_random() % 2 ? -1.0f : 1.0f);
                }
                frame[i] = one.data.back() * kernels::pl_code::turned(number);
                half[i] = true;
            }
        }
        const auto header = kernels::pl_header(pls);
        for (size_t i = header.size(); i < frame.size(); ++i) {
            const int turn = d_turns[i - header.size()];
            frame[i] *= half[i] ? (turn & 1 ? -1.0f : 1.0f) : turns[turn];
        }
        std::copy(header.begin(), header.end(), frame.begin());
        if (mode.is_vl_snr()) {
            const auto more = kernels::vl_snr_header(pls - kernels::first_vl_snr);
            std::copy(more.begin(), more.end(), frame.begin() + header.size());
        }
        symbols.insert(symbols.end(), frame.begin(), frame.end());
        frames.push_back(std::move(one));
    }

    //! Symbols that belong to no frame.
    void send_others(size_t count)
    {
        for (size_t i = 0; i < count; ++i) {
            symbols.push_back(std::polar(
                1.0f, static_cast<float>(M_PI / 4 + d_random() % 4 * M_PI / 2)));
        }
    }

    std::vector<complex> symbols;
    std::vector<sent_frame> frames;

private:
    //! Computed once for each code, which takes longer than many a frame.
    static const std::vector<uint8_t>& scrambling(int gold_code)
    {
        static std::map<int, std::vector<uint8_t>> known;
        auto& turns = known[gold_code];
        if (turns.empty()) {
            turns = kernels::pl_scrambling(gold_code, 1 << 16);
        }
        return turns;
    }

    const std::vector<uint8_t>& d_turns;
    std::mt19937 d_random;
};

//! What happens to the symbols on their way.
struct pl_channel {
    double es_n0_db = 100;
    double frequency = 0, drift = 0; //!< cycles a symbol; cycles a symbol^2
    double walk = 0;                 //!< phase noise: rad^2 a symbol
    double gain = 1;
    unsigned seed = 1;

    std::vector<std::complex<float>>
    operator()(const std::vector<std::complex<float>>& in) const
    {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        const double noise = std::pow(10, -es_n0_db / 20) * std::sqrt(0.5);
        double phase = 1;
        std::vector<std::complex<float>> out;
        out.reserve(in.size());
        for (size_t i = 0; i < in.size(); ++i) {
            const auto n = static_cast<double>(i);
            const double cycles = std::remainder(frequency * n + drift * n * n / 2, 1.0);
            const auto turn = std::polar(1.0, phase + 2 * M_PI * cycles);
            phase += walk > 0 ? std::sqrt(walk) * normal(random) : 0;
            const std::complex<double> added(noise * normal(random),
                                             noise * normal(random));
            out.push_back(static_cast<std::complex<float>>(
                gain * (std::complex<double>(in[i]) * turn + added)));
        }
        return out;
    }
};

} // namespace gr::cudaphy::testing
