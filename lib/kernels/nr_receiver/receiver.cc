/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel_items.h"
#include "kernels/nr/require.h"
#include "kernels/nr_receiver/common_phase.h"
#include "kernels/nr_receiver/gpu_receiver.h"
#include "kernels/nr_receiver/packed_bits.h"
#include "kernels/nr_receiver/receiver_user.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <set>

namespace gr::cudaphy::kernels::nr {

receiver::receiver(std::vector<shared_channel::sptr> channels,
                   int antennas,
                   const receiver_parameters& p,
                   backend where,
                   int device)
    : d_antennas(antennas), d_parameters(p), d_queue(queue::make(where, device))
{
    require(!channels.empty(), "no channel is given");
    require(antennas >= 1 && antennas <= 128,
            "the receiver takes 1 to 128 antennas, not " + std::to_string(antennas));
    require(!std::isnan(p.delay_spread) && p.delay_spread < 1e-4,
            "delay_spread is in seconds, below 1e-4");
    require(!std::isnan(p.doppler) && p.doppler < 1e5, "doppler is in Hz, below 1e5");
    const auto& first = channels.front()->parameters();
    for (const auto& channel : channels) {
        const auto& other = channel->parameters();
        require(other.direction == first.direction &&
                    other.numerology == first.numerology &&
                    other.extended_prefix == first.extended_prefix &&
                    other.grid_start == first.grid_start &&
                    other.grid_size == first.grid_size,
                "channels that share a grid must have its link, numerology, prefix, "
                "grid_start and grid_size");
    }
    d_channels = std::move(channels);
    d_lanes.push_back(make_users());
    if (d_queue->where() == backend::cuda) {
        make_gpu_receiver();
    }
    d_slots_at_once = count_at_once();
}

//! A slot a core on the CPU; on a GPU, whose kernels take all slots together, what keeps
//! it busy.
size_t receiver::count_at_once() const
{
    constexpr size_t most_on_gpu = 16, most_bytes = size_t(256) << 20;
    const size_t most = d_gpu                              ? most_on_gpu
                        : d_queue->where() == backend::cpu ? cores()
                                                           : 1;
    return std::max<size_t>(1, std::min(most, most_bytes / bytes_of_slot()));
}

//! Of the channels of a slot's elements; or, where a GPU forms some elements' at a time,
//! of those of its subcarriers at the positions of DM-RS.
size_t receiver::bytes_of_slot() const
{
    constexpr int most_antennas = 16, most_positions = 4;
    const auto& map = d_channels.front()->map();
    size_t layers = 0; // that are separated together, at most
    for (const auto& channel : d_channels) {
        layers = std::min<size_t>(16, layers + channel->parameters().layers);
    }
    const bool some = d_gpu && d_antennas > most_antennas;
    return d_antennas * layers * (some ? most_positions : map.symbols) * map.subcarriers *
           sizeof(complex64);
}

void receiver::make_gpu_receiver()
{
#ifdef CUDAPHY_HAVE_CUDA
    std::vector<gpu_user> users;
    const auto& all = d_lanes.front();
    for (const auto& one : all) {
        gpu_user of{ one->channel, &one->estimate, {}, {}, {} };
        for (const auto* other : one->together) {
            of.together.push_back(place_of(*other, all));
        }
        for (size_t i = 0; i < one->decoders.size(); ++i) {
            of.bits.push_back(one->bits[i].get());
            of.decoders.push_back(one->decoders[i].get());
        }
        users.push_back(std::move(of));
    }
    d_gpu = gpu_receiver::make(users, d_antennas, d_parameters, d_queue->device());
#endif
}

receiver::~receiver() = default;

void receiver::check(size_t grid,
                     int slot,
                     const std::vector<reception_order>& orders,
                     std::map<const harq*, size_t>& bytes) const
{
    const auto& map = d_channels.front()->map();
    require(grid == size_t(d_antennas) * map.symbols * map.subcarriers,
            "the grid is not of " + std::to_string(d_antennas) + " antennas, " +
                std::to_string(map.symbols) + " symbols and " +
                std::to_string(map.subcarriers) + " subcarriers");
    const int slots = 10 << d_channels.front()->parameters().numerology;
    require(slot >= 0 && slot < slots,
            "slot is " + std::to_string(slot) + "; a frame has slots 0 to " +
                std::to_string(slots - 1) + " (TS 38.211, 4.3.2)");
    require(orders.size() == d_channels.size(), "give one order for each channel");
    for (size_t i = 0; i < orders.size(); ++i) {
        const auto& order = orders[i];
        const auto& of = *d_channels[i];
        require(order.redundancy_versions.size() == of.codewords().size(),
                "give a redundancy version for each of " +
                    std::to_string(of.codewords().size()) + " codewords");
        for (const int version : order.redundancy_versions) {
            require(version >= 0 && version <= 3,
                    "redundancy version " + std::to_string(version) +
                        " is none of 0 to 3 (TS 38.212, 5.4.2.1)");
        }
        if (!order.combining) {
            require(order.new_data,
                    "a retransmission needs HARQ processes to combine with");
            continue;
        }
        for (size_t j = 0; j < i; ++j) {
            require(orders[j].combining != order.combining ||
                        orders[j].process != order.process,
                    "two channels of the slot have the same HARQ process");
        }
        const std::lock_guard<std::mutex> turn(order.combining->d_turn);
        order.combining->check(order.process,
                               order.new_data,
                               of,
                               bytes[order.combining] +=
                               d_lanes.front()[i]->buffer_bytes);
    }
}

std::vector<reception> receiver::run(view<const complex64> grid,
                                     int slot,
                                     const std::vector<reception_order>& orders)
{
    return std::move(run_slots(grid, { slot }, { orders }).front());
}

std::vector<std::vector<reception>>
receiver::run_slots(view<const complex64> grids,
                    const std::vector<int>& slots,
                    const std::vector<std::vector<reception_order>>& orders)
{
    require(orders.size() == slots.size(), "give orders for each slot");
    if (slots.empty()) {
        require(grids.empty(), "give the number of each slot");
        return {};
    }
    const size_t size = grids.size() / slots.size();
    std::map<const harq*, size_t> bytes;
    for (size_t i = 0; i < slots.size(); ++i) {
        check(size, slots[i], orders[i], bytes);
    }
    require(grids.size() == size * slots.size(), "grids of the slots differ in size");
    const std::lock_guard<std::mutex> turn(d_turn);
    std::vector<std::vector<reception>> out;
    const auto run = [&](size_t first, size_t last) {
        for (auto& one : run_independent(
                 grids.part(first * size, (last - first) * size),
                 view<const int>(slots).part(first, last - first),
                 view<const orders_of_slot>(orders).part(first, last - first))) {
            out.push_back(std::move(one));
        }
    };
    // What one slot leaves in a process, the next one combines with.
    std::set<std::pair<const harq*, int>> processes;
    size_t first = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
        std::set<std::pair<const harq*, int>> own;
        bool again = false;
        for (const auto& order : orders[i]) {
            if (order.combining) {
                own.insert({ order.combining, order.process });
                again = again || processes.count({ order.combining, order.process });
            }
        }
        if (again) {
            run(first, i);
            first = i;
            processes.clear();
        }
        processes.insert(own.begin(), own.end());
    }
    run(first, slots.size());
    return out;
}

