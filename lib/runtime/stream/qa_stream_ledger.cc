/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE stream_ledger
#include "runtime/stream/stream_ledger.h"
#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>

using namespace gr::cudaphy;

namespace {

//! Two inputs with 3 and 1 items a frame, two outputs with 2 and 5.
const batch_kind small{ { 3, 1 }, { 2, 5 }, 10 };
const batch_kind large{ { 30, 7 }, { 20, 1 }, 4 };

} // namespace

BOOST_AUTO_TEST_CASE(frames_wait_until_every_input_has_them_whole)
{
    stream_ledger ledger({ small }, 2);
    BOOST_TEST(ledger.frames_waiting(0, { 12, 4 }) == 4);
    BOOST_TEST(ledger.frames_waiting(0, { 11, 4 }) == 3);
    BOOST_TEST(ledger.frames_waiting(0, { 12, 0 }) == 0);
}

BOOST_AUTO_TEST_CASE(reserved_frames_wait_no_more_and_take_room_until_they_are_done)
{
    stream_ledger ledger({ small }, 2);
    const auto first = ledger.reserve(0, 2);
    BOOST_TEST(first.first_in == 0);
    BOOST_TEST(ledger.frames_waiting(0, { 12, 4 }) == 2);
    BOOST_TEST(ledger.in_under_way(0) == 6);
    BOOST_TEST(ledger.out_under_way(1) == 10);
    const auto space = [](size_t port) { return port == 0 ? 100 : 29; };
    BOOST_TEST(ledger.frames_that_fit(0, space) == 3); // (29 - 10) / 5

    const auto second = ledger.reserve(0, 1);
    BOOST_TEST(second.first_in == 6);
    BOOST_TEST(second.first_out[1] == 10);

    ledger.publish(first, 2);
    ledger.consume(first);
    BOOST_TEST(ledger.frames_published() == 2);
    BOOST_TEST(ledger.in_under_way(0) == 3);
    BOOST_TEST(ledger.out_under_way(0) == 2);
    BOOST_TEST(ledger.frames_waiting(0, { 6, 2 }) == 1); // 3 and 1 are under way
}

BOOST_AUTO_TEST_CASE(only_connected_outputs_limit_the_frames)
{
    const stream_ledger one({ small }, 1), none({ small }, 0);
    const auto space = [](size_t port) { return port == 0 ? 8 : 0; };
    BOOST_TEST(one.frames_that_fit(0, space) == 4);
    BOOST_TEST(none.frames_that_fit(0, space) == stream_ledger::no_limit);
}

BOOST_AUTO_TEST_CASE(dropped_frames_hold_their_room_until_it_is_released)
{
    stream_ledger ledger({ small }, 2);
    const auto batch = ledger.reserve(0, 4);
    ledger.publish(batch, 1);
    ledger.consume(batch);
    BOOST_TEST(ledger.frames_published() == 4);
    BOOST_TEST(ledger.done().out[0] == 2);
    BOOST_TEST(ledger.out_under_way(0) == 6);
    ledger.release_room();
    BOOST_TEST(ledger.out_under_way(0) == 0);
    BOOST_TEST(ledger.reserve(0, 1).first_out[0] == 2);
}

BOOST_AUTO_TEST_CASE(a_refused_packet_takes_items_of_input_0_alone)
{
    stream_ledger ledger({ small, large }, 2);
    ledger.pass_over(17);
    BOOST_TEST(ledger.in_under_way(0) == 17);
    BOOST_TEST(ledger.in_under_way(1) == 0);
    BOOST_TEST(ledger.reserve(1, 1).first_in == 17);
    ledger.consume_passed_over(17);
    BOOST_TEST(ledger.in_under_way(0) == 30);
}

//! With any mixture of kinds all reserved items are published or consumed in the end.
BOOST_AUTO_TEST_CASE(every_reserved_item_is_published_and_consumed)
{
    std::mt19937 engine(1);
    const auto any = [&](int most) {
        return std::uniform_int_distribution<int>(0, most)(engine);
    };
    stream_ledger ledger({ small, large }, 2);
    std::deque<frame_reservation> under_way;
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 10000; ++i) {
        if (any(1) || under_way.empty()) {
            const int kind = any(1), frames = 1 + any(9);
            under_way.push_back(ledger.reserve(kind, frames));
            BOOST_TEST(under_way.back().first_in == in);
            BOOST_TEST(under_way.back().first_out[1] == out);
            in += uint64_t(frames) * ledger.kind(kind).in[0];
            out += uint64_t(frames) * ledger.kind(kind).out[1];
        } else {
            BOOST_TEST(under_way.front().first_out == ledger.done().out,
                       boost::test_tools::per_element());
            ledger.publish(under_way.front(), under_way.front().frames);
            ledger.consume(under_way.front());
            under_way.pop_front();
        }
        BOOST_TEST(ledger.reserved().in[0] == in);
    }
    for (const auto& each : under_way) {
        ledger.publish(each, each.frames);
        ledger.consume(each);
    }
    BOOST_TEST(ledger.done().in[0] == in);
    BOOST_TEST(ledger.done().out[1] == out);
    BOOST_TEST(ledger.in_under_way(1) == 0);
}

BOOST_AUTO_TEST_CASE(a_batch_holds_frames_of_a_kind_as_far_as_every_port_has_room)
{
    const std::vector<batch_kind> kinds{ small, large };
    const auto most = batch_load::largest(kinds);
    BOOST_TEST(most.frames == 10);
    BOOST_TEST(most.in[0] == 120);
    BOOST_TEST(most.out[1] == 50);

    batch_load load(2, 2, 2);
    load.add(large, 1, 3);
    BOOST_TEST(load.in[0] == 90);
    BOOST_TEST(load.of_kind[1] == 3);
    BOOST_TEST(load.room_for(large, 1, most) == 1); // its own limit: 4
    BOOST_TEST(load.room_for(small, 0, most) == 7); // 10 frames
    load.add(small, 0, 7);
    BOOST_TEST(load.room_for(small, 0, most) == 0);
}
