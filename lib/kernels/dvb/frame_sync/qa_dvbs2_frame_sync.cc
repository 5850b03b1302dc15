/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE dvbs2_frame_sync
#include "kernels/common/testing.h"
#include "kernels/dvb/frame_sync/frame_sync_testing.h"
#include "kernels/dvb/frame_sync/receive_testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/constellation.h>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>
#include <map>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using testing::generator;
using testing::pl_channel;
using testing::pl_transmitter;
using testing::received;
using testing::sent_frame;
using symbols_t = std::vector<complex64>;

namespace {

// PLS codes: 4 MODCOD + 2 short + 1 pilots.
constexpr int qpsk_1_4 = 4, qpsk_1_2 = 16, psk8_3_5 = 48, apsk16_2_3 = 72,
              apsk32_3_4 = 96, short_frame = 2, pilots = 1, dummy = 0;

symbols_t points_of(int pls)
{
    const auto points = constellation::make(dvb_mode::of(pls)->constellation()).points;
    return { points.begin(), points.end() };
}

unsigned seed() { return static_cast<unsigned>(generator()()); }

//! Frames of these codes by turns.
pl_transmitter sent(const std::vector<int>& codes, int count, size_t others = 3000)
{
    pl_transmitter sender(0, seed());
    sender.send_others(others);
    for (int i = 0; i < count; ++i) {
        const int pls = codes[static_cast<size_t>(i) % codes.size()];
        sender.send(pls, pls == dummy ? symbols_t() : points_of(pls));
    }
    return sender;
}

dvbs2_frame_sync::parameters on_tested_backend()
{
    dvbs2_frame_sync::parameters how;
    how.where = testing::tested_backend();
    return how;
}

received receive(const symbols_t& symbols,
                 const dvbs2_frame_sync::parameters& how = on_tested_backend(),
                 const std::vector<size_t>& gaps = {})
{
    return testing::receive_frames(symbols, how, gaps);
}

//! E|error|^2 of a frame's symbols, the best real factor taken off.
double error_of(const dvbs2_frame& frame, const sent_frame& right)
{
    double along = 0, energy = 0, sent_energy = 0;
    for (size_t i = 0; i < right.data.size(); ++i) {
        along += (frame.symbols[i] * std::conj(right.data[i])).real();
        energy += std::norm(frame.symbols[i]);
        sent_energy += std::norm(right.data[i]);
    }
    const double factor = along / sent_energy;
    return (energy / (factor * factor) - sent_energy) /
           static_cast<double>(right.data.size());
}

//! Checks that exactly these frames have come, each with little more than the channel's
//! noise. Returns the mean loss by the carrier, in dB.
double check_frames(const received& found,
                    const std::vector<sent_frame>& right,
                    const pl_channel& channel,
                    double most_loss = 1)
{
    BOOST_TEST(found.frames.size() == right.size());
    const double noise = std::pow(10, -channel.es_n0_db / 10);
    double sum = 0;
    for (size_t i = 0; i < std::min(found.frames.size(), right.size()); ++i) {
        const auto& frame = found.frames[i];
        BOOST_TEST(frame.first == right[i].at);
        BOOST_REQUIRE(frame.mode.pls == right[i].pls);
        BOOST_REQUIRE(frame.symbols.size() == right[i].data.size());
        const double error = error_of(frame, right[i]);
        const double loss = 10 * std::log10((error + 1e-3) / (noise + 1e-3));
        BOOST_TEST(loss < most_loss);
        const double told =
            10 * std::log10((frame.noise_variance + 1e-3) / (noise + 1e-3));
        // At -2.35 dB a first header knows it to 0.7 dB.
        BOOST_TEST(std::abs(told) < (channel.es_n0_db < 0 ? 3 : 1.5));
        sum += loss;
    }
    return sum / static_cast<double>(std::max<size_t>(1, right.size()));
}

std::vector<sent_frame> without_dummies(const pl_transmitter& sender)
{
    std::vector<sent_frame> some;
    std::copy_if(sender.frames.begin(),
                 sender.frames.end(),
                 std::back_inserter(some),
                 [](const sent_frame& one) { return one.pls != dummy; });
    return some;
}

symbols_t noise(size_t count) { return testing::gaussian<complex64>(count); }

symbols_t joined(symbols_t a, const symbols_t& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

} // namespace

BOOST_AUTO_TEST_CASE(all_frames_come_at_any_frequency_and_gain)
{
    const std::vector<int> codes{ qpsk_1_2 + short_frame + pilots,
                                  psk8_3_5 + short_frame,
                                  apsk16_2_3 + short_frame };
    for (const int pls : codes) {
        for (const double frequency : { -0.25, -0.013, 0.0, 0.1, 0.25 }) {
            const auto sender = sent({ pls }, 8);
            const pl_channel channel{ 15, frequency, 0, 1e-7, 1e-3, seed() };
            const auto found = receive(channel(sender.symbols));
            check_frames(found, sender.frames, channel, 0.5);
            for (const auto& frame : found.frames) {
                BOOST_TEST(std::abs(frame.frequency - frequency) < 2e-5);
            }
            BOOST_TEST(found.counts.lost_locks == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_known_code_is_a_frame)
{
    std::vector<int> codes;
    for (int pls = 4; pls < 256; ++pls) {
        if (dvb_mode::of(pls)) {
            codes.push_back(pls);
        }
    }
    pl_transmitter sender(12345, seed());
    for (const int pls : codes) {
        sender.send(pls, points_of(pls));
    }
    const pl_channel channel{ 30, 0.05, 0, 0, 2, seed() };
    auto how = on_tested_backend();
    how.gold_code = 12345;
    const auto found = receive(channel(sender.symbols), how);
    BOOST_REQUIRE(found.frames.size() == codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
        BOOST_TEST(found.frames[i].mode.pls == codes[i]);
        BOOST_TEST(found.frames[i].first == sender.frames[i].at);
        const auto mode = dvb_mode::of(codes[i]).value();
        // The phase tracker reads a quarter turn's symmetry, and 8APSK has a half turn's.
        const bool half_turn = mode.modulation == "8APSK" && !mode.pilots;
        BOOST_TEST_CONTEXT(mode.name())
        {
            BOOST_TEST(error_of(found.frames[i], sender.frames[i]) <
                       (half_turn ? 0.1 : 3e-3));
        }
    }
}

BOOST_AUTO_TEST_CASE(frames_are_found_at_the_lowest_es_n0_of_the_standard)
{
    // QPSK 1/4, with the drift of 1 kHz/s at 1 Msym/s and the phase noise of a good LNB.
    for (const int pls :
         { qpsk_1_4, qpsk_1_4 + pilots, qpsk_1_4 + short_frame + pilots }) {
        const auto sender = sent({ pls }, 12, 20000);
        const pl_channel channel{ -2.35, -0.2, 1e-9, 1e-6, 0.7, seed() };
        const auto found = receive(channel(sender.symbols));
        const double loss = check_frames(found, sender.frames, channel);
        BOOST_TEST(loss < 0.3);
    }
}

BOOST_AUTO_TEST_CASE(dense_rings_without_pilots_tell_the_phase)
{
    // 64APSK 11/15 and 4/5, 256APSK 31/45-L and 3/4, 0.4 dB above their thresholds. One
    // frame in 2000 loses 1.5 to 2 dB there, because its phase is off for a part of it.
    for (const auto& [pls, es_n0_db] :
         { std::pair(186, 15.21), { 194, 16.27 }, { 208, 18.5 }, { 214, 19.97 } }) {
        const auto sender = sent({ pls }, 12);
        const pl_channel channel{ es_n0_db, 0.05, 0, 0, 1, seed() };
        const auto found = receive(channel(sender.symbols));
        BOOST_TEST(check_frames(found, sender.frames, channel, 3) < 0.4);
    }
}

BOOST_AUTO_TEST_CASE(modcods_mix_with_dummy_frames_and_none_is_lost)
{
    const std::vector<int> codes{ qpsk_1_4 + pilots,
                                  dummy,
                                  psk8_3_5 + short_frame,
                                  apsk16_2_3 + pilots,
                                  dummy,
                                  dummy,
                                  apsk32_3_4 + short_frame + pilots };
    const auto sender = sent(codes, 70);
    const pl_channel channel{ 14, 0.11, 1e-9, 1e-6, 30, seed() };
    const auto symbols = channel(sender.symbols);
    const auto found = receive(symbols);
    const auto right = without_dummies(sender);
    check_frames(found, right, channel);
    BOOST_TEST(found.counts.dummy_frames == sender.frames.size() - right.size());
    BOOST_TEST(found.counts.lost_locks == 0u);

    auto how = on_tested_backend();
    how.pls = { apsk16_2_3 + pilots };
    const auto some = receive(symbols, how);
    BOOST_TEST(some.frames.size() == 10u);
    BOOST_TEST(some.counts.filtered == right.size() - 10);
    for (const auto& frame : some.frames) {
        BOOST_TEST(frame.mode.pls == how.pls[0]);
    }
}

BOOST_AUTO_TEST_CASE(a_gap_costs_the_frame_that_it_cuts)
{
    const int pls = qpsk_1_2 + short_frame + pilots;
    const auto sender = sent({ pls }, 16);
    const pl_channel channel{ 6, 0.1, 0, 0, 1, seed() };
    const auto symbols = channel(sender.symbols);
    const size_t length = sender.frames[1].at - sender.frames[0].at;
    struct hole {
        size_t begin, count;
        std::vector<size_t> lost;
        uint64_t cut;
    };
    const size_t seventh = sender.frames[7].at;
    for (const auto& one : { hole{ seventh + 3000, 777, { 7 }, 1 },
                             hole{ seventh + 3000, 2 * length, { 7, 8, 9 }, 1 },
                             hole{ seventh + 10, 20, { 7 }, 1 },
                             hole{ seventh, length, { 7 }, 0 } }) {
        symbols_t kept(symbols.begin(), symbols.begin() + one.begin);
        kept.insert(kept.end(), symbols.begin() + one.begin + one.count, symbols.end());
        auto right = sender.frames;
        for (size_t i = one.lost.size(); i-- > 0;) {
            right.erase(right.begin() + one.lost[i]);
        }
        for (auto& frame : right) {
            frame.at -= frame.at > one.begin ? one.count : 0;
        }
        const auto told = receive(kept, on_tested_backend(), { one.begin });
        check_frames(told, right, channel);
        BOOST_TEST(told.counts.cut == one.cut);
        BOOST_TEST(told.counts.lost_locks == 0u);
    }
    // Nobody tells of a loss: the frame that has it comes with wrong symbols.
    symbols_t kept(symbols.begin(), symbols.begin() + seventh + 3000);
    kept.insert(kept.end(), symbols.begin() + seventh + 3777, symbols.end());
    const auto untold = receive(kept);
    BOOST_TEST(untold.frames.size() == 16u);
    BOOST_TEST(untold.counts.lost_locks == 1u);
}

BOOST_AUTO_TEST_CASE(a_symbol_that_the_symbol_sync_slips_costs_no_frame_behind_it)
{
    const auto sender = sent({ qpsk_1_2 + short_frame + pilots }, 12);
    const pl_channel channel{ 8, 0.07, 0, 0, 1, seed() };
    auto symbols = channel(sender.symbols);
    const size_t at = sender.frames[6].at + 5000;
    symbols.erase(symbols.begin() + at);
    const auto fewer = receive(symbols);
    BOOST_TEST(fewer.frames.size() == 12u);
    BOOST_TEST(fewer.counts.lost_locks == 0u);
    BOOST_TEST(fewer.frames[7].first == sender.frames[7].at - 1);
    BOOST_TEST(error_of(fewer.frames[8], sender.frames[8]) < 0.25);
    symbols.insert(symbols.begin() + at, 2, 0);
    const auto more = receive(symbols);
    BOOST_TEST(more.frames.size() == 12u);
    BOOST_TEST(more.frames[7].first == sender.frames[7].at + 1);
}

BOOST_AUTO_TEST_CASE(a_signal_that_goes_and_returns_is_found_again)
{
    const auto first = sent({ qpsk_1_2 + short_frame + pilots }, 6);
    const auto second = sent({ psk8_3_5 + short_frame + pilots }, 6);
    const pl_channel one{ 10, 0.2, 0, 0, 1, seed() },
        other{ 12, -0.1, 0, 0, 0.2, seed() };
    auto symbols = joined(one(first.symbols), noise(400000));
    const size_t before = symbols.size();
    symbols = joined(symbols, other(second.symbols));
    const auto found = receive(joined(symbols, noise(100000)));
    BOOST_REQUIRE(found.frames.size() == 12u);
    for (size_t i = 0; i < 6; ++i) {
        BOOST_TEST(found.frames[i].first == first.frames[i].at);
        BOOST_TEST(error_of(found.frames[i], first.frames[i]) < 0.13);
        BOOST_TEST(found.frames[6 + i].first == before + second.frames[i].at);
        BOOST_TEST(error_of(found.frames[6 + i], second.frames[i]) < 0.1);
    }
    BOOST_TEST(found.counts.lost_locks == 2u);
}

BOOST_AUTO_TEST_CASE(another_offset_removed_before_costs_no_frame)
{
    for (const int pls : { qpsk_1_4 + short_frame, qpsk_1_4 + short_frame + pilots }) {
        const auto sender = sent({ pls }, 40, 500);
        pl_channel channel{ -1.5, 0.05, 0, 0, 1, seed() };
        auto symbols = channel(sender.symbols);
        const auto sync = dvbs2_frame_sync::make(on_tested_backend());
        std::vector<dvbs2_frame> frames;
        dvbs2_frame one;
        double offset = 0.04, cycles = 0; // that is removed, and has been taken
        std::uniform_real_distribution<double> any(-0.05, 0.05);
        sync->removed(offset, 0);
        for (size_t first = 0; first < symbols.size();) {
            const size_t last =
                std::min(symbols.size(), first + 20000 + generator()() % 20000);
            for (size_t i = first; i < last; ++i) {
                symbols[i] *= complex64(std::polar(1.0, -2 * M_PI * cycles));
                cycles = std::remainder(cycles + offset, 1.0);
            }
            sync->take(symbols.data() + first, last - first);
            const double next = any(generator());
            // The change is between two symbols.
            const double before = 0.3;
            cycles += before * (next - offset);
            sync->removed(next, before * (next - offset));
            offset = next;
            first = last;
        }
        sync->finish();
        while (sync->next(one)) {
            frames.push_back(std::move(one));
        }
        BOOST_REQUIRE(frames.size() == sender.frames.size());
        for (size_t i = 0; i < frames.size(); ++i) {
            BOOST_TEST(std::abs(frames[i].frequency - channel.frequency) < 2e-5);
            BOOST_TEST(error_of(frames[i], sender.frames[i]) < 1.6);
        }
    }
}

// What comes before and behind is no header, and seems one by chance now and then.
BOOST_AUTO_TEST_CASE(a_strong_signal_keeps_its_first_and_its_last_frame)
{
    const int pls = apsk16_2_3 + short_frame;
    size_t wrong = 0;
    // All backends share the decisions.
    const int times = testing::tested_backend() == backend::reference ? 60 : 150;
    for (int time = 0; time < times; ++time) {
        auto sender = sent({ pls }, 2, 9000);
        sender.send_others(300);
        const pl_channel channel{ 10, 0.03, 0, 0, 1, seed() };
        const auto found = receive(channel(sender.symbols));
        BOOST_REQUIRE(found.frames.size() == 2u);
        for (size_t i = 0; i < 2; ++i) {
            const auto& frame = found.frames[i];
            const bool right = frame.first == sender.frames[i].at &&
                               frame.mode.pls == pls &&
                               error_of(frame, sender.frames[i]) < 0.13;
            wrong += !right;
        }
    }
    // No header follows the last frame, so that its phase is wrong in about one of
    // 12,000.
    BOOST_TEST(wrong <= 1u);
}

BOOST_AUTO_TEST_CASE(a_carrier_that_jumps_is_found_again_within_some_frames)
{
    for (const int pls : { qpsk_1_4 + short_frame, qpsk_1_4 + short_frame + pilots }) {
        for (const double jump : { 1.7e-3, 0.02 }) {
            const auto sender = sent({ pls }, 100, 500);
            pl_channel channel{ -1, 0.01, 0, 0, 1, seed() };
            auto symbols = channel(sender.symbols);
            const size_t from = sender.frames[20].at + 1000;
            for (size_t i = from; i < symbols.size(); ++i) {
                const double n = static_cast<double>(i - from);
                symbols[i] *=
                    complex64(std::polar(1.0, 2 * M_PI * std::remainder(jump * n, 1)));
            }
            const auto found = receive(symbols);
            size_t good = 0, last_bad = 0;
            for (const auto& frame : found.frames) {
                for (size_t i = 0; i + 1 < sender.frames.size(); ++i) {
                    if (sender.frames[i].at == frame.first) {
                        const bool right = error_of(frame, sender.frames[i]) < 1.5;
                        good += right;
                        last_bad = right ? last_bad : i;
                    }
                }
            }
            BOOST_TEST(good >= 65u);
            BOOST_TEST(last_bad < 60u);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_signal_locks_never)
{
    constexpr size_t count = 300'000;
    BOOST_TEST(!receive(noise(count)).was_locked);
    BOOST_TEST(!receive(symbols_t(count)).was_locked);
    for (const double frequency : { 0.0, 0.1, -0.25, 0.37 }) {
        for (const double es_n0_db : { 40.0, 3.0 }) {
            const pl_channel channel{ es_n0_db, frequency, 0, 0, 1, seed() };
            BOOST_TEST(!receive(channel(symbols_t(count, 1))).was_locked);
        }
    }
    BOOST_TEST(receive({}).frames.empty());
    BOOST_TEST(receive(noise(10)).frames.empty());
}

BOOST_AUTO_TEST_CASE(bad_symbols_spoil_no_others)
{
    const float infinity = std::numeric_limits<float>::infinity();
    const auto sender = sent({ qpsk_1_2 + short_frame + pilots }, 10, 0);
    const pl_channel channel{ 8, 0.03, 0, 0, 1, seed() };
    const auto symbols = channel(sender.symbols);
    for (const float bad : { NAN, infinity, -infinity, 1e38f, 1e20f, 1e15f, 1e-40f }) {
        auto spoilt = joined(noise(20000), symbols);
        for (size_t i = 0; i < 20000; i += 1999) {
            spoilt[i] = bad;
        }
        // In the data, in a header and in pilots.
        for (const size_t at : { sender.frames[5].at + 400,
                                 sender.frames[6].at + 12,
                                 sender.frames[7].at + 90 + 1440 + 5 }) {
            spoilt[20000 + at] = { bad, bad };
        }
        const auto found = receive(spoilt);
        BOOST_REQUIRE(found.frames.size() == 10u);
        for (size_t i = 0; i < 10; ++i) {
            BOOST_TEST(found.frames[i].first == 20000 + sender.frames[i].at);
            auto frame = found.frames[i];
            if (i == 5) {
                BOOST_TEST(std::isfinite(std::abs(frame.symbols[310])));
                frame.symbols[310] = 0;
            }
            BOOST_TEST(error_of(frame, sender.frames[i]) < 0.2);
        }
    }
}

BOOST_AUTO_TEST_CASE(wrong_parameters_are_refused)
{
    auto how = on_tested_backend();
    how.gold_code = 262143;
    BOOST_CHECK_THROW(dvbs2_frame_sync::make(how), std::invalid_argument);
    how = {};
    how.pls = { 262 };
    BOOST_CHECK_THROW(dvbs2_frame_sync::make(how), std::invalid_argument);
    how = {};
    how.most_frequency = 0.3;
    BOOST_CHECK_THROW(dvbs2_frame_sync::make(how), std::invalid_argument);
}