receiver::held_blocks receiver::prepare(view<const orders_of_slot> orders) const
{
    held_blocks out;
    for (const auto& of_slot : orders) {
        out.emplace_back();
        for (size_t u = 0; u < of_slot.size(); ++u) {
            const auto& order = of_slot[u];
            out.back().push_back(
                order.combining ? &order.combining->prepare(order.process,
                                                            order.new_data,
                                                            *d_channels[u],
                                                            d_lanes.front()[u]->decoders,
                                                            d_gpu != nullptr)
                                : nullptr);
        }
    }
    return out;
}

//! Of slots that share no HARQ process.
std::vector<std::vector<reception>> receiver::run_independent(
    view<const complex64> grids, view<const int> slots, view<const orders_of_slot> orders)
{
    // All processes are held until the end: in one order, so that no two threads wait for
    // each other.
    std::set<harq*> used;
    for (const auto& of_slot : orders) {
        for (const auto& order : of_slot) {
            if (order.combining) {
                used.insert(order.combining);
            }
        }
    }
    std::vector<std::unique_lock<std::mutex>> turns;
    for (auto* const one : used) {
        turns.emplace_back(one->d_turn);
    }
    const auto held = prepare(orders);
    const size_t size = grids.size() / slots.size();
    std::vector<std::vector<reception>> out;
    if (d_gpu) {
        constexpr size_t most_bytes = size_t(4) << 30;
        const size_t most = std::max<size_t>(1, most_bytes / bytes_of_slot());
        for (size_t first = 0; first < slots.size(); first += most) {
            const size_t count = std::min(most, slots.size() - first);
            auto got =
                run_on_gpu(grids.part(first * size, count * size),
                           slots.part(first, count),
                           orders.part(first, count),
                           view<const held_blocks::value_type>(held).part(first, count));
            std::move(got.begin(), got.end(), std::back_inserter(out));
        }
        return out;
    }
    out.resize(slots.size());
    for (size_t first = 0; first < slots.size(); first += d_slots_at_once) {
        const size_t count = std::min(d_slots_at_once, slots.size() - first);
        while (d_lanes.size() < count) {
            d_lanes.push_back(make_users());
        }
        for_each_item(count, [&](size_t lane) {
            const size_t at = first + lane;
            out[at] = run_one(d_lanes[lane],
                              grids.part(at * size, size),
                              slots[at],
                              orders[at],
                              held[at]);
        });
    }
    return out;
}

