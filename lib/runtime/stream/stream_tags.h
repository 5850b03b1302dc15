/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/scheduler_port.h"
#include "runtime/stream/packet_cutter.h"
#include "runtime/stream/stream_ledger.h"
#include "runtime/stream/tag_writer.h"
#include <optional>

namespace gr::cudaphy {

//! How many frames of a batch are put out before each of them.
struct kept_frames {
    std::vector<int> before = {}; //!< empty if all are put out
    int operator[](int frame) const { return before.empty() ? frame : before[frame]; }
    bool keeps(int frame) const { return (*this)[frame + 1] > (*this)[frame]; }
};

/*!
 * \brief Carries the tags of input 0 to the items that were made from the tagged items,
 * and the length of each packet to its first item.
 */
class stream_tags
{
public:
    //! At a stream's start. \param length_key  empty: a stream without packets
    //! \param connected  how many of the outputs are connected
    void begin(scheduler_port& port,
               const std::vector<batch_kind>& kinds,
               const std::string& length_key,
               const pmt::pmt_t& source,
               size_t connected);

    std::optional<packet_cutter>& packets() { return d_packets; }
    const pmt::pmt_t& length_key() const { return d_length_key; }

    //! A tag of output 0, which write() puts out.
    void add(const tag_t& tag) { d_writers[0].add(tag); }
    void write(size_t output) { d_writers[output].write(*d_port->output_ring(output)); }

    /*!
     * Writes the tags of frames that are published next, before their items: once
     * published, items may be read at any moment.
     * \param first  the absolute item of input 0 of the first frame
     * \param published  frames that were published before
     * \param drops  whether the block drops frames: each of the others is then a packet
     * \param check  looks at the tags of input 0 that are carried
     */
    void carry(const frame_reservation& frames,
               const batch_kind& kind,
               uint64_t first,
               uint64_t published,
               const kept_frames& kept,
               bool drops,
               const std::function<void(const std::vector<tag_t>&)>& check);

private:
    scheduler_port* d_port = nullptr;
    size_t d_connected = 0;
    std::optional<packet_cutter> d_packets;
    pmt::pmt_t d_length_key, d_source;
    std::vector<tag_writer> d_writers; //!< one an output
};

} // namespace gr::cudaphy
