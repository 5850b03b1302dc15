/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include "kernels/nr_receiver/common_phase.h"
#include "kernels/nr_receiver/gpu_receiver.h"
#include "kernels/nr_receiver/joint_users.h"
#include "kernels/nr_receiver/packed_bits.h"
#include "kernels/nr_receiver/soft_bits.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <set>

namespace gr::cudaphy::kernels::nr {
namespace {

using decoder = nr5g::transport_block_decoder;

constexpr double subcarrier_spacing = 15e3; // of numerology 0, Hz

double spacing_of(const shared_channel_parameters& p)
{
    return subcarrier_spacing * (1 << p.numerology);
}

//! Seconds, with the mean cyclic prefix.
double symbol_of(const shared_channel_parameters& p)
{
    return 1e-3 / (1 << p.numerology) / p.symbols_per_slot();
}

estimation estimation_of(const receiver_parameters& p,
                         const shared_channel_parameters& of)
{
    estimation out;
    out.mmse = p.estimator == pilot_method::mmse;
    out.spread = p.delay_spread < 0 ? -1 : p.delay_spread * spacing_of(of);
    out.doppler = p.doppler < 0 ? -1 : p.doppler * symbol_of(of);
    out.track_frequency = p.track_frequency;
    out.always_colored = p.noise == noise_model::colored;
    return out;
}

} // namespace

struct receiver::user {
    //! \param decoders  where code blocks are decoded
    user(shared_channel::sptr of,
         int antennas,
         const receiver_parameters& p,
         backend where,
         backend decoders_on,
         int device)
        : channel(std::move(of)),
          estimate(channel, antennas, estimation_of(p, channel->parameters()))
    {
        for (size_t i = 0; i < channel->codewords().size(); ++i) {
            const auto& codeword = channel->codewords()[i];
            decoder::parameters decoding;
            decoding.limited_buffer = codeword.limited_buffer;
            decoding.decoding.llr = ldpc_decoder::number::int8;
            decoding.decoding.max_iterations = p.max_iterations;
            decoders.push_back(std::make_unique<decoder>(
                codeword.blocks, decoding, decoders_on, device));
            bits.push_back(
                std::make_unique<soft_bits>(channel, static_cast<int>(i), where, device));
            buffer_bytes += decoders.back()->make_buffer().bytes();
        }
    }

    reception measured() const;
    void decode(const reception_order& order, bool usable, reception& out);

    shared_channel::sptr channel;
    channel_estimate estimate;
    std::vector<user*> together; // itself first
    std::unique_ptr<layer_separation> separation;
    std::vector<std::unique_ptr<soft_bits>> bits;
    std::vector<std::unique_ptr<decoder>> decoders;
    size_t buffer_bytes = 0;
};

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
    // A receiver on a GPU needs decoders of the host for what it is in doubt of alone.
    constexpr int most_on_gpu = 16; // antennas
    const bool on_gpu =
        d_queue->where() == backend::cuda && antennas <= most_on_gpu &&
        std::none_of(channels.begin(), channels.end(), [](const auto& of) {
            return of->parameters().transform_precoding;
        });
    for (const auto& channel : channels) {
        const auto& other = channel->parameters();
        require(other.direction == first.direction &&
                    other.numerology == first.numerology &&
                    other.extended_prefix == first.extended_prefix &&
                    other.grid_start == first.grid_start &&
                    other.grid_size == first.grid_size,
                "channels that share a grid must have its link, numerology, prefix, "
                "grid_start and grid_size");
        d_users.push_back(std::make_unique<user>(channel,
                                                 antennas,
                                                 p,
                                                 d_queue->where(),
                                                 on_gpu ? backend::cpu : d_queue->where(),
                                                 d_queue->device()));
    }
    for (auto& one : d_users) {
        int layers = one->channel->parameters().layers;
        one->together.push_back(one.get());
        for (auto& other : d_users) {
            const auto &a = *one->channel, &b = *other->channel;
            if (one == other || !separated_jointly(a, b)) {
                continue;
            }
            one->together.push_back(other.get());
            layers += b.parameters().layers;
            const bool same_group = share_group(a.map(), b.map());
            for (const auto& port : b.map().ports) {
                if (same_group) {
                    one->estimate.add_known_port(port);
                } else {
                    one->estimate.leave_out(port.group);
                }
            }
        }
        require(layers <= 16,
                std::to_string(layers) +
                    " layers share resource blocks; at most 16 are separated");
        one->separation = std::make_unique<layer_separation>(
            antennas, layers, d_queue->where(), d_queue->device());
    }
    if (on_gpu) {
        make_gpu_receiver();
    }
}

