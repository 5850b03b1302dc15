/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <pmt/pmt.h>
#include <vector>

namespace gr::cudaphy {

//! What is expected of one channel in a slot.
struct nr_order {
    size_t user = 0;
    std::optional<int64_t> slot, frame;
    bool active = true;
    std::array<int, 2> redundancy_versions{}; //!< of each codeword
    std::optional<int> process;
    bool new_data = true;
    pmt::pmt_t metadata = pmt::make_dict();
};

/*!
 * \brief The orders in a message or a tag's value: a dictionary, a PDU, or a vector of
 * these.
 * \param users  channels that there are
 * \throws std::invalid_argument that says what is wrong
 */
std::vector<nr_order> nr_orders(const pmt::pmt_t& given, size_t users);

//! The metadata of a PDU, or the dictionary itself; null if it is neither.
pmt::pmt_t dictionary_of(const pmt::pmt_t& given);
//! Redundancy versions of both codewords from metadata. \throws std::invalid_argument
std::array<int, 2> redundancy_versions_in(const pmt::pmt_t& metadata);
//! \throws std::invalid_argument unless the value is missing or of the type
std::optional<int64_t> number_in(const pmt::pmt_t& metadata, const char* key);
std::optional<bool> bool_in(const pmt::pmt_t& metadata, const char* key);

/*!
 * \brief Which channels are expected in which slot: a pattern of the frame, what holds
 * until further notice, and what holds for single slots.
 */
class nr_schedule
{
public:
    //! \param slots  as nr_receiver_options has them
    nr_schedule(size_t users,
                int slots_a_frame,
                const std::vector<std::vector<int>>& slots);

    void clear(); //!< forgets all messages
    //! \throws std::invalid_argument if there is no such slot, or too many wait
    void add(const nr_order& order);
    //! The orders of a slot, ascending by user. Orders for it and for slots before are
    //! forgotten. \param of_tags  go before those of messages
    std::vector<nr_order> next(int slot, int frame, const std::vector<nr_order>& of_tags);
    uint64_t late() const { return d_late; } //!< orders whose slot had passed

private:
    static constexpr size_t most_waiting = 4096;

    const int d_slots_a_frame;
    std::vector<std::vector<bool>> d_pattern; //!< (users, slots of a frame)
    std::vector<nr_order> d_standing;         //!< of each user
    std::deque<nr_order> d_waiting;
    uint64_t d_late = 0;
};

} // namespace gr::cudaphy
