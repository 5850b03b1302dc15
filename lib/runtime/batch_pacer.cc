/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/batch_pacer.h"
#include <cmath>
#include <utility>

namespace gr::cudaphy {

using namespace std::chrono_literals;

batch_pacer::batch_pacer(double max_latency, std::chrono::nanoseconds between_timed)
    : d_max_latency(std::llround(max_latency * 1e9)), d_between_timed(between_timed)
{
}

bool batch_pacer::holds_back(int waiting, int full, bool input_ended, moment now)
{
    if (waiting >= full || input_ended) {
        return false;
    }
    if (!d_waiting_since) {
        d_waiting_since = now;
    }
    const auto end = *d_waiting_since + d_max_latency;
    if (end <= now) {
        return false;
    }
    d_pause = pause_state{ waiting, end };
    return true;
}

int batch_pacer::wanted(int waiting, int max_batch, size_t under_way, size_t slots)
{
    const int frames = std::min(waiting, max_batch);
    if (under_way == slots || frames <= 0) {
        return 0;
    }
    return under_way >= 2 && frames < (max_batch + 1) / 2 ? 0 : frames;
}

int batch_pacer::fitting(int wanted, int third_of_ring, int room, size_t under_way)
{
    d_room = room;
    d_short_of_room = room < std::min(wanted, third_of_ring);
    if (d_short_of_room && (under_way > 0 || !d_takes_any_room)) {
        return 0;
    }
    d_takes_any_room = false;
    return std::min(wanted, room);
}

batch_pacer::wait batch_pacer::next_wait(bool is_busy,
                                         bool has_failed,
                                         const std::function<int()>& waiting,
                                         const std::function<int()>& room)
{
    const auto begun = std::exchange(d_pause, std::nullopt);
    if (!begun) {
        return {};
    }
    const auto lacks_room = [&] { return room() <= d_room; };
    if (!begun->held_until && !is_busy) {
        return { d_short_of_room && lacks_room() ? awaited::room : awaited::nothing };
    }
    if (!has_failed && waiting() > begun->waiting) {
        return {};
    }
    if (begun->held_until) {
        return { awaited::input, *begun->held_until };
    }
    return { d_short_of_room && !lacks_room() ? awaited::nothing : awaited::batch };
}

batch_pacer::microseconds batch_pacer::nap(std::chrono::nanoseconds so_far)
{
    if (so_far <= 1ms) {
        return 0us;
    }
    return std::min(std::chrono::duration_cast<microseconds>(so_far) / 16,
                    microseconds(100ms));
}

bool batch_pacer::is_timed(moment now)
{
    if (d_last_timed && now - *d_last_timed < d_between_timed) {
        return false;
    }
    d_last_timed = now;
    return true;
}

} // namespace gr::cudaphy
