/* SPDX-License-Identifier: GPL-3.0-or-later */

// What goes into a batch: frames of one kind, or of several.

#include "runtime/batch_slot.h"
#include <algorithm>

namespace gr::cudaphy {

std::unique_ptr<mixed_batch_job> batch_block::make_mixed_job(queue&)
{
    throw std::logic_error(name() + " has no job for frames of several kinds");
}

std::unique_ptr<kind_sorter> batch_block::make_sorter(queue& line) const
{
    const auto in_bytes = [](const auto& items, const std::vector<batch_port>& ports) {
        std::vector<size_t> bytes;
        for (size_t p = 0; p < ports.size(); ++p) {
            bytes.push_back(items[p] * ports[p].item_bytes);
        }
        return bytes;
    };
    std::vector<port_bytes> kinds;
    for (const auto& kind : d_kinds) {
        kinds.push_back({ in_bytes(kind.in, d_inputs), in_bytes(kind.out, d_outputs) });
    }
    return std::make_unique<kind_sorter>(
        line,
        std::move(kinds),
        port_bytes{ in_bytes(d_most.in, d_inputs), in_bytes(d_most.out, d_outputs) },
        d_most.frames,
        d_status_words);
}

//! What is to be submitted now, with its room reserved; empty: nothing is.
batch_block::gathered batch_block::next_batch(const gr_vector_int& ninput_items)
{
    gathered made;
    auto& [parts, all] = made;
    all.in.resize(d_inputs.size());
    all.out.resize(d_outputs.size());
    all.of_kind.resize(d_kinds.size());
    int kind = next_kind(); // that of the packet after these may be another
    int frames = frames_to_submit(ninput_items);
    while (frames > 0) {
        parts.push_back(reserve(kind, d_packets ? frames_in_packets(frames) : frames));
        add(all, parts.back());
        if (d_kinds.size() == 1 || parts.size() == kind_sorter::most_parts ||
            !d_problem.empty() || !at_known_packet(ninput_items) ||
            d_packets->refused_items()) {
            break;
        }
        kind = next_kind();
        frames = std::min({ frames_beside(all, kind),
                            frames_waiting(ninput_items),
                            frames_that_fit() });
    }
    return made;
}

batch_block::flight batch_block::reserve(int kind, int frames)
{
    flight made;
    made.kind = kind;
    made.frames = frames;
    made.first_in = d_ahead.in[0];
    made.reserved = d_ahead.out;
    for (size_t p = 0; p < d_inputs.size(); ++p) {
        d_ahead.in[p] += uint64_t(frames) * d_kinds[kind].in[p];
    }
    for (size_t p = 0; p < d_outputs.size(); ++p) {
        d_ahead.out[p] += uint64_t(frames) * d_kinds[kind].out[p];
    }
    return made;
}

void batch_block::add(load& sum, const flight& part) const
{
    const auto& kind = d_kinds[part.kind];
    for (size_t p = 0; p < sum.in.size(); ++p) {
        sum.in[p] += size_t(part.frames) * kind.in[p];
    }
    for (size_t p = 0; p < sum.out.size(); ++p) {
        sum.out[p] += size_t(part.frames) * kind.out[p];
    }
    sum.frames += part.frames;
    sum.of_kind[part.kind] += part.frames;
}

//! How many frames of a kind there is room for in a batch that holds others already.
int batch_block::frames_beside(const load& others, int number) const
{
    const auto& kind = d_kinds[number];
    size_t frames =
        std::min(kind.max_batch - others.of_kind[number], d_most.frames - others.frames);
    for (size_t p = 0; p < kind.in.size(); ++p) {
        frames = std::min(frames, (d_most.in[p] - others.in[p]) / kind.in[p]);
    }
    for (size_t p = 0; p < kind.out.size(); ++p) {
        frames = std::min(frames, (d_most.out[p] - others.out[p]) / kind.out[p]);
    }
    return static_cast<int>(frames);
}

//! Cuts a batch into its parts and runs them together.
void batch_block::run_mixed(const flights& parts,
                            const batch& whole,
                            slot& on,
                            queue& line)
{
    std::vector<batch_part> cut;
    auto rest = whole;
    for (const auto& part : parts) {
        const auto& kind = d_kinds[part.kind];
        rest.frames = part.frames;
        cut.push_back({ part.kind, rest });
        for (size_t p = 0; p < rest.in.size(); ++p) {
            rest.in[p] = static_cast<const char*>(rest.in[p]) +
                         size_t(part.frames) * kind.in[p] * d_inputs[p].item_bytes;
        }
        for (size_t p = 0; p < rest.out.size(); ++p) {
            rest.out[p] = static_cast<char*>(rest.out[p]) +
                          size_t(part.frames) * kind.out[p] * d_outputs[p].item_bytes;
        }
        rest.status += size_t(part.frames) * d_status_words;
    }
    if (cut.size() == 1) {
        on.mixed_job->run(cut, line);
    } else {
        on.sorter->run(*on.mixed_job, cut, line);
    }
}

} // namespace gr::cudaphy
