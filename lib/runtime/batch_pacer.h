/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace gr::cudaphy {

/*!
 * \brief Decides when a block submits a batch, and what its thread waits for.
 *
 * Submit as soon as there is input. A partial batch waits only if max_latency is set and
 * nothing is under way (at most that long), or if two batches are under way and it is
 * less than half full, or if the output ring has no room for it.
 *
 * The caller says what time it is and what there is, and does the waiting.
 */
class batch_pacer
{
public:
    using moment = std::chrono::steady_clock::time_point;
    using microseconds = std::chrono::microseconds;

    //! \param max_latency  seconds; 0: a partial batch never waits for more frames
    //! \param between_timed  the time from one batch that is timed to the next
    explicit batch_pacer(double max_latency = 0,
                         std::chrono::nanoseconds between_timed = {});

    // Frames that wait for a fuller batch.

    bool may_hold_back(int waiting, bool is_busy) const
    {
        return d_max_latency.count() > 0 && waiting > 0 && !is_busy;
    }
    //! Whether `waiting` frames wait for more, if may_hold_back(). The block then sleeps
    //! until next_wait()'s end.
    //! \param full  the most that can come together
    bool holds_back(int waiting, int full, bool input_ended, moment now);

    // How many frames the next batch has. A round of submissions ends with a batch of 0.

    void round_begins() { d_short_of_room = false; }
    //! As far as the input and the batches under way say; 0: none now.
    static int wanted(int waiting, int max_batch, size_t under_way, size_t slots);
    //! \param room  frames that every output has room for
    //! \param third_of_ring  readers get on with what two thirds of a ring hold, so that
    //! this much room comes again
    int fitting(int wanted, int third_of_ring, int room, size_t under_way);
    void submitted() { d_waiting_since.reset(); }
    //! Whether the last round ended because an output had too little room.
    bool is_short_of_room() const { return d_short_of_room; }

    // What the thread waits for before its next call.

    enum class awaited { nothing, room, input, batch };
    struct wait {
        awaited what = awaited::nothing;
        moment end = {}; //!< of input's
    };
    //! The thread has nothing to do until more than these frames wait, or a batch is
    //! done, or room comes.
    void pause(int waiting) { d_pause = pause_state{ waiting, {} }; }
    //! Ends the pause. The functions are called only if their answer matters.
    wait next_wait(bool is_busy,
                   bool has_failed,
                   const std::function<int()>& waiting,
                   const std::function<int()>& room);
    //! After a wait for room, in vain or not. A reader may wait for more items than there
    //! are: after a wait in vain, a batch is cut to any room.
    void waited_for_room(bool has_come) { d_takes_any_room = !has_come; }

    //! How long to sleep at a time while a batch is under way, which `so_far` has taken.
    //! 0: do not sleep, because the thread would wake up too late.
    static microseconds nap(std::chrono::nanoseconds so_far);
    static constexpr microseconds spin{ 4 }; //!< between two looks if nap() is 0

    // Items that the block before has announced. The thread stays awake for them.

    static constexpr microseconds announced_patience{ 200 };
    bool awaits(uint64_t announced, uint64_t come) const
    {
        return announced > std::max(come, d_given_up);
    }
    void give_up(uint64_t announced) { d_given_up = announced; }

    //! Whether to time the batch that is submitted now.
    bool is_timed(moment now);

private:
    struct pause_state {
        int waiting;
        std::optional<moment> held_until;
    };

    std::chrono::nanoseconds d_max_latency, d_between_timed;
    std::optional<moment> d_waiting_since;
    std::optional<pause_state> d_pause;
    bool d_short_of_room = false, d_takes_any_room = false;
    int d_room = 0; //!< frames, when fitting() was last called
    uint64_t d_given_up = 0;
    std::optional<moment> d_last_timed;
};

} // namespace gr::cudaphy
