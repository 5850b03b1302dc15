/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE batch_pacer
#include "runtime/batch_pacer.h"
#include <boost/test/unit_test.hpp>

using namespace gr::cudaphy;
using namespace std::chrono_literals;

namespace {

using awaited = batch_pacer::awaited;
constexpr int any_ring = 1 << 30;

//! A clock that moves only when a test says so.
batch_pacer::moment at(std::chrono::nanoseconds time)
{
    return batch_pacer::moment{} + 1h + time;
}

//! The pacer must not call this function here, because the answer costs a lock.
int never_needed()
{
    BOOST_ERROR("called although the answer does not matter");
    return 0;
}

std::function<int()> is(int number)
{
    return [number] { return number; };
}

} // namespace

BOOST_AUTO_TEST_CASE(without_max_latency_no_frame_waits_for_a_fuller_batch)
{
    BOOST_TEST(!batch_pacer(0).may_hold_back(1, false));
    BOOST_TEST(batch_pacer(1e-9).may_hold_back(1, false));
    BOOST_TEST(!batch_pacer(1).may_hold_back(0, false)); // nothing waits
    BOOST_TEST(!batch_pacer(1).may_hold_back(1, true));  // a batch is under way
}

BOOST_AUTO_TEST_CASE(a_partial_batch_waits_for_max_latency_and_no_longer)
{
    batch_pacer pacer(0.010);
    BOOST_TEST(pacer.holds_back(3, 8, false, at(0ms)));
    const auto wait = pacer.next_wait(false, false, is(3), never_needed);
    BOOST_TEST((wait.what == awaited::input));
    BOOST_TEST((wait.end == at(10ms)));
    BOOST_TEST(pacer.holds_back(5, 8, false, at(9ms))); // since the first frame came
    BOOST_TEST((pacer.next_wait(false, false, is(5), never_needed).end == at(10ms)));
    BOOST_TEST(!pacer.holds_back(5, 8, false, at(10ms)));

    pacer.submitted(); // later frames wait anew
    BOOST_TEST(pacer.holds_back(1, 8, false, at(11ms)));
    BOOST_TEST((pacer.next_wait(false, false, is(1), never_needed).end == at(21ms)));
}

BOOST_AUTO_TEST_CASE(a_full_batch_or_the_last_one_does_not_wait)
{
    batch_pacer pacer(0.010);
    BOOST_TEST(!pacer.holds_back(8, 8, false, at(0ms)));
    BOOST_TEST(!pacer.holds_back(3, 8, true, at(0ms)));
}

BOOST_AUTO_TEST_CASE(frames_that_came_meanwhile_end_the_wait_for_more)
{
    batch_pacer pacer(0.010);
    BOOST_TEST(pacer.holds_back(3, 8, false, at(0ms)));
    BOOST_TEST(
        (pacer.next_wait(false, false, is(4), never_needed).what == awaited::nothing));
}

BOOST_AUTO_TEST_CASE(less_than_half_a_batch_waits_for_one_of_two_under_way)
{
    BOOST_TEST(batch_pacer::wanted(3, 8, 0, 3) == 3);
    BOOST_TEST(batch_pacer::wanted(3, 8, 1, 3) == 3);
    BOOST_TEST(batch_pacer::wanted(3, 8, 2, 3) == 0);
    BOOST_TEST(batch_pacer::wanted(4, 8, 2, 3) == 4);
    BOOST_TEST(batch_pacer::wanted(4, 9, 2, 3) == 0); // half of 9 is 5
    BOOST_TEST(batch_pacer::wanted(20, 8, 2, 3) == 8);
    BOOST_TEST(batch_pacer::wanted(20, 8, 3, 3) == 0); // no slot is free
    BOOST_TEST(batch_pacer::wanted(-1, 8, 0, 3) == 0);
}