namespace {

const char* reason_of(const reception& got, bool usable, bool present)
{
    const bool ok = std::all_of(got.codewords.begin(),
                                got.codewords.end(),
                                [](const auto& block) { return block.ok; });
    return ok ? "" : !usable ? "not_finite" : present ? "crc" : "no_dmrs";
}

} // namespace

std::vector<std::vector<reception>>
receiver::run_on_gpu(view<const complex64> grids,
                     view<const int> slots,
                     view<const orders_of_slot> orders,
                     view<const held_blocks::value_type> held)
{
    const auto& users = d_lanes.front();
    std::vector<std::vector<std::vector<gpu_order>>> given(slots.size());
    for (size_t at = 0; at < slots.size(); ++at) {
        for (size_t u = 0; u < users.size(); ++u) {
            std::vector<gpu_order> words;
            for (size_t i = 0; i < users[u]->decoders.size(); ++i) {
                words.push_back({ orders[at][u].redundancy_versions[i],
                                  held[at][u] ? &(*held[at][u])[i].received : nullptr });
            }
            given[at].push_back(std::move(words));
        }
    }
    std::vector<std::vector<reception>> out;
    const auto found = d_gpu->run(grids, { slots.begin(), slots.end() }, given, out);
    for (size_t at = 0; at < slots.size(); ++at) {
        for (size_t u = 0; u < users.size(); ++u) {
            auto& got = out[at][u];
            const auto& channel = *d_channels[u];
            const auto& p = channel.parameters();
            got.timing_offset /= spacing_of(p);
            got.delay_spread /= spacing_of(p);
            got.doppler /= symbol_of(p);
            const bool usable = found[at][u] > 0;
            if (usable) {
                got.frequency_offset = users[u]->estimate.layout().positions() > 1
                                           ? got.frequency_offset / symbol_of(p)
                                           : NAN;
                got.colored_noise =
                    got.colored_noise && d_parameters.noise != noise_model::white;
            }
            got.reason = reason_of(got, usable, found[at][u] > 1);
        }
    }
    return out;
}

std::vector<reception>
receiver::run_one(const user_list& users,
                  view<const complex64> grid,
                  int slot,
                  const orders_of_slot& orders,
                  const std::vector<harq::process_blocks*>& held) const
{
    std::vector<estimated_channel> channels;
    for (auto& one : users) {
        one->estimate.run(grid, slot);
        channels.push_back({ &one->estimate,
                             one->estimate.usable()
                                 ? common_phases(one->estimate, grid, slot)
                                 : std::vector<complex64>() });
    }
    std::vector<reception> out;
    for (size_t i = 0; i < users.size(); ++i) {
        auto& one = *users[i];
        const bool usable = one.estimate.usable();
        out.push_back(usable ? one.measured() : reception{});
        auto& got = out.back();
        got.codewords.resize(one.decoders.size());
        if (usable) {
            std::vector<estimated_channel> together;
            for (const auto* other : one.together) {
                together.push_back(channels[place_of(*other, users)]);
            }
            got.colored_noise =
                d_parameters.noise != noise_model::white && one.estimate.noise().colored;
            one.separation->run(together, grid, got.colored_noise, *d_queue);
            for (auto& part : one.bits) {
                part->run(*one.separation, slot, one.estimate.layout().time, *d_queue);
            }
        }
        one.decode(orders[i], held[i], usable, got);
        got.reason = reason_of(got, usable, one.estimate.present());
        for (auto& block : got.codewords) {
            block.payload = d_parameters.packed ? packed_bits(block.payload)
                                                : std::move(block.payload);
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
