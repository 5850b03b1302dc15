/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/batch_kind.h"
#include "kernels/common/sizes.h"
#include <algorithm>

namespace gr::cudaphy {
namespace {

constexpr int64_t most_bytes = 1 << 28; // of a port in a batch

size_t frame_bytes(const std::vector<batch_port>& ports)
{
    size_t bytes = 0;
    for (const auto& port : ports) {
        bytes += port.item_bytes * port.items;
    }
    return bytes;
}

} // namespace

batch_load batch_load::largest(const std::vector<batch_kind>& kinds)
{
    batch_load most(kinds.at(0).in.size(), kinds.at(0).out.size(), kinds.size());
    for (size_t number = 0; number < kinds.size(); ++number) {
        const auto& kind = kinds[number];
        most.frames = std::max(most.frames, kind.max_batch);
        most.of_kind[number] = kind.max_batch;
        const auto enlarge = [&](auto& batch, const auto& items) {
            for (size_t p = 0; p < batch.size(); ++p) {
                batch[p] = std::max(batch[p], size_t(items[p]) * kind.max_batch);
            }
        };
        enlarge(most.in, kind.in);
        enlarge(most.out, kind.out);
    }
    return most;
}

void batch_load::add(const batch_kind& kind, int number, int count)
{
    for (size_t p = 0; p < in.size(); ++p) {
        in[p] += size_t(count) * kind.in[p];
    }
    for (size_t p = 0; p < out.size(); ++p) {
        out[p] += size_t(count) * kind.out[p];
    }
    frames += count;
    of_kind[number] += count;
}

int batch_load::room_for(const batch_kind& kind, int number, const batch_load& most) const
{
    size_t room = std::min(kind.max_batch - of_kind[number], most.frames - frames);
    for (size_t p = 0; p < in.size(); ++p) {
        room = std::min(room, (most.in[p] - in[p]) / kind.in[p]);
    }
    for (size_t p = 0; p < out.size(); ++p) {
        room = std::min(room, (most.out[p] - out[p]) / kind.out[p]);
    }
    return static_cast<int>(room);
}

// A GPU's batch costs the host the same whatever it holds, and inputs and outputs pass
// the bus at the same time. A processor's batch is to stay in its second cache.
int default_batch(backend where,
                  const std::vector<batch_port>& inputs,
                  const std::vector<batch_port>& outputs)
{
    const size_t in = frame_bytes(inputs), out = frame_bytes(outputs);
    const size_t frames =
        where == backend::cuda ? (6u << 20) / std::max(in, out) : (1u << 20) / (in + out);
    return static_cast<int>(std::clamp<size_t>(frames, 1, 1 << 20));
}

int most_frames(const std::string& block,
                const batch_kind& kind,
                const std::vector<batch_port>& inputs,
                const std::vector<batch_port>& outputs,
                int status_words)
{
    int64_t most = most_bytes;
    const auto fit = [&](const std::string& what, int64_t items, int64_t item_bytes) {
        const auto bytes = checked_product(block + ": " + what + " times their bytes",
                                           most_bytes,
                                           { items, item_bytes });
        most = std::min(most, most_bytes / std::max<int64_t>(1, bytes));
    };
    for (size_t p = 0; p < inputs.size(); ++p) {
        fit("a frame's items at input " + std::to_string(p),
            kind.in[p],
            inputs[p].item_bytes);
    }
    for (size_t p = 0; p < outputs.size(); ++p) {
        fit("a frame's items at output " + std::to_string(p),
            kind.out[p],
            outputs[p].item_bytes);
    }
    fit("a frame's status words", status_words, sizeof(int));
    return static_cast<int>(most);
}

} // namespace gr::cudaphy
