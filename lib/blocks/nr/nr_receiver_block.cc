/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_receiver_block.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace gr::cudaphy {
namespace {

constexpr size_t most_receivers = 16;
const pmt::pmt_t schedule_port = pmt::mp("schedule"), status_port = pmt::mp("status"),
                 ok_port = pmt::mp("ok"), fail_port = pmt::mp("fail");

void require(bool good, const std::string& problem)
{
    if (!good) {
        throw std::invalid_argument(problem);
    }
}

kernels::nr::receiver_parameters parameters_of(const nr_receiver_options& o)
{
    using kernels::nr::noise_model;
    kernels::nr::receiver_parameters p;
    p.estimator = kernels::pilot_method_from_name(o.estimator);
    require(
        o.interference == "auto" || o.interference == "white" || o.interference == "irc",
        "interference is \"auto\", \"white\" or \"irc\", not \"" + o.interference + "\"");
    p.noise = o.interference == "auto"    ? noise_model::automatic
              : o.interference == "white" ? noise_model::white
                                          : noise_model::colored;
    p.delay_spread = o.delay_spread;
    p.doppler = o.doppler;
    p.track_frequency = o.track_frequency;
    p.max_iterations = o.max_iterations;
    p.packed = o.packed;
    return p;
}

const kernels::nr::shared_channel_parameters&
first_of(const nr_shared_channel_receiver::channel_list& channels)
{
    require(!channels.empty() && channels.front(), "no channel is given");
    return channels.front()->parameters();
}

} // namespace

nr_receiver_block::nr_receiver_block(kernels::nr::link_direction link,
                                     const channel_list& channels,
                                     int antennas,
                                     const nr_receiver_options& options)
    : slot_block(
          options.length_tag_key.empty() ? nullptr : pmt::intern(options.length_tag_key),
          name_of(resolve(backend_from_name(options.backend), options.device).where),
          [this] { return frame_errors() + refused_packets(); }),
      d_link(link), d_antennas(antennas), d_options(options),
      d_backend(resolve(backend_from_name(options.backend), options.device)),
      d_parameters(parameters_of(options)), d_channels(channels),
      d_clock(first_of(channels).numerology,
              checked_slot(options.slot, first_of(channels).numerology)),
      d_schedule(channels.size(), d_clock.slots_a_frame(), options.slots),
      d_harq(options.processes, options.harq_bytes)
{
    check(channels);
    require(options.status_period == 0 ||
                (options.status_period >= 0.01 && options.status_period <= 3600),
            "status_period is 0, or 0.01 to 3600 seconds");
    // All channels together: whatever the receiver refuses is refused now.
    std::vector<nr_order> all(channels.size());
    for (size_t user = 0; user < all.size(); ++user) {
        all[user].user = user;
    }
    const auto& map = channels.front()->map();
    d_in = std::make_unique<packet_gatherer>(antennas,
                                             size_t(map.symbols) * map.subcarriers,
                                             d_length_key,
                                             receiver_of(all).slots_at_once(),
                                             d_backend.where == backend::cuda);
    message_port_register_in(schedule_port);
    set_msg_handler(schedule_port,
                    [this](const pmt::pmt_t& message) { take_message(message); });
    for (const auto& port : { ok_port, fail_port, status_port }) {
        message_port_register_out(port);
    }
    set_tag_propagation_policy(TPP_DONT);
}

void nr_receiver_block::check(const channel_list& channels) const
{
    const bool up = d_link == kernels::nr::link_direction::uplink;
    for (const auto& one : channels) {
        require(one && one->parameters().direction == d_link,
                up ? "a channel is none of \"pusch\"" : "a channel is none of \"pdsch\"");
    }
}

void nr_receiver_block::set_channels(const channel_list& channels)
{
    check(channels);
    channel_list before;
    {
        const std::lock_guard<std::mutex> turn(d_mutex);
        before = d_channels;
    }
    const auto& now = first_of(before);
    require(channels.size() == before.size(),
            "there are " + std::to_string(before.size()) +
                " channels; give as many new ones");
    for (const auto& one : channels) {
        const auto& p = one->parameters();
        require(p.numerology == now.numerology &&
                    p.extended_prefix == now.extended_prefix &&
                    p.grid_size == now.grid_size,
                "the new channels must have the numerology, prefix and grid_size of the "
                "old ones");
    }
    // Whatever the receiver refuses is refused now, in the caller's thread.
    kernels::nr::receiver tried(
        channels, d_antennas, d_parameters, d_backend.where, d_options.device);
    const std::lock_guard<std::mutex> turn(d_mutex);
    d_next_channels = channels;
}

double nr_receiver_block::average_iterations() const
{
    const auto all = d_status.all();
    return all.code_blocks ? double(all.iterations) / double(all.code_blocks) : 0;
}

double nr_receiver_block::average_sinr_db() const
{
    const auto all = d_status.all();
    return all.measured ? all.sinr_db / double(all.measured) : NAN;
}

bool nr_receiver_block::start()
{
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    d_clock = slot_clock(d_channels.front()->parameters().numerology, d_options.slot);
    d_schedule.clear();
    d_harq.clear();
    d_in->clear();
    d_expected.clear();
    d_complaint.clear();
    d_ended = false;
    if (d_options.status_period > 0) {
        d_reporter = std::thread([this] { report_status(); });
    }
    return block::start();
}

bool nr_receiver_block::stop()
{
    {
        const std::lock_guard<std::mutex> turn(d_report_mutex);
        d_ended = true;
    }
    d_report_end.notify_all();
    if (d_reporter.joinable()) {
        d_reporter.join();
    }
    return block::stop();
}

void nr_receiver_block::report_status()
{
    const auto period = std::chrono::duration<double>(d_options.status_period);
    std::string said;
    std::unique_lock<std::mutex> turn(d_report_mutex);
    while (!d_report_end.wait_for(turn, period, [this] { return d_ended; })) {
        std::string problem;
        const auto status = d_status.next(refused_packets(), problem);
        message_port_pub(status_port, status);
        if (problem != said) {
            if (!problem.empty()) {
                d_logger->warn("{}", problem);
            }
            said = problem;
        }
    }
}

int nr_receiver_block::general_work(int,
                                    gr_vector_int& ninput_items,
                                    gr_vector_const_void_star& in,
                                    gr_vector_void_star&)
{
    return guarded(
        [&] { run(*std::min_element(ninput_items.begin(), ninput_items.end()), in); });
}

void nr_receiver_block::run(size_t there, const gr_vector_const_void_star& in)
{
    const auto tags = next_tags(in.size(), there);
    size_t taken = 0;
    while (taken < there) {
        const size_t before = d_in->waiting();
        taken += d_in->take(in, taken, there, tags, nitems_read(0) + taken);
        if (d_in->waiting() > before) {
            expect();
        }
        if (d_in->full()) {
            receive_all();
        }
    }
    // What has come is received at once: slots wait for each other only if they came
    // while others were received.
    receive_all();
    consume_each(static_cast<int>(taken));
}

//! Sets the clock by the tags. \returns the slot's time, or null
pmt::pmt_t nr_receiver_block::read_slot()
{
    const auto& head = d_in->tags()[0];
    const auto slot = tag_number(head, slot_keys::slot);
    if (slot && !d_clock.set(*slot, tag_number(head, slot_keys::frame))) {
        complain("a tag says slot " + std::to_string(*slot) +
                 ", but a frame has slots 0 "
                 "to " +
                 std::to_string(d_clock.slots_a_frame() - 1) +
                 ", and frames are 0 to 1023 (TS 38.211, 4.3.2)");
    }
    for (size_t input = 1; slot && input < d_in->tags().size(); ++input) {
        const auto other = tag_number(d_in->tags()[input], slot_keys::slot);
        if (other && *other != *slot) {
            throw std::runtime_error(
                "input " + std::to_string(input) + " brings slot " +
                std::to_string(*other) + " while input 0 brings slot " +
                std::to_string(*slot) + ": the antennas' slots are not in step");
        }
    }
    return tag_value(head, slot_keys::rx_time);
}

std::vector<nr_order> nr_receiver_block::orders_of_tags()
{
    std::vector<nr_order> out;
    for (const auto& tag : d_in->tags()[0]) {
        if (!pmt::eqv(tag.key, slot_keys::schedule)) {
            continue;
        }
        try {
            for (auto& one : nr_orders(tag.value, d_channels.size())) {
                out.push_back(std::move(one));
            }
        } catch (const std::exception& problem) {
            refuse_order(problem.what());
        }
    }
    return out;
}

void nr_receiver_block::take_message(const pmt::pmt_t& message)
{
    try {
        for (const auto& one : nr_orders(message, d_channels.size())) {
            d_schedule.add(one);
        }
    } catch (const std::exception& problem) {
        refuse_order(problem.what());
    }
}

void nr_receiver_block::refuse_order(const std::string& problem)
{
    ++d_refused_orders;
    complain("an order is refused: " + problem);
}

void nr_receiver_block::complain(const std::string& problem)
{
    if (problem != d_complaint) { // not once a slot
        d_complaint = problem;
        d_logger->warn("{}", problem);
    }
}

//! The slot that came last.
void nr_receiver_block::expect()
{
    if (d_expected.empty()) {
        const std::lock_guard<std::mutex> turn(d_mutex);
        if (!d_next_channels.empty()) {
            d_channels = std::move(d_next_channels);
            d_next_channels.clear();
            d_receivers.clear();
        }
    }
    const auto rx_time = read_slot();
    const auto late = d_schedule.late();
    auto orders = d_schedule.next(d_clock.slot(), d_clock.frame(), orders_of_tags());
    for (auto i = late; i < d_schedule.late(); ++i) {
        refuse_order("its slot has passed");
    }
    d_status.slot(orders.size());
    if (!orders.empty()) {
        d_expected.push_back({ d_in->waiting() - 1,
                               d_clock.slot(),
                               d_clock.frame(),
                               rx_time,
                               std::move(orders) });
    }
    d_clock.advance(1);
}

//! How many slots from that one on go through the receiver together: neighbours with the
//! same users, of which none has a HARQ process again.
size_t nr_receiver_block::together(size_t first) const
{
    const auto& begin = d_expected[first];
    const auto same_user = [](const nr_order& a, const nr_order& b) {
        return a.user == b.user;
    };
    std::set<std::pair<size_t, int>> processes; // of a user
    size_t count = 0;
    for (; first + count < d_expected.size(); ++count) {
        const auto& slot = d_expected[first + count];
        if (slot.packet != begin.packet + count || !std::equal(slot.orders.begin(),
                                                               slot.orders.end(),
                                                               begin.orders.begin(),
                                                               begin.orders.end(),
                                                               same_user)) {
            break;
        }
        std::set<std::pair<size_t, int>> own;
        for (const auto& order : slot.orders) {
            if (order.process) {
                own.insert({ d_channels[order.user]->parameters().rnti, *order.process });
            }
        }
        const bool again = std::any_of(own.begin(), own.end(), [&](const auto& one) {
            return processes.count(one) > 0;
        });
        if (again) {
            break;
        }
        processes.insert(own.begin(), own.end());
    }
    return count;
}

void nr_receiver_block::receive_all()
{
    for (size_t first = 0; first < d_expected.size();) {
        const size_t count = together(first);
        receive(slots_view(d_expected).part(first, count));
        first += count;
    }
    d_expected.clear();
    d_in->release();
}

void nr_receiver_block::receive(slots_view slots)
{
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::vector<reception>> got;
    if (!received(slots, got)) {
        for (size_t i = 0; i < slots.size(); ++i) {
            receive(slots.part(i, 1));
        }
        return;
    }
    computed(slots.size() * slots[0].orders.size(), began);
    for (size_t i = 0; i < slots.size(); ++i) {
        for (size_t k = 0; k < got[i].size(); ++k) {
            keep_account_of(slots[i].orders[k], got[i][k]);
        }
    }
    for (size_t i = 0; i < slots.size(); ++i) {
        for (size_t k = 0; k < got[i].size(); ++k) {
            publish(slots[i], slots[i].orders[k], got[i][k]);
        }
    }
}

kernels::nr::receiver& nr_receiver_block::receiver_of(const std::vector<nr_order>& orders)
{
    std::vector<size_t> users;
    channel_list channels;
    for (const auto& one : orders) {
        users.push_back(one.user);
        channels.push_back(d_channels[one.user]);
    }
    auto found = std::find_if(d_receivers.begin(),
                              d_receivers.end(),
                              [&](const auto& one) { return one.first == users; });
    if (found == d_receivers.end()) {
        if (d_receivers.size() == most_receivers) {
            d_receivers.pop_back();
        }
        d_receivers.emplace_front(
            users,
            std::make_unique<kernels::nr::receiver>(
                channels, d_antennas, d_parameters, d_backend.where, d_options.device));
    } else {
        d_receivers.splice(d_receivers.begin(), d_receivers, found);
    }
    return *d_receivers.front().second;
}

std::vector<kernels::nr::reception_order>
nr_receiver_block::reception_orders(std::vector<nr_order>& orders,
                                    std::vector<harq_store::use>& kept)
{
    std::vector<kernels::nr::reception_order> out;
    for (auto& one : orders) {
        const auto& channel = *d_channels[one.user];
        kernels::nr::reception_order order;
        order.redundancy_versions.assign(one.redundancy_versions.begin(),
                                         one.redundancy_versions.begin() +
                                             channel.codewords().size());
        if (one.process) {
            const harq_store::use which{ channel.parameters().rnti, *one.process };
            auto problem = d_harq.problem(which, one.new_data, channel);
            for (const auto& other : kept) {
                if (other.rnti == which.rnti && other.process == which.process) {
                    problem = "two channels of the slot have the same HARQ process";
                }
            }
            if (problem.empty()) {
                order.combining = &d_harq.of(which.rnti);
                order.process = *one.process;
                order.new_data = one.new_data;
                kept.push_back(which);
            } else {
                refuse_order(problem + "; the transmission stands alone");
                one.process.reset();
            }
        }
        out.push_back(std::move(order));
    }
    return out;
}

//! False if several slots together would take more of HARQ's memory than there is.
bool nr_receiver_block::received(slots_view slots,
                                 std::vector<std::vector<reception>>& got)
{
    auto& with = receiver_of(slots[0].orders);
    std::vector<harq_store::use> kept;
    std::vector<std::vector<kernels::nr::reception_order>> given;
    std::vector<int> numbers;
    for (auto& one : slots) {
        given.push_back(reception_orders(one.orders, kept));
        numbers.push_back(one.slot);
    }
    while (got.empty()) {
        try {
            got = with.run_slots(
                d_in->items(slots[0].packet, slots.size()), numbers, given);
        } catch (const std::invalid_argument& problem) {
            // Only the memory of HARQ is left to be refused.
            if (kept.empty()) {
                throw;
            }
            if (slots.size() > 1) { // of one after the other less must be released
                return false;
            }
            if (d_harq.release_one(kept)) {
                continue;
            }
            refuse_order(problem.what() +
                         std::string("; the slot's transmissions stand alone"));
            kept.clear();
            for (size_t i = 0; i < given[0].size(); ++i) {
                given[0][i].combining = nullptr;
                given[0][i].new_data = true;
                slots[0].orders[i].process.reset();
            }
        }
    }
    return true;
}

void nr_receiver_block::keep_account_of(const nr_order& order, const reception& got)
{
    if (order.process) {
        const auto& channel = *d_channels[order.user];
        const bool done = std::all_of(got.codewords.begin(),
                                      got.codewords.end(),
                                      [](const auto& one) { return one.ok; });
        d_harq.used({ channel.parameters().rnti, *order.process }, channel, done);
    }
}

void nr_receiver_block::publish(const expected_slot& slot,
                                const nr_order& order,
                                const reception& got)
{
    auto common = order.metadata;
    const auto add = [](pmt::pmt_t& to, const char* name, const pmt::pmt_t& value) {
        to = pmt::dict_add(to, pmt::mp(name), value);
    };
    const auto real = [&](const char* name, double value) {
        add(common, name, pmt::from_double(value));
    };
    add(common, "user", pmt::from_long(static_cast<long>(order.user)));
    add(common, "rnti", pmt::from_long(d_channels[order.user]->parameters().rnti));
    add(common, "slot", pmt::from_long(slot.slot));
    add(common, "frame", pmt::from_long(slot.frame));
    add(common, "new_data", pmt::from_bool(order.new_data));
    if (order.process) {
        add(common, "process", pmt::from_long(*order.process));
    } else { // of a refused order
        common = pmt::dict_delete(common, pmt::mp("process"));
    }
    if (slot.rx_time) {
        add(common, "rx_time", slot.rx_time);
    }
    real("timing_offset", got.timing_offset);
    if (std::isfinite(got.frequency_offset)) {
        real("frequency_offset", got.frequency_offset);
    }
    real("noise_variance", got.noise_variance);
    real("delay_spread", got.delay_spread);
    real("doppler", got.doppler);
    real("dmrs_snr_db", got.dmrs_snr_db);
    add(common, "irc", pmt::from_bool(got.colored_noise));
    for (size_t i = 0; i < got.codewords.size(); ++i) {
        const auto& one = got.codewords[i];
        d_status.block(got, one);
        auto metadata = common;
        add(metadata, "codeword", pmt::from_long(static_cast<long>(i)));
        add(metadata, "redundancy_version", pmt::from_long(order.redundancy_versions[i]));
        add(metadata, "ok", pmt::from_bool(one.ok));
        add(metadata, "sinr_db", pmt::from_double(one.sinr_db));
        add(metadata,
            "iterations",
            pmt::from_long(
                one.iterations.empty()
                    ? 0
                    : *std::max_element(one.iterations.begin(), one.iterations.end())));
        add(metadata,
            "code_blocks",
            pmt::from_long(static_cast<long>(one.block_ok.size())));
        add(metadata,
            "failed_code_blocks",
            pmt::from_long(std::count(one.block_ok.begin(), one.block_ok.end(), 0)));
        if (!one.ok) {
            add(metadata, "reason", pmt::intern(got.reason));
        }
        message_port_pub(
            one.ok ? ok_port : fail_port,
            pmt::cons(metadata, pmt::init_u8vector(one.payload.size(), one.payload)));
    }
}

} // namespace gr::cudaphy
