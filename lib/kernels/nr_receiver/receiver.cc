/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include "kernels/nr_receiver/common_phase.h"
#include "kernels/nr_receiver/soft_bits.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/receiver.h>

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

bool share_blocks(const resource_map& a, const resource_map& b)
{
    std::vector<int> both;
    std::set_intersection(a.blocks.begin(),
                          a.blocks.end(),
                          b.blocks.begin(),
                          b.blocks.end(),
                          std::back_inserter(both));
    return !both.empty();
}

bool share_symbols(const shared_channel_parameters& a, const shared_channel_parameters& b)
{
    return a.first_symbol < b.first_symbol + b.symbols &&
           b.first_symbol < a.first_symbol + a.symbols;
}

bool share_group(const resource_map& a, const resource_map& b)
{
    for (const auto& one : a.ports) {
        for (const auto& other : b.ports) {
            if (one.group == other.group) {
                return true;
            }
        }
    }
    return false;
}

//! Both send the same sequence on the resource blocks that they share.
bool same_sequence(const shared_channel& a, const shared_channel& b)
{
    const auto &p = a.parameters(), &q = b.parameters();
    if (p.transform_precoding || q.transform_precoding) {
        return p.transform_precoding == q.transform_precoding &&
               a.map().blocks == b.map().blocks && p.dmrs.n_rs_id == q.dmrs.n_rs_id &&
               p.dmrs.hopping == q.dmrs.hopping;
    }
    return p.dmrs.n_scid == q.dmrs.n_scid &&
           p.dmrs.n_id[p.dmrs.n_scid] == q.dmrs.n_id[q.dmrs.n_scid] &&
           p.grid_start - p.dmrs.reference_block == q.grid_start - q.dmrs.reference_block;
}

//! Two channels on the same resource blocks whose DM-RS tells them apart.
bool separable(const shared_channel& a, const shared_channel& b)
{
    const auto &p = a.parameters(), &q = b.parameters();
    if (p.dmrs.type != q.dmrs.type || a.map().dmrs_symbols != b.map().dmrs_symbols ||
        p.dmrs.length != q.dmrs.length) {
        return false;
    }
    for (const auto port : p.dmrs.ports) {
        if (std::count(q.dmrs.ports.begin(), q.dmrs.ports.end(), port)) {
            return false;
        }
    }
    // A group of one must be free of the other's data.
    for (const auto& port : a.map().ports) {
        if (port.group >= b.map().groups()) {
            return false;
        }
    }
    for (const auto& port : b.map().ports) {
        if (port.group >= a.map().groups()) {
            return false;
        }
    }
    return !share_group(a.map(), b.map()) || same_sequence(a, b);
}

} // namespace

struct receiver::user {
    user(shared_channel::sptr of,
         int antennas,
         const receiver_parameters& p,
         backend where,
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
            decoders.push_back(
                std::make_unique<decoder>(codeword.blocks, decoding, where, device));
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
    for (const auto& channel : channels) {
        const auto& other = channel->parameters();
        require(other.direction == first.direction &&
                    other.numerology == first.numerology &&
                    other.extended_prefix == first.extended_prefix &&
                    other.grid_start == first.grid_start &&
                    other.grid_size == first.grid_size,
                "channels that share a grid must have its link, numerology, prefix, "
                "grid_start and grid_size");
        d_users.push_back(std::make_unique<user>(
            channel, antennas, p, d_queue->where(), d_queue->device()));
    }
    for (auto& one : d_users) {
        int layers = one->channel->parameters().layers;
        one->together.push_back(one.get());
        for (auto& other : d_users) {
            const auto &a = *one->channel, &b = *other->channel;
            if (one == other || !share_blocks(a.map(), b.map()) ||
                !share_symbols(a.parameters(), b.parameters()) || !separable(a, b)) {
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
}

receiver::~receiver() = default;

void receiver::check(size_t grid,
                     int slot,
                     const std::vector<reception_order>& orders) const
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
    std::map<const harq*, size_t> bytes;
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
    check(grid.size(), slot, orders);
    const std::lock_guard<std::mutex> turn(d_turn);
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
                const size_t at =
                    std::find_if(d_users.begin(),
                                 d_users.end(),
                                 [&](const auto& u) { return u.get() == other; }) -
                    d_users.begin();
                together.push_back(channels[at]);
            }
            got.colored_noise =
                d_parameters.noise != noise_model::white && one.estimate.noise().colored;
            one.separation->run(together, grid, got.colored_noise, *d_queue);
            for (auto& part : one.bits) {
                part->run(*one.separation, *d_queue);
            }
        }
        one.decode(orders[i], usable, got);
        const bool ok = std::all_of(got.codewords.begin(),
                                    got.codewords.end(),
                                    [](const auto& block) { return block.ok; });
        got.reason = ok                       ? ""
                     : !usable                ? "not_finite"
                     : one.estimate.present() ? "crc"
                                              : "no_dmrs";
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