void receiver::make_gpu_receiver()
{
#ifdef CUDAPHY_HAVE_CUDA
    std::vector<gpu_user> users;
    for (const auto& one : d_users) {
        gpu_user of{ one->channel, &one->estimate, {}, {}, {} };
        for (const auto* other : one->together) {
            of.together.push_back(place_of(*other));
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

int receiver::place_of(const user& of) const
{
    const auto found = std::find_if(
        d_users.begin(), d_users.end(), [&](const auto& u) { return u.get() == &of; });
    return static_cast<int>(found - d_users.begin());
}

receiver::~receiver() = default;

void receiver::check(size_t grid,
                     int slot,
                     const std::vector<reception_order>& orders,
                     std::map<const harq*, size_t>& bytes) const
{
    const auto& map = d_users.front()->channel->map();
    require(grid == size_t(d_antennas) * map.symbols * map.subcarriers,
            "the grid is not of " + std::to_string(d_antennas) + " antennas, " +
                std::to_string(map.symbols) + " symbols and " +
                std::to_string(map.subcarriers) + " subcarriers");
    const int slots = 10 << d_users.front()->channel->parameters().numerology;
    require(slot >= 0 && slot < slots,
            "slot is " + std::to_string(slot) + "; a frame has slots 0 to " +
                std::to_string(slots - 1) + " (TS 38.211, 4.3.2)");
    require(orders.size() == d_users.size(), "give one order for each channel");
    for (size_t i = 0; i < orders.size(); ++i) {
        const auto& order = orders[i];
        const auto& of = *d_users[i]->channel;
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
                               bytes[order.combining] += d_users[i]->buffer_bytes);
    }
}

void receiver::user::decode(const reception_order& order, bool usable, reception& out)
{
    harq::process_blocks alone;
    std::unique_lock<std::mutex> turn;
    if (order.combining) {
        turn = std::unique_lock<std::mutex>(order.combining->d_turn);
    } else {
        for (const auto& one : decoders) {
            alone.push_back({ 0, 0, 0, one->make_buffer() });
        }
    }
    auto& held =
        order.combining
            ? order.combining->prepare(order.process, order.new_data, *channel, decoders)
            : alone;
    for (size_t i = 0; i < decoders.size(); ++i) {
        const auto& of = channel->codewords()[i];
        auto& block = out.codewords[i];
        block.payload.resize(of.payload);
        if (!usable) {
            block.block_ok.resize(of.blocks.blocks);
            block.iterations.resize(of.blocks.blocks);
            block.sinr_db = -INFINITY;
            continue;
        }
        const auto result = decoders[i]->decode(
            view<const int8_t>(bits[i]->llr),
            { of.layers, of.coding.order, order.redundancy_versions[i] },
            block.payload,
            held[i].received);
        block.ok = result.ok;
        block.block_ok = result.block_ok;
        block.iterations = result.iterations;
        block.sinr_db = bits[i]->sinr_db;
    }
}

reception receiver::user::measured() const
{
    reception out;
    const auto& p = channel->parameters();
    out.timing_offset = estimate.delay() / spacing_of(p);
    out.delay_spread = estimate.spread() / spacing_of(p);
    out.frequency_offset = estimate.in_time().knows_frequency
                               ? estimate.in_time().turns_a_symbol / symbol_of(p)
                               : NAN;
    out.doppler = estimate.in_time().doppler_turns / symbol_of(p);
    out.noise_variance = estimate.noise().mean;
    out.dmrs_snr_db =
        10 * std::log10(std::max(estimate.energy() / std::max(out.noise_variance, 1e-30),
                                 1e-10));
    return out;
}

std::vector<reception> receiver::run(view<const complex64> grid,
                                     int slot,
                                     const std::vector<reception_order>& orders)
{
    return std::move(run_slots(grid, { slot }, { orders }).front());
}

std::vector<std::vector<reception>> receiver::run_slots(view<const complex64> grids,
                                                        const std::vector<int>& slots,
                                                        const orders_of_slots& orders)
{
    require(orders.size() == slots.size(), "give orders for each slot");
    if (slots.empty()) {
        require(grids.empty(), "give the number of each slot");
        return {};
    }
    std::map<const harq*, size_t> bytes;
    std::set<std::pair<const harq*, int>> processes;
    bool at_once = d_gpu != nullptr;
    for (size_t i = 0; i < slots.size(); ++i) {
        check(grids.size() / slots.size(), slots[i], orders[i], bytes);
        for (const auto& order : orders[i]) {
            // What one slot leaves, the next one combines with.
            at_once =
                at_once && (!order.combining ||
                            processes.insert({ order.combining, order.process }).second);
        }
    }
    const size_t size = grids.size() / slots.size();
    require(grids.size() == size * slots.size(), "grids of the slots differ in size");
    const std::lock_guard<std::mutex> turn(d_turn);
    if (at_once) {
        return run_on_gpu(grids, slots, orders);
    }
    std::vector<std::vector<reception>> out;
    for (size_t i = 0; i < slots.size(); ++i) {
        const auto grid = grids.part(i * size, size);
        out.push_back(
            d_gpu ? std::move(run_on_gpu(grid, { slots[i] }, { orders[i] }).front())
                  : run_one(grid, slots[i], orders[i]));
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

std::vector<std::vector<reception>> receiver::run_on_gpu(view<const complex64> grids,
                                                         const std::vector<int>& slots,
                                                         const orders_of_slots& orders)
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
    std::vector<std::vector<std::vector<gpu_order>>> given(slots.size());
    for (size_t at = 0; at < slots.size(); ++at) {
        for (size_t u = 0; u < d_users.size(); ++u) {
            const auto& order = orders[at][u];
            auto& one = *d_users[u];
            harq::process_blocks* held = nullptr;
            if (order.combining) {
                held = &order.combining->prepare(
                    order.process, order.new_data, *one.channel, one.decoders, true);
            }
            std::vector<gpu_order> words;
            for (size_t i = 0; i < one.decoders.size(); ++i) {
                words.push_back({ order.redundancy_versions[i],
                                  held ? &(*held)[i].received : nullptr });
            }
            given[at].push_back(std::move(words));
        }
    }
    std::vector<std::vector<reception>> out;
    const auto found = d_gpu->run(grids, slots, given, out);
    for (size_t at = 0; at < slots.size(); ++at) {
        for (size_t u = 0; u < d_users.size(); ++u) {
            auto& got = out[at][u];
            const auto& channel = *d_users[u]->channel;
            const auto& p = channel.parameters();
            got.timing_offset /= spacing_of(p);
            got.delay_spread /= spacing_of(p);
            got.doppler /= symbol_of(p);
            const bool usable = found[at][u] > 0;
            if (usable) {
                got.frequency_offset = d_users[u]->estimate.layout().positions() > 1
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

std::vector<reception> receiver::run_one(view<const complex64> given,
                                         int slot,
                                         const std::vector<reception_order>& orders)
{
    std::vector<complex64> on_host;
    if (d_queue->where() == backend::cuda && gpu_of_pointer(given.data()) >= 0) {
        on_host.resize(given.size());
        d_queue->copy_out(on_host.data(), given.data(), given.size() * sizeof(complex64));
        d_queue->synchronize();
    }
    const auto grid = on_host.empty() ? given : view<const complex64>(on_host);
    std::vector<estimated_channel> channels;
    for (auto& one : d_users) {
        one->estimate.run(grid, slot);
        channels.push_back({ &one->estimate,
                             one->estimate.usable()
                                 ? common_phases(one->estimate, grid, slot)
                                 : std::vector<complex64>() });
    }
    std::vector<reception> out;
    for (size_t i = 0; i < d_users.size(); ++i) {
        auto& one = *d_users[i];
        const bool usable = one.estimate.usable();
        out.push_back(usable ? one.measured() : reception{});
        auto& got = out.back();
        got.codewords.resize(one.decoders.size());
        if (usable) {
            std::vector<estimated_channel> together;
            for (const auto* other : one.together) {
                together.push_back(channels[place_of(*other)]);
            }
            got.colored_noise =
                d_parameters.noise != noise_model::white && one.estimate.noise().colored;
            one.separation->run(together, grid, got.colored_noise, *d_queue);
            for (auto& part : one.bits) {
                part->run(*one.separation, slot, one.estimate.layout().time, *d_queue);
            }
        }
        one.decode(orders[i], usable, got);
        got.reason = reason_of(got, usable, one.estimate.present());
        for (auto& block : got.codewords) {
            block.payload = d_parameters.packed ? packed_bits(block.payload)
                                                : std::move(block.payload);
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
