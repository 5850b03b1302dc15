/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE vl_snr_frames
#include "kernels/common/testing.h"
#include "kernels/dvb/frame_sync/frame_sync_testing.h"
#include "kernels/dvb/frame_sync/receive_testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <limits>

using namespace gr::cudaphy::kernels;
using gr::cudaphy::testing::generator;
using gr::cudaphy::testing::pl_channel;
using gr::cudaphy::testing::pl_transmitter;
using gr::cudaphy::testing::received;
using gr::cudaphy::testing::sent_frame;
using symbols_t = std::vector<std::complex<float>>;

namespace {

// Es/N0 of the standard: EN 302 307-2, section 6.
struct mode_at {
    int number;
    double es_n0_db;
};
constexpr mode_at modes[] = { { 0, -2.85 }, { 1, -6.85 }, { 2, -5.5 },
                              { 3, -4.0 },  { 4, -9.9 },  { 5, -8.3 },
                              { 9, -6.1 },  { 10, -4.9 }, { 11, -3.72 } };
constexpr int dummy = first_vl_snr + 12, qpsk_1_2_short = 19, apsk16_3_4 = 77;

unsigned seed() { return static_cast<unsigned>(generator()()); }

received receive(const symbols_t& symbols, const dvbs2_frame_sync::parameters& how = {})
{
    return gr::cudaphy::testing::receive_frames(symbols, how);
}

dvbs2_frame_sync::parameters looking()
{
    dvbs2_frame_sync::parameters how;
    how.vl_snr = true;
    return how;
}

//! E|error|^2 of a frame's symbols, the best real factor taken off.
double error_of(const dvbs2_frame& frame, const sent_frame& right)
{
    double along = 0, energy = 0;
    for (size_t i = 0; i < right.data.size(); ++i) {
        along += (frame.symbols[i] * std::conj(right.data[i])).real();
        energy += std::norm(frame.symbols[i]);
    }
    const double count = static_cast<double>(right.data.size());
    const double factor = along / count;
    return energy / count / (factor * factor) - 1;
}

//! Standard deviation of 10 log10 error_of(): that of the factor's square, and of the
//! noise's energy.
double deviation_of_loss(double noise, size_t symbols)
{
    constexpr double db = 4.343; // of a part of 1
    return db * std::sqrt((2 * noise + 1) / static_cast<double>(symbols));
}

//! Checks that these frames have come with little more than the channel's noise.
void check(const received& got,
           const std::vector<sent_frame>& right,
           double es_n0_db,
           double most_loss = 0.2)
{
    BOOST_TEST(got.frames.size() == right.size());
    const double noise = std::pow(10, -es_n0_db / 10);
    double losses = 0;
    for (size_t i = 0; i < std::min(got.frames.size(), right.size()); ++i) {
        const auto& frame = got.frames[i];
        BOOST_TEST(frame.first == right[i].at);
        BOOST_REQUIRE(frame.mode.pls == right[i].pls);
        BOOST_REQUIRE(frame.symbols.size() == right[i].data.size());
        const double expected = noise / frame.mode.repeats;
        const double loss = 10 * std::log10(error_of(frame, right[i]) / expected);
        const double chance = 4 * deviation_of_loss(expected, right[i].data.size());
        BOOST_TEST(loss < most_loss + chance);
        losses += loss / static_cast<double>(right.size());
        BOOST_TEST(std::abs(10 * std::log10(frame.es_n0()) - es_n0_db) < 1.5);
    }
    BOOST_TEST(losses < most_loss);
}

pl_transmitter sent(const std::vector<int>& codes, int count, size_t others = 3000)
{
    pl_transmitter sender(0, seed());
    sender.send_others(others);
    for (int i = 0; i < count; ++i) {
        sender.send(codes[static_cast<size_t>(i) % codes.size()]);
    }
    return sender;
}

} // namespace

