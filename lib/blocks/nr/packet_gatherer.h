/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/nr/slot_clock.h"
#include <gnuradio/block.h>

namespace gr::cudaphy {

/*!
 * \brief Gathers packets of one length from several streams that go in step.
 *
 * The first stream's length tags count. A packet of another length is passed over, and so
 * is the beginning of a packet within which another one begins.
 */
class packet_gatherer
{
public:
    packet_gatherer(size_t streams, size_t items, const pmt::pmt_t& length_key)
        : d_items(items), d_key(length_key), d_gathered(streams * items), d_tags(streams)
    {
    }

    /*!
     * Takes items up to the end of a packet.
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
    bool full() const { return d_filled == d_items; }
    //! (streams, items)
    const std::vector<gr_complex>& items() const { return d_gathered; }
    //! Of each stream, offsets from the packet's first item.
    const std::vector<std::vector<tag_t>>& tags() const { return d_tags; }
    void clear();
    //! Packets of another length, and torn ones.
    uint64_t refused() const { return d_refused; }

private:
    const size_t d_items;
    const pmt::pmt_t d_key;
    std::vector<gr_complex> d_gathered;
    std::vector<std::vector<tag_t>> d_tags;
    size_t d_filled = 0, d_skip = 0;
    std::atomic<uint64_t> d_refused{ 0 };
};

} // namespace gr::cudaphy
