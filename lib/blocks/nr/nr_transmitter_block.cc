/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_transmitter_block.h"
#include "blocks/nr/nr_order.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace gr::cudaphy {
namespace {

constexpr size_t most_waiting = 1024;
constexpr int patience = 20; // milliseconds that a call waits for a PDU
const pmt::pmt_t pdu_port = pmt::mp("pdus"), fail_port = pmt::mp("fail");

void require(bool good, const std::string& problem)
{
    if (!good) {
        throw std::invalid_argument(problem);
    }
}

size_t payload_of(const kernels::nr::shared_channel& channel)
{
    size_t sum = 0;
    for (const auto& one : channel.codewords()) {
        sum += one.payload;
    }
    return sum;
}

} // namespace

int nr_transmitter_block::streams(const kernels::nr::shared_channel::sptr& channel,
                                  const nr_transmitter_options& options)
{
    require(channel != nullptr, "no channel is given");
    const auto& p = channel->parameters();
    const auto& weights = options.precoding;
    if (weights.empty()) {
        return p.grid_ports();
    }
    require(p.direction == kernels::nr::link_direction::downlink,
            "precoding is of PDSCH; PUSCH has that of the channel's codebook (TS 38.211, "
            "6.3.1.5)");
    require(weights.size() % p.layers == 0,
            "precoding has " + std::to_string(weights.size()) +
                " weights; (antennas, layers) of " + std::to_string(p.layers) +
                " layers are expected");
    for (const auto& weight : weights) {
        require(std::isfinite(weight.real()) && std::isfinite(weight.imag()),
                "a weight of the precoding is not finite");
    }
    return checked_streams("antennas", static_cast<int>(weights.size() / p.layers));
}

nr_transmitter_block::nr_transmitter_block(
    kernels::nr::link_direction link,
    const kernels::nr::shared_channel::sptr& channel,
    const nr_transmitter_options& options)
    : slot_block(
          required_key(options.length_tag_key),
          name_of(resolve(backend_from_name(options.backend), options.device).where),
          [this] { return refused_packets(); }),
      d_link(link), d_options(options),
      d_backend(resolve(backend_from_name(options.backend), options.device)),
      d_streams(streams(channel, options)),
      d_clock(channel->parameters().numerology,
              checked_slot(options.slot, channel->parameters().numerology))
{
    check(channel);
    require(options.user >= 0, "user is the channel's index, 0 or above");
    d_transmitter = std::make_unique<kernels::nr::transmitter>(
        channel, d_backend.where, options.device);
    message_port_register_in(pdu_port); // without a handler: read by general_work()
    message_port_register_out(fail_port);
}

void nr_transmitter_block::check(const kernels::nr::shared_channel::sptr& channel) const
{
    const bool up = d_link == kernels::nr::link_direction::uplink;
    require(channel && channel->parameters().direction == d_link,
            up ? "the channel is none of \"pusch\"" : "the channel is none of \"pdsch\"");
}

void nr_transmitter_block::set_channel(kernels::nr::shared_channel::sptr channel)
{
    check(channel);
    const std::lock_guard<std::mutex> turn(d_mutex);
    const auto &now = d_transmitter->channel(), &then = *channel;
    require(streams(channel, d_options) == d_streams &&
                then.map().symbols == now.map().symbols &&
                then.map().subcarriers == now.map().subcarriers &&
                then.parameters().numerology == now.parameters().numerology,
            "the new channel must have the ports, symbols, subcarriers and numerology of "
            "the old one");
    d_next_channel = std::move(channel);
}

void nr_transmitter_block::take_channel()
{
    const std::lock_guard<std::mutex> turn(d_mutex);
    if (d_next_channel) {
        d_transmitter = std::make_unique<kernels::nr::transmitter>(
            std::move(d_next_channel), d_backend.where, d_options.device);
        d_next_channel = nullptr;
    }
}

bool nr_transmitter_block::start()
{
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    d_clock =
        slot_clock(d_transmitter->channel().parameters().numerology, d_options.slot);
    d_waiting.clear();
    forget_leaving();
    return block::start();
}

int nr_transmitter_block::general_work(int noutput_items,
                                       gr_vector_int&,
                                       gr_vector_const_void_star&,
                                       gr_vector_void_star& out)
{
    bool ended = false;
    const int done = guarded([&] {
        if (!leaving()) {
            take_pdus();
            const auto block = next_block();
            ended = !block && d_waiting.empty() && finished() && nmsgs(pdu_port) == 0;
            if (block || (d_options.every_slot && !ended)) {
                send(block);
            }
        }
        put_out(out, 0, noutput_items);
    });
    return ended ? int(WORK_DONE) : done;
}

