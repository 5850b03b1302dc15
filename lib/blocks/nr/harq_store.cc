/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/harq_store.h"
#include <algorithm>

namespace gr::cudaphy {

kernels::nr::harq& harq_store::of(int rnti)
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    auto& found = d_users[rnti];
    if (!found) {
        found = std::make_unique<kernels::nr::harq>(d_processes, d_bytes);
    }
    return *found;
}

std::vector<std::array<int, 3>>
harq_store::blocks_of(const kernels::nr::shared_channel& channel)
{
    std::vector<std::array<int, 3>> out;
    for (const auto& one : channel.codewords()) {
        out.push_back({ one.payload, one.blocks.base_graph, one.limited_buffer });
    }
    return out;
}

std::string harq_store::problem(const use& which,
                                bool new_data,
                                const kernels::nr::shared_channel& channel)
{
    if (which.process >= d_processes) {
        return "there is no such HARQ process";
    }
    const auto held = d_contents.find(which);
    if (!new_data && held != d_contents.end() &&
        held->second.blocks != blocks_of(channel)) {
        return "the retransmission has another size than what its HARQ process holds";
    }
    return "";
}

void harq_store::used(const use& which,
                      const kernels::nr::shared_channel& channel,
                      bool done)
{
    d_contents[which] = { ++d_uses, done, blocks_of(channel) };
}

bool harq_store::release_one(const std::vector<use>& kept)
{
    auto first = d_contents.end();
    for (auto one = d_contents.begin(); one != d_contents.end(); ++one) {
        const auto is = [&](const use& other) {
            return other.rnti == one->first.rnti && other.process == one->first.process;
        };
        const auto is_of_user = [&](const use& other) {
            return other.rnti == one->first.rnti;
        };
        if (std::any_of(kept.begin(), kept.end(), is) ||
            std::none_of(kept.begin(), kept.end(), is_of_user)) {
            continue;
        }
        const auto order = [](const content& c) {
            return std::pair(!c.done, c.last_use);
        };
        if (first == d_contents.end() || order(one->second) < order(first->second)) {
            first = one;
        }
    }
    if (first == d_contents.end()) {
        return false;
    }
    of(first->first.rnti).release(first->first.process);
    d_contents.erase(first);
    ++d_released;
    return true;
}

uint64_t harq_store::bytes() const
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    uint64_t sum = 0;
    for (const auto& [rnti, entity] : d_users) {
        sum += entity->bytes();
    }
    return sum;
}

void harq_store::clear()
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    d_users.clear();
    d_contents.clear();
}

} // namespace gr::cudaphy
