/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_kind.h"
#include <algorithm>
#include <cstdint>

namespace gr::cudaphy {

//! Items of each port since start().
struct stream_position {
    std::vector<uint64_t> in, out;
};

//! Frames of one kind whose input items are taken, and whose output items have room.
struct frame_reservation {
    int kind = 0, frames = 0;
    uint64_t first_in = 0;                //!< items of input 0 before the first frame
    std::vector<uint64_t> first_out = {}; //!< items of each output before it
};

/*!
 * \brief How many items of each port are reserved for batches, under way, published and
 * consumed.
 *
 * Frames are reserved, published and consumed in the same order. A frame's items are
 * under way from reserve() until consume() on the inputs, until publish() on the outputs.
 * If frames are dropped, fewer are published than were reserved.
 */
class stream_ledger
{
public:
    //! At a stream's start. \param outputs  how many outputs are connected: the first
    //! ones
    explicit stream_ledger(std::vector<batch_kind> kinds = {}, size_t outputs = 0);

    //! Frames that are whole on every input, and not reserved yet.
    //! \param available  items of each input that are not consumed
    int frames_waiting(int kind, const std::vector<int>& available) const;

    //! Frames for which every connected output has room, beside those under way.
    //! \param space  (output) -> items for which its ring has room
    template <typename Space>
    int frames_that_fit(int kind, const Space& space) const
    {
        const auto& items = d_kinds[kind].out;
        int frames = no_limit;
        for (size_t p = 0; p < d_outputs; ++p) {
            const auto under_way = static_cast<int>(out_under_way(p));
            frames = std::min(frames, (space(p) - under_way) / items[p]);
        }
        return frames;
    }

    frame_reservation reserve(int kind, int frames);
    //! Items of input 0 that make no frame: a refused packet.
    void pass_over(uint64_t items) { d_reserved.in[0] += items; }

    //! \param kept  how many of the frames are put out
    void publish(const frame_reservation& done, int kept);
    void consume(const frame_reservation& done);
    void consume_passed_over(uint64_t items) { d_done.in[0] += items; }
    //! If nothing is under way: gives up the room of dropped frames.
    void release_room() { d_reserved.out = d_done.out; }

    uint64_t in_under_way(size_t input) const
    {
        return d_reserved.in[input] - d_done.in[input];
    }
    uint64_t out_under_way(size_t output) const
    {
        return d_reserved.out[output] - d_done.out[output];
    }
    const stream_position& reserved() const { return d_reserved; }
    //! Items consumed, and published.
    const stream_position& done() const { return d_done; }
    uint64_t frames_published() const { return d_frames; } //!< dropped ones too
    const batch_kind& kind(int number) const { return d_kinds[number]; }

    static constexpr int no_limit = 1 << 30;

private:
    std::vector<batch_kind> d_kinds;
    size_t d_outputs;
    stream_position d_reserved, d_done;
    uint64_t d_frames = 0;
};

} // namespace gr::cudaphy
