/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/batch_kind.h"
#include "runtime/scheduler_port.h"
#include <optional>

namespace gr::cudaphy {

/*!
 * \brief Finds out that a block can never go on: an input is full, another lacks a frame,
 * and one block feeds both, which waits for room at the first.
 *
 * So it is if the inputs bring items at another ratio than frames take them. A stream
 * without packets says nothing of its frames, so that this shows only while it flows.
 */
class stuck_inputs
{
public:
    void begin() { d_last_seen.clear(); }
    /*!
     * What is wrong; none if the block may go on. To be called while nothing is under
     * way, before GNU Radio lets the thread sleep: it does at least four times a second.
     * \param patience  how long nothing must have moved
     * \param sizes  what makes up a frame, for the text; may be empty
     */
    std::optional<std::string> problem(const scheduler_port& port,
                                       const batch_kind& kind,
                                       std::chrono::milliseconds patience,
                                       const std::function<std::string()>& sizes);

private:
    std::string text(const batch_kind& kind,
                     size_t full,
                     size_t lacking,
                     const std::string& sizes) const;

    std::vector<uint64_t> d_last_seen; //!< items of each input, when it last lacked one
    clock_moment d_last_look{};
    std::chrono::nanoseconds d_stuck_for{};
};

//! "1 item", "2 items".
std::string count_of(uint64_t count, const std::string& what);

} // namespace gr::cudaphy