BOOST_AUTO_TEST_CASE(a_batch_is_not_cut_to_the_room_of_a_nearly_full_ring)
{
    batch_pacer pacer;
    pacer.round_begins();
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 1) == 0);
    BOOST_TEST(pacer.is_short_of_room());
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 0);
    BOOST_TEST(pacer.fitting(8, any_ring, 9, 0) == 8);
    BOOST_TEST(!pacer.is_short_of_room());
    // If the ring never has room for a batch, a third of the ring is enough.
    BOOST_TEST(pacer.fitting(8, 5, 5, 0) == 5);
}

BOOST_AUTO_TEST_CASE(after_a_wait_in_vain_one_batch_is_cut_to_any_room)
{
    batch_pacer pacer;
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 0);
    pacer.pause(8);
    BOOST_TEST(
        (pacer.next_wait(false, false, never_needed, is(5)).what == awaited::room));
    pacer.waited_for_room(false);
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 1) == 0); // a batch under way makes room
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 5);
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 0);
    pacer.waited_for_room(true);
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 0);
}

BOOST_AUTO_TEST_CASE(room_that_came_before_the_wait_is_not_waited_for)
{
    batch_pacer pacer;
    BOOST_TEST(pacer.fitting(8, any_ring, 5, 0) == 0);
    pacer.pause(8);
    BOOST_TEST(
        (pacer.next_wait(false, false, never_needed, is(6)).what == awaited::nothing));
    BOOST_TEST(pacer.fitting(8, any_ring, 6, 1) == 0);
    pacer.pause(8);
    BOOST_TEST((pacer.next_wait(true, false, is(8), is(7)).what == awaited::nothing));
    pacer.pause(8);
    BOOST_TEST((pacer.next_wait(true, false, is(8), is(6)).what == awaited::batch));
}

BOOST_AUTO_TEST_CASE(a_batch_under_way_is_waited_for_unless_frames_have_come)
{
    batch_pacer pacer;
    BOOST_TEST((pacer.next_wait(true, false, never_needed, never_needed).what ==
                awaited::nothing)); // no pause was begun
    pacer.pause(2);
    BOOST_TEST(
        (pacer.next_wait(true, false, is(3), never_needed).what == awaited::nothing));
    pacer.pause(2);
    BOOST_TEST(
        (pacer.next_wait(true, false, is(2), never_needed).what == awaited::batch));
    pacer.pause(2); // after an error nothing more is submitted
    BOOST_TEST(
        (pacer.next_wait(true, true, never_needed, never_needed).what == awaited::batch));
    pacer.pause(2); // a pause is for one call
    BOOST_TEST((pacer.next_wait(false, false, never_needed, never_needed).what ==
                awaited::nothing));
    BOOST_TEST((pacer.next_wait(true, false, never_needed, never_needed).what ==
                awaited::nothing));
}

BOOST_AUTO_TEST_CASE(a_thread_sleeps_a_sixteenth_of_what_a_long_batch_has_taken)
{
    BOOST_TEST((batch_pacer::nap(1ms) == 0us));
    BOOST_TEST((batch_pacer::nap(16ms) == 1ms));
    BOOST_TEST((batch_pacer::nap(1h) == 100ms));
}

BOOST_AUTO_TEST_CASE(announced_items_are_awaited_until_they_come_or_are_given_up)
{
    batch_pacer pacer;
    BOOST_TEST(!pacer.awaits(0, 0));
    BOOST_TEST(pacer.awaits(11, 10));
    BOOST_TEST(!pacer.awaits(11, 11));
    pacer.give_up(11);
    BOOST_TEST(!pacer.awaits(11, 10));
    BOOST_TEST(pacer.awaits(12, 10));
}

BOOST_AUTO_TEST_CASE(a_batch_is_timed_once_in_an_interval)
{
    batch_pacer pacer(0, 10ms), every;
    BOOST_TEST(pacer.is_timed(at(0ms)));
    BOOST_TEST(!pacer.is_timed(at(9ms)));
    BOOST_TEST(pacer.is_timed(at(10ms)));
    BOOST_TEST(!pacer.is_timed(at(19ms)));
    BOOST_TEST(every.is_timed(at(0ms)));
    BOOST_TEST(every.is_timed(at(0ms)));
}
