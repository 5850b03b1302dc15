/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/receiver_user.h"
#include "kernels/nr/require.h"
#include "kernels/nr_receiver/joint_users.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

using decoder = nr5g::transport_block_decoder;

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

receiver::user::user(shared_channel::sptr of,
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
        // On a GPU the receiver decodes; what it is in doubt of alone goes by these.
        decoders.push_back(std::make_unique<decoder>(
            codeword.blocks, decoding, where == backend::cuda ? backend::cpu : where));
        bits.push_back(
            std::make_unique<soft_bits>(channel, static_cast<int>(i), where, device));
        buffer_bytes += decoders.back()->make_buffer().bytes();
    }
}

receiver::user_list receiver::make_users() const
{
    user_list users;
    for (const auto& channel : d_channels) {
        users.push_back(std::make_unique<user>(
            channel, d_antennas, d_parameters, d_queue->where(), d_queue->device()));
    }
    for (auto& one : users) {
        int layers = one->channel->parameters().layers;
        one->together.push_back(one.get());
        for (auto& other : users) {
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
        if (d_queue->where() != backend::cuda) {
            one->separation =
                std::make_unique<layer_separation>(d_antennas, layers, d_queue->where());
        }
    }
    return users;
}

int receiver::place_of(const user& of, const user_list& users)
{
    const auto found = std::find_if(
        users.begin(), users.end(), [&](const auto& u) { return u.get() == &of; });
    return static_cast<int>(found - users.begin());
}

void receiver::user::decode(const reception_order& order,
                            harq::process_blocks* held,
                            bool usable,
                            reception& out)
{
    harq::process_blocks alone;
    if (!held) {
        for (const auto& one : decoders) {
            alone.push_back({ 0, 0, 0, one->make_buffer() });
        }
        held = &alone;
    }
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
            (*held)[i].received);
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

} // namespace gr::cudaphy::kernels::nr
