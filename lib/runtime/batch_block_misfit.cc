/* SPDX-License-Identifier: GPL-3.0-or-later */

// Streams that do not fit a block's parameters: found while they flow, because a stream
// without packets says nothing of its frames.

#include "runtime/batch_slot.h"
#include <algorithm>
#include <utility>

namespace gr::cudaphy {
namespace {

using namespace std::chrono_literals;

std::string times(uint64_t count, const std::string& what)
{
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace

void batch_block::check_frame_starts(const std::vector<tag_t>& tags,
                                     size_t port,
                                     int group) const
{
    static const auto key = pmt::intern("frame_start");
    for (const auto& tag : tags) {
        if (tag.offset % group == 0 || !pmt::eqv(tag.key, key) || frame_sizes().empty()) {
            continue;
        }
        throw std::runtime_error(
            "a frame begins at item " + std::to_string(tag.offset) + " of input " +
            std::to_string(port) +
            ", as its tag frame_start says, which is no whole multiple of " +
            times(group, "item") +
            ". Set the sizes of a frame as in the block that it comes from; here they "
            "are " +
            frame_sizes());
    }
}

/*!
 * Whether the block can never go on: an input is full, another lacks a frame, and one
 * block feeds both, which waits for room at the first. So it is if they bring items at
 * another ratio than frames take them. Called before GNU Radio lets the thread sleep, at
 * least four times a second while it does.
 */
bool batch_block::is_stuck()
{
    if (d_inputs.size() < 2 || !d_in_flight.empty() || !d_problem.empty()) {
        return false;
    }
    const auto& kind = d_kinds[next_kind()];
    std::optional<size_t> full, lacking;
    std::vector<uint64_t> seen;
    std::vector<int> there;
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        seen.push_back(d_port.items_come(p));
        there.push_back(static_cast<int>(seen[p] - nitems_read(p)));
        if (there[p] < kind.in[p]) {
            lacking = p;
        }
    }
    for (size_t p = 0; lacking && p < d_inputs.size(); ++p) {
        const int room = d_port.most_available(p) - there[p];
        if (there[p] >= kind.in[p] && room < d_port.block_before(p)->output_multiple()) {
            full = p;
        }
    }
    if (!full) {
        return false;
    }
    // A process that was suspended has not looked meanwhile: that time does not count.
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::nanoseconds since = now - std::exchange(d_last_look, now);
    if (std::exchange(d_last_seen, seen) != seen) {
        d_stuck_for = {};
    } else {
        d_stuck_for += std::min<std::chrono::nanoseconds>(since, 500ms);
    }
    if (d_stuck_for < d_stuck_patience || !d_port.share_a_source(*full, *lacking)) {
        return false;
    }
    d_problem = misfit_of(*full, *lacking);
    d_logger->error("{}: the flowgraph ends here", d_problem);
    return true;
}

std::string batch_block::misfit_of(size_t full, size_t lacking) const
{
    const auto& kind = d_kinds[next_kind()];
    const auto of = [](size_t port) { return " of input " + std::to_string(port); };
    const auto sizes = frame_sizes();
    return "nothing moves any more: input " + std::to_string(full) +
           " is full, and input " + std::to_string(lacking) + " lacks items. " +
           times(d_last_seen[full], "item") + of(full) + " and " +
           std::to_string(d_last_seen[lacking]) + of(lacking) +
           " have come, but a frame takes " + std::to_string(kind.in[full]) + of(full) +
           " and " + std::to_string(kind.in[lacking]) + of(lacking) +
           (sizes.empty() ? "" : ", " + sizes) +
           ". Set the sizes of a frame so that they fit what the blocks before put out, "
           "or a larger Min Output Buffer of the block before input " +
           std::to_string(full);
}

} // namespace gr::cudaphy
