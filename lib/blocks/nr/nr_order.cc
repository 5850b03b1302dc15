/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/nr/nr_order.h"
#include "runtime/stream/pmt_number.h"
#include <stdexcept>
#include <string>

namespace gr::cudaphy {
namespace {

[[noreturn]] void refuse(const std::string& problem)
{
    throw std::invalid_argument(problem);
}

pmt::pmt_t value_in(const pmt::pmt_t& metadata, const char* key)
{
    return pmt::dict_ref(metadata, pmt::mp(key), pmt::PMT_NIL);
}

int checked_version(int64_t version)
{
    if (version < 0 || version > 3) {
        refuse("redundancy_version is " + std::to_string(version) +
               "; allowed: 0 to 3 (TS 38.212, 5.4.2.1)");
    }
    return static_cast<int>(version);
}

} // namespace

std::optional<int64_t> number_in(const pmt::pmt_t& metadata, const char* key)
{
    const auto value = value_in(metadata, key);
    if (pmt::is_null(value)) {
        return std::nullopt;
    }
    const auto number = whole_number(value);
    if (!number) {
        refuse(std::string(key) + " is no whole number");
    }
    return number;
}

std::optional<bool> bool_in(const pmt::pmt_t& metadata, const char* key)
{
    const auto value = value_in(metadata, key);
    if (pmt::is_null(value)) {
        return std::nullopt;
    }
    if (!pmt::is_bool(value)) {
        refuse(std::string(key) + " is neither true nor false");
    }
    return pmt::to_bool(value);
}

std::array<int, 2> redundancy_versions_in(const pmt::pmt_t& metadata)
{
    const auto value = value_in(metadata, "redundancy_version");
    if (pmt::is_s32vector(value)) {
        const auto versions = pmt::s32vector_elements(value);
        if (versions.empty() || versions.size() > 2) {
            refuse("redundancy_version has " + std::to_string(versions.size()) +
                   " items; one for each of 1 or 2 codewords is expected");
        }
        return { checked_version(versions.front()), checked_version(versions.back()) };
    }
    const int version =
        checked_version(number_in(metadata, "redundancy_version").value_or(0));
    return { version, version };
}

pmt::pmt_t dictionary_of(const pmt::pmt_t& given)
{
    if (pmt::is_pair(given) && pmt::is_uniform_vector(pmt::cdr(given))) {
        return dictionary_of(pmt::car(given));
    }
    return pmt::is_null(given) ? pmt::make_dict() : pmt::is_dict(given) ? given : nullptr;
}

std::vector<nr_order> nr_orders(const pmt::pmt_t& given, size_t users)
{
    if (pmt::is_vector(given)) {
        std::vector<nr_order> out;
        for (size_t i = 0; i < pmt::length(given); ++i) {
            for (auto& one : nr_orders(pmt::vector_ref(given, i), users)) {
                out.push_back(std::move(one));
            }
        }
        return out;
    }
    const auto metadata = dictionary_of(given);
    if (!metadata) {
        refuse("an order is a dictionary, a PDU or a vector of these");
    }
    nr_order one;
    one.metadata = metadata;
    const auto user = number_in(metadata, "user").value_or(0);
    if (user < 0 || size_t(user) >= users) {
        refuse("user is " + std::to_string(user) + "; there are channels 0 to " +
               std::to_string(users - 1));
    }
    one.user = static_cast<size_t>(user);
    one.slot = number_in(metadata, "slot");
    one.frame = number_in(metadata, "frame");
    one.active = bool_in(metadata, "active").value_or(true);
    one.redundancy_versions = redundancy_versions_in(metadata);
    one.new_data = bool_in(metadata, "new_data").value_or(true);
    if (const auto process = number_in(metadata, "process")) {
        if (*process < 0 || *process > 31) {
            refuse("process is " + std::to_string(*process) +
                   "; HARQ has processes 0 to 31 at most (TS 38.214, 5.1 and 6.1)");
        }
        one.process = static_cast<int>(*process);
    }
    return { one };
}

nr_schedule::nr_schedule(size_t users,
                         int slots_a_frame,
                         const std::vector<std::vector<int>>& slots)
    : d_slots_a_frame(slots_a_frame),
      d_pattern(users, std::vector<bool>(slots_a_frame, slots.empty()))
{
    if (!slots.empty() && slots.size() != users) {
        refuse("slots has " + std::to_string(slots.size()) + " lists; there are " +
               std::to_string(users) + " channels");
    }
    for (size_t user = 0; user < slots.size(); ++user) {
        for (const int slot : slots[user]) {
            if (slot < 0 || slot >= slots_a_frame) {
                refuse("slots: " + std::to_string(slot) + "; a frame has slots 0 to " +
                       std::to_string(slots_a_frame - 1) + " (TS 38.211, 4.3.2)");
            }
            d_pattern[user][slot] = true;
        }
    }
    clear();
}

void nr_schedule::clear()
{
    d_waiting.clear();
    d_standing.assign(d_pattern.size(), {});
    for (size_t user = 0; user < d_standing.size(); ++user) {
        d_standing[user].user = user;
    }
}

void nr_schedule::add(const nr_order& order)
{
    if (!order.slot) {
        d_standing[order.user] = order;
        return;
    }
    if (*order.slot < 0 || *order.slot >= d_slots_a_frame ||
        (order.frame && (*order.frame < 0 || *order.frame >= 1024))) {
        refuse("slot is " + std::to_string(*order.slot) + "; a frame has slots 0 to " +
               std::to_string(d_slots_a_frame - 1) +
               ", and frames are 0 to 1023 (TS 38.211, 4.3.2)");
    }
    if (d_waiting.size() >= most_waiting) {
        refuse("orders for " + std::to_string(most_waiting) +
               " slots wait; no further one is taken");
    }
    d_waiting.push_back(order);
}

std::vector<nr_order>
nr_schedule::next(int slot, int frame, const std::vector<nr_order>& of_tags)
{
    std::vector<nr_order> now = d_standing;
    for (size_t user = 0; user < now.size(); ++user) {
        now[user].active = now[user].active && d_pattern[user][slot];
    }
    const int64_t all = int64_t{ 1024 } * d_slots_a_frame;
    for (auto one = d_waiting.begin(); one != d_waiting.end();) {
        int64_t ahead = *one->slot == slot ? 0 : 1;
        if (one->frame) {
            const int64_t to_come = (*one->frame - frame) * d_slots_a_frame + *one->slot;
            ahead = (to_come - slot + all) % all;
            ahead = ahead > all / 2 ? -1 : ahead;
        }
        if (ahead == 0) {
            now[one->user] = *one;
        }
        d_late += ahead < 0;
        one = ahead <= 0 ? d_waiting.erase(one) : one + 1;
    }
    for (const auto& one : of_tags) {
        now[one.user] = one;
    }
    std::vector<nr_order> out;
    for (auto& one : now) {
        if (one.active) {
            out.push_back(std::move(one));
        }
    }
    return out;
}

} // namespace gr::cudaphy
