/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/stream_ledger.h"
#include <utility>

namespace gr::cudaphy {
namespace {

void add(std::vector<uint64_t>& to, const std::vector<int>& items, int frames)
{
    for (size_t p = 0; p < to.size(); ++p) {
        to[p] += uint64_t(frames) * items[p];
    }
}

} // namespace

stream_ledger::stream_ledger(std::vector<batch_kind> kinds, size_t outputs)
    : d_kinds(std::move(kinds)), d_outputs(outputs)
{
    if (!d_kinds.empty()) {
        d_done.in.resize(d_kinds[0].in.size());
        d_done.out.resize(d_kinds[0].out.size());
        d_reserved = d_done;
    }
}

int stream_ledger::frames_waiting(int kind, const std::vector<int>& available) const
{
    const auto& items = d_kinds[kind].in;
    int frames = no_limit;
    for (size_t p = 0; p < items.size(); ++p) {
        const auto under_way = static_cast<int>(in_under_way(p));
        frames = std::min(frames, (available[p] - under_way) / items[p]);
    }
    return frames;
}

frame_reservation stream_ledger::reserve(int kind, int frames)
{
    frame_reservation made{ kind, frames, d_reserved.in[0], d_reserved.out };
    add(d_reserved.in, d_kinds[kind].in, frames);
    add(d_reserved.out, d_kinds[kind].out, frames);
    return made;
}

void stream_ledger::publish(const frame_reservation& done, int kept)
{
    add(d_done.out, d_kinds[done.kind].out, kept);
    d_frames += done.frames;
}

void stream_ledger::consume(const frame_reservation& done)
{
    add(d_done.in, d_kinds[done.kind].in, done.frames);
}

} // namespace gr::cudaphy
