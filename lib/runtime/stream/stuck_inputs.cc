/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/stuck_inputs.h"
#include <algorithm>
#include <utility>

namespace gr::cudaphy {

using namespace std::chrono_literals;

std::string count_of(uint64_t count, const std::string& what)
{
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::optional<std::string>
stuck_inputs::problem(const scheduler_port& port,
                      const batch_kind& kind,
                      std::chrono::milliseconds patience,
                      const std::function<std::string()>& sizes)
{
    const size_t inputs = kind.in.size();
    std::optional<size_t> full, lacking;
    std::vector<uint64_t> seen;
    std::vector<int> available;
    for (size_t p = 0; p < inputs; ++p) {
        seen.push_back(port.items_come(p));
        available.push_back(static_cast<int>(seen[p] - port.items_read(p)));
        if (available[p] < kind.in[p]) {
            lacking = p;
        }
    }
    for (size_t p = 0; lacking && p < inputs; ++p) {
        const int room = port.most_available(p) - available[p];
        if (available[p] >= kind.in[p] &&
            room < port.block_before(p)->output_multiple()) {
            full = p;
        }
    }
    if (!full) {
        return {};
    }
    // The time for which a process was suspended does not count.
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::nanoseconds since = now - std::exchange(d_last_look, now);
    if (std::exchange(d_last_seen, seen) != seen) {
        d_stuck_for = {};
    } else {
        d_stuck_for += std::min<std::chrono::nanoseconds>(since, 500ms);
    }
    if (d_stuck_for < patience || !port.share_a_source(*full, *lacking)) {
        return {};
    }
    return text(kind, *full, *lacking, sizes());
}

std::string stuck_inputs::text(const batch_kind& kind,
                               size_t full,
                               size_t lacking,
                               const std::string& sizes) const
{
    const auto of = [](size_t port) { return " of input " + std::to_string(port); };
    return "nothing moves any more: input " + std::to_string(full) +
           " is full, and input " + std::to_string(lacking) + " lacks items. " +
           count_of(d_last_seen[full], "item") + of(full) + " and " +
           std::to_string(d_last_seen[lacking]) + of(lacking) +
           " have come, but a frame takes " + std::to_string(kind.in[full]) + of(full) +
           " and " + std::to_string(kind.in[lacking]) + of(lacking) +
           (sizes.empty() ? "" : ", " + sizes) +
           ". Set the sizes of a frame so that they fit what the blocks before put out, "
           "or a larger Min Output Buffer of the block before input " +
           std::to_string(full);
}

} // namespace gr::cudaphy