BOOST_AUTO_TEST_CASE(frames_of_every_mode_come_at_the_standards_es_n0)
{
    for (const auto& one : modes) {
        BOOST_TEST_CONTEXT("header " << one.number)
        {
            const auto sender = sent({ first_vl_snr + one.number }, 6);
            pl_channel channel;
            channel.es_n0_db = one.es_n0_db;
            channel.frequency = 0.2 - 0.03 * one.number;
            channel.gain = 0.01;
            channel.seed = seed();
            const auto got = receive(channel(sender.symbols), looking());
            check(got, sender.frames, one.es_n0_db);
            for (const auto& frame : got.frames) {
                BOOST_TEST(std::abs(frame.frequency - channel.frequency) < 1e-5);
            }
            BOOST_TEST(got.counts.lost_locks == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(phase_noise_and_a_drift_cost_little)
{
    const auto sender = sent({ first_vl_snr + 4 }, 8);
    pl_channel channel;
    channel.es_n0_db = -9.9;
    channel.frequency = -0.11;
    channel.drift = 1e-10;
    channel.walk = 1e-5;
    channel.seed = seed();
    check(receive(channel(sender.symbols), looking()), sender.frames, -9.9, 0.7);
}

BOOST_AUTO_TEST_CASE(without_the_option_they_are_not_looked_for)
{
    const auto sender = sent({ first_vl_snr + 9 }, 4);
    pl_channel channel;
    channel.seed = seed();
    for (const double es_n0_db : { -4.0, 10.0 }) {
        channel.es_n0_db = es_n0_db;
        // Twice in 200 signals, symbols of strong BPSK look like two weak headers.
        const auto got = receive(channel(sender.symbols));
        BOOST_TEST(got.frames.size() <= 2u);
        for (const auto& frame : got.frames) {
            BOOST_TEST(frame.mode.pls < first_vl_snr);
            BOOST_TEST(frame.es_n0() < 0.5);
        }
    }
}

BOOST_AUTO_TEST_CASE(they_may_stand_among_other_frames)
{
    const std::vector<int> codes{
        qpsk_1_2_short, first_vl_snr + 10, first_vl_snr, qpsk_1_2_short, dummy, 0, 17
    };
    for (const double es_n0_db : { 0.0, 20.0 }) {
        const auto sender = sent(codes, 14);
        pl_channel channel;
        channel.es_n0_db = es_n0_db;
        channel.frequency = 0.07;
        channel.seed = seed();
        std::vector<sent_frame> right;
        for (const auto& one : sender.frames) {
            if (!dvb_mode::of(one.pls)->dummy) {
                right.push_back(one);
            }
        }
        const auto got = receive(channel(sender.symbols), looking());
        check(got, right, es_n0_db);
        BOOST_TEST(got.counts.dummy_frames == 4u);
    }
}

BOOST_AUTO_TEST_CASE(ordinary_frames_are_the_same_with_the_option)
{
    const auto sender = sent({ qpsk_1_2_short, 1 * 4, 17 }, 9);
    pl_channel channel;
    channel.es_n0_db = 1;
    channel.frequency = -0.2;
    channel.seed = seed();
    const auto symbols = channel(sender.symbols);
    const auto with = receive(symbols, looking()), without = receive(symbols);
    BOOST_TEST(with.frames.size() == 9u);
    BOOST_REQUIRE(with.frames.size() == without.frames.size());
    for (size_t i = 0; i < with.frames.size(); ++i) {
        BOOST_TEST(with.frames[i].first == without.frames[i].first);
        BOOST_TEST((with.frames[i].symbols == without.frames[i].symbols));
    }
}

BOOST_AUTO_TEST_CASE(the_filter_and_the_gold_code_count)
{
    constexpr int gold_code = 99;
    pl_transmitter sender(gold_code, seed());
    for (int i = 0; i < 6; ++i) {
        sender.send(i % 2 ? qpsk_1_2_short : first_vl_snr + 5);
    }
    pl_channel channel;
    channel.es_n0_db = 5;
    channel.seed = seed();
    dvbs2_frame_sync::parameters how;
    how.gold_code = gold_code;
    how.pls = { first_vl_snr + 5 }; // implies the option
    const auto got = receive(channel(sender.symbols), how);
    BOOST_TEST(got.frames.size() == 3u);
    BOOST_TEST(got.counts.filtered == 3u);
    for (size_t i = 0; i < got.frames.size(); ++i) {
        BOOST_TEST(error_of(got.frames[i], sender.frames[2 * i]) < 0.2);
    }
    for (const int wrong : { -1, first_vl_snr + 6, first_vl_snr + 16, 129 }) {
        how.pls = { wrong };
        BOOST_CHECK_THROW(dvbs2_frame_sync::make(how), std::invalid_argument);
    }
}

BOOST_AUTO_TEST_CASE(noise_tones_and_other_symbols_are_no_frames)
{
    pl_channel channel;
    channel.seed = seed();
    pl_transmitter nothing(0, seed());
    nothing.send_others(300'000);
    for (const double es_n0_db : { -100.0, 0.0, 30.0 }) {
        channel.es_n0_db = es_n0_db;
        BOOST_TEST(receive(channel(nothing.symbols), looking()).frames.empty());
    }
    channel.es_n0_db = 10;
    channel.frequency = 0.012;
    BOOST_TEST(receive(channel(symbols_t(200'000, 1)), looking()).frames.empty());
    BOOST_TEST(receive(symbols_t(200'000), looking()).frames.empty());
}

BOOST_AUTO_TEST_CASE(a_frame_whose_headers_are_gone_is_bridged_or_lost_alone)
{
    const auto sender = sent({ first_vl_snr + 9 }, 7);
    pl_channel channel;
    channel.es_n0_db = -5;
    channel.frequency = 0.01;
    channel.seed = seed();
    auto symbols = channel(sender.symbols);
    std::fill_n(symbols.begin() + static_cast<std::ptrdiff_t>(sender.frames[3].at),
                990,
                std::complex<float>(0));
    const auto got = receive(symbols, looking());
    std::vector<uint64_t> places;
    for (const auto& frame : got.frames) {
        places.push_back(frame.first);
    }
    for (size_t i = 0; i < sender.frames.size(); ++i) {
        const bool came = std::count(places.begin(), places.end(), sender.frames[i].at);
        BOOST_TEST((i == 3 || came));
    }
}

BOOST_AUTO_TEST_CASE(bad_symbols_and_cut_frames_harm_nothing_else)
{
    const auto sender = sent({ first_vl_snr + 11 }, 8);
    pl_channel channel;
    channel.es_n0_db = -3;
    channel.seed = seed();
    auto symbols = channel(sender.symbols);
    const auto at = [&](size_t frame, size_t symbol) {
        return symbols.begin() +
               static_cast<std::ptrdiff_t>(sender.frames[frame].at + symbol);
    };
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (size_t i = 0; i < 990; i += 100) {
        *at(1, i) = { nan, nan };
        *at(2, i) = { std::numeric_limits<float>::infinity(), 1 };
        *at(3, i) = { 1e14f, -1e14f };
    }
    std::fill_n(at(5, 5000), 100, std::complex<float>(nan, 0));
    symbols.erase(at(6, 8000), at(6, 8777)); // symbols get lost
    symbols.resize(symbols.size() - 3000);   // the last frame is cut
    const auto got = receive(symbols, looking());
    std::vector<sent_frame> right(sender.frames.begin(), sender.frames.begin() + 6);
    BOOST_REQUIRE(got.frames.size() >= 6u);
    for (size_t i = 0; i < 6; ++i) {
        BOOST_TEST(got.frames[i].first == right[i].at);
        BOOST_TEST(got.frames[i].mode.pls == first_vl_snr + 11);
        for (const auto symbol : got.frames[i].symbols) {
            BOOST_REQUIRE(std::isfinite(symbol.real()));
        }
        BOOST_TEST(error_of(got.frames[i], right[i]) < 3);
    }
}

BOOST_AUTO_TEST_CASE(one_frame_alone_is_found)
{
    auto sender = sent({ first_vl_snr + 4 }, 1, 50'000);
    sender.send_others(5000);
    pl_channel channel;
    channel.es_n0_db = -9.4;
    channel.frequency = 0.05;
    channel.seed = seed();
    check(receive(channel(sender.symbols), looking()), sender.frames, -9.4, 0.7);
}
