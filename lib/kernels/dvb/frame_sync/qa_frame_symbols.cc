/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE frame_symbols
#include "kernels/common/testing.h"
#include "kernels/dvb/frame_sync/frame_sync_testing.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using testing::generator;
using testing::pl_channel;
using testing::pl_transmitter;
using testing::tested_backend;
using symbols_t = std::vector<complex64>;

namespace {

constexpr int qpsk_1_2 = 16, short_frame = 2, pilots = 1, dummy = 0;

dvbs2_frame_sync::parameters on(backend where)
{
    dvbs2_frame_sync::parameters how;
    how.where = where;
    return how;
}

//! Frames of several sizes, with and without pilots, and dummy frames between them.
symbols_t received()
{
    pl_transmitter sender(0, static_cast<unsigned>(generator()()));
    sender.send_others(3000);
    for (int i = 0; i < 30; ++i) {
        const int codes[] = { qpsk_1_2 + pilots, dummy, qpsk_1_2 + short_frame };
        sender.send(codes[i % 3]);
    }
    return pl_channel{ 20, 0.1, 1e-9, 1e-7, 3 }(sender.symbols);
}

std::vector<dvbs2_frame> frames_on(backend where, const symbols_t& symbols)
{
    const auto sync = dvbs2_frame_sync::make(on(where));
    std::vector<dvbs2_frame> frames;
    dvbs2_frame one;
    constexpr size_t part = 20000;
    for (size_t first = 0; first < symbols.size(); first += part) {
        sync->take(symbols.data() + first, std::min(part, symbols.size() - first));
        while (sync->next(one)) {
            frames.push_back(std::move(one));
        }
    }
    sync->finish();
    while (sync->next(one)) {
        frames.push_back(std::move(one));
    }
    return frames;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_backend_gives_the_frames_of_the_reference)
{
    const auto symbols = received();
    const auto right = frames_on(backend::reference, symbols);
    const auto found = frames_on(tested_backend(), symbols);
    BOOST_REQUIRE(right.size() == 20u);
    BOOST_REQUIRE(found.size() == right.size());
    for (size_t f = 0; f < right.size(); ++f) {
        BOOST_TEST(found[f].first == right[f].first);
        BOOST_TEST(found[f].frequency == right[f].frequency);
        BOOST_TEST(found[f].noise_variance == right[f].noise_variance);
        BOOST_REQUIRE(found[f].symbols.size() == right[f].symbols.size());
        double worst = 0;
        for (size_t i = 0; i < right[f].symbols.size(); ++i) {
            worst = std::max<double>(worst,
                                     std::abs(right[f].symbols[i] - found[f].symbols[i]));
        }
        BOOST_TEST(worst < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(symbols_are_written_in_pieces_of_any_size_and_as_late_as_you_like)
{
    const auto symbols = received();
    symbols_t right;
    for (const auto& one : frames_on(tested_backend(), symbols)) {
        right.insert(right.end(), one.symbols.begin(), one.symbols.end());
    }
    for (const int most : { 100, 70000 }) {
        const auto work = queue::make(tested_backend());
        const auto sync = dvbs2_frame_sync::make(on(tested_backend()));
        array<complex64> out(*work, right.size() + 1);
        size_t waiting = 0, done = 0;
        const auto write = [&](size_t least_waiting) {
            while (waiting > least_waiting) {
                const size_t some = std::min<size_t>(
                    waiting, 1 + generator()() % static_cast<unsigned>(most));
                sync->symbols(out.all().part(done, some), *work);
                waiting -= some;
                done += some;
            }
        };
        dvbs2_frame one;
        const auto collect = [&] {
            while (sync->next_without_symbols(one)) {
                BOOST_TEST(one.symbols.empty());
                waiting += static_cast<size_t>(one.mode.symbols());
            }
            write(generator()() % 200000);
        };
        for (size_t first = 0; first < symbols.size();) {
            const size_t some =
                std::min(symbols.size() - first, 1 + generator()() % size_t(30000));
            sync->take(symbols.data() + first, some);
            first += some;
            collect();
        }
        sync->finish();
        collect();
        write(0);
        BOOST_REQUIRE(done == right.size());
        const auto found = out.to_host();
        double worst = 0;
        for (size_t i = 0; i < right.size(); ++i) {
            worst = std::max<double>(worst, std::abs(found[i] - right[i]));
        }
        BOOST_TEST(worst < 1e-4);
        BOOST_CHECK_THROW(sync->symbols(out.all().part(0, 1), *work),
                          std::invalid_argument);
    }
}

BOOST_AUTO_TEST_CASE(a_queue_of_another_backend_is_refused)
{
    const auto other =
        tested_backend() == backend::cpu ? backend::reference : backend::cpu;
    const auto work = queue::make(other);
    BOOST_CHECK_THROW(dvbs2_frame_sync::make(on(tested_backend()))->symbols({}, *work),
                      std::invalid_argument);
}
