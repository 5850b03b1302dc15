/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/slot_clock.h"
#include <gnuradio/block.h>
#include <gnuradio/cudaphy/kernels/view.h>

namespace gr::cudaphy {

/*!
 * \brief Gathers packets of one length from several streams that go in step. Some wait
 * until they are taken together.
 *
 * The first stream's length tags count. A packet of another length is passed over, and so
 * is the beginning of a packet within which another one begins.
 */
class packet_gatherer
{
public:
    /*!
     * \param packets  that wait at most
     * \param for_gpu  they wait where a GPU copies from by itself, if there is such
     * memory
     */
    packet_gatherer(size_t streams,
                    size_t items,
                    const pmt::pmt_t& length_key,
                    size_t packets = 1,
                    bool for_gpu = false);

    /*!
     * Takes items up to the end of a packet. Not while `full`.
     * \param from   of each stream, the next item
     * \param there  items that each stream has
     * \param tags   of each stream, offsets from `from` less `done`
     * \param item   number of that item, for messages
     * \returns items taken
     * \throws std::runtime_error if a length tag is missing
     */
    size_t take(const gr_vector_const_void_star& from,
                size_t done,
                size_t there,
                const std::vector<std::vector<tag_t>>& tags,
                uint64_t item);
    //! Whole packets.
    size_t waiting() const { return d_waiting; }
    bool full() const { return d_waiting == d_packets || d_first + d_waiting == d_room; }
    //! Of `count` packets from `packet` on: (packets, streams, items)
    view<const gr_complex> items(size_t packet, size_t count) const
    {
        const size_t each = d_tags.size() * d_items;
        return { d_gathered.get() + (d_first + packet) * each, count * each };
    }
    //! Of each stream of the last whole packet, offsets from the packet's first item.
    const std::vector<std::vector<tag_t>>& tags() const { return d_whole_tags; }
    //! The whole packets have been taken.
    void release();
    void clear();
    //! Packets of another length, and torn ones.
    uint64_t refused() const { return d_refused; }

private:
    struct release_memory {
        bool page_locked;
        void operator()(gr_complex* memory) const;
    };
    using memory = std::unique_ptr<gr_complex[], release_memory>;
    static memory make(size_t items, bool for_gpu);
    void drop_begun();

    const size_t d_items, d_packets;
    const size_t d_room; //!< packets in memory, so that one begins while others wait
    const pmt::pmt_t d_key;
    const memory d_gathered; //!< (room, streams, items)
    std::vector<std::vector<tag_t>> d_tags, d_whole_tags;
    size_t d_first = 0, d_waiting = 0; //!< whole packets
    size_t d_filled = 0, d_skip = 0;   //!< of the one that begins behind them
    std::atomic<uint64_t> d_refused{ 0 };
};

} // namespace gr::cudaphy