//! Takes the PDUs that wait. Waits for one if there is nothing else to do: GNU Radio
//! calls a source that puts out nothing again and again.
void nr_transmitter_block::take_pdus()
{
    for (int i = 0; i < patience && d_waiting.empty() && nmsgs(pdu_port) == 0; ++i) {
        if (d_options.every_slot || finished()) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    take_channel();
    while (d_waiting.size() < most_waiting && nmsgs(pdu_port) > 0) {
        take(delete_head_nowait(pdu_port));
    }
}

void nr_transmitter_block::take(const pmt::pmt_t& pdu)
{
    auto metadata = pmt::make_dict();
    if (!pdu || !pmt::is_pair(pdu) || !pmt::is_u8vector(pmt::cdr(pdu)) ||
        !pmt::is_dict(pmt::car(pdu))) {
        refuse(metadata, pmt::init_u8vector(0, {}), { "the message is no PDU of bytes" });
        return;
    }
    metadata = pmt::car(pdu);
    const auto vector = pmt::cdr(pdu);
    size_t length = 0;
    const auto* const from = pmt::u8vector_elements(vector, length);
    const size_t bits = payload_of(d_transmitter->channel());
    if (length != bits && length != bits / 8) {
        refuse(metadata,
               vector,
               { "the PDU is no transport block of this channel",
                 static_cast<int64_t>(length),
                 static_cast<int64_t>(bits / 8) });
        return;
    }
    transport_block one;
    one.metadata = metadata;
    one.bits.resize(bits);
    for (size_t i = 0; i < bits; ++i) {
        one.bits[i] = length == bits ? from[i] & 1 : from[i / 8] >> (7 - i % 8) & 1;
    }
    try {
        one.redundancy_versions = redundancy_versions_in(metadata);
        one.slot = number_in(metadata, "slot");
        one.frame = number_in(metadata, "frame");
        auto clock = d_clock;
        require(!one.slot || clock.set(*one.slot, one.frame),
                "a frame has slots 0 to " + std::to_string(clock.slots_a_frame() - 1) +
                    ", and frames are 0 to 1023 (TS 38.211, 4.3.2)");
    } catch (const std::exception& problem) {
        d_logger->warn("a PDU is refused: {}", problem.what());
        refuse(metadata, vector, { "redundancy_version, slot or frame is wrong" });
        return;
    }
    d_waiting.push_back(std::move(one));
}

void nr_transmitter_block::refuse(const pmt::pmt_t& metadata,
                                  const pmt::pmt_t& vector,
                                  const packet_refusal& why)
{
    ++d_refused;
    message_port_pub(fail_port, pmt::cons(why.add_to(metadata), vector));
}

//! The transport block of the slot that leaves next, if there is one.
std::optional<nr_transmitter_block::transport_block> nr_transmitter_block::next_block()
{
    const auto is_due = [this](const transport_block& one) {
        return !d_options.every_slot || !one.slot ||
               (*one.slot == d_clock.slot() &&
                (!one.frame || *one.frame == d_clock.frame()));
    };
    const auto found = std::find_if(d_waiting.begin(), d_waiting.end(), is_due);
    if (found == d_waiting.end()) {
        return std::nullopt;
    }
    auto block = std::move(*found);
    d_waiting.erase(found);
    if (block.slot) {
        d_clock.set(*block.slot, block.frame);
    }
    return block;
}

std::vector<gr_complex> nr_transmitter_block::grid_of(const transport_block& block)
{
    const auto& channel = d_transmitter->channel();
    const size_t a_port = size_t(channel.map().symbols) * channel.map().subcarriers;
    std::vector<gr_complex> grid(a_port * channel.parameters().grid_ports());
    std::vector<view<const uint8_t>> payloads;
    size_t first = 0;
    for (const auto& one : channel.codewords()) {
        payloads.emplace_back(block.bits.data() + first, size_t(one.payload));
        first += one.payload;
    }
    d_transmitter->run(payloads,
                       d_clock.slot(),
                       { block.redundancy_versions.begin(),
                         block.redundancy_versions.begin() + payloads.size() },
                       grid);
    const auto& weights = d_options.precoding;
    if (weights.empty()) {
        return grid;
    }
    const size_t layers = channel.parameters().layers;
    std::vector<gr_complex> out(a_port * d_streams);
    for (size_t i = 0; i < weights.size(); ++i) {
        auto* const to = out.data() + i / layers * a_port;
        const auto* const from = grid.data() + i % layers * a_port;
        for (size_t k = 0; k < a_port; ++k) {
            to[k] += weights[i] * from[k];
        }
    }
    return out;
}

void nr_transmitter_block::send(const std::optional<transport_block>& block)
{
    const auto began = std::chrono::steady_clock::now();
    const auto& map = d_transmitter->channel().map();
    std::vector<tag_t> tags;
    add_slot(tags, d_clock);
    auto grid =
        block
            ? grid_of(*block)
            : std::vector<gr_complex>(size_t(d_streams) * map.symbols * map.subcarriers);
    if (block) {
        add_tag(tags,
                slot_keys::schedule,
                pmt::dict_add(
                    block->metadata, pmt::mp("user"), pmt::from_long(d_options.user)));
        const auto time =
            pmt::dict_ref(block->metadata, slot_keys::tx_time, pmt::PMT_NIL);
        if (!pmt::is_null(time)) {
            add_tag(tags, slot_keys::tx_time, time);
        }
        ++d_blocks;
        computed(1, began);
    }
    ++d_slots;
    leave(std::move(grid), tag_lists(d_streams, tags));
    d_clock.advance(1);
}

} // namespace gr::cudaphy
