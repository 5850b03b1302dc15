/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief Lets whole packets pass, drops those that the radio has torn, and counts the
 * loss.
 * \ingroup cudaphy
 *
 * A radio that overflows leaves samples out and says so by a new tag `rx_time` on the
 * first sample after the gap (gr-uhd and gr-soapy, which set `rx_rate` and `rx_freq`
 * beside it). In and out: items of `item_bytes`; every packet that leaves is whole.
 *
 * With `packet_length` above 0 the input is a plain stream, cut into packets of that many
 * items from its first one on. If `rx_time` shows a gap, the packet in which the gap lies
 * is dropped. The next packet begins where it would have without the gap: the time gives
 * the gap's length to the sample, whole lost packets included. Without a rate the gap's
 * length is unknown, and a packet begins at the tag.
 *
 * With `packet_length` 0 the input brings length tags. A packet in which a gap lies, or
 * in which another one begins, is dropped. So are items outside of packets.
 *
 * A tag whose time is the expected one, to within `tolerance` items, shows no gap. The
 * rate is `sample_rate`, or if that is 0, the last tag `rx_rate`. The tags rx_time,
 * rx_rate and rx_freq of dropped items go to the head of the next packet, with the time
 * of that head. All other tags stay on their items, or are dropped with them.
 *
 * Message port `gaps`: a dictionary for each gap with `item` (uint64, of the input),
 * `lost_items` (uint64; 0: unknown), `lost_packets` (uint64) and `rx_time`.
 */
class CUDAPHY_API packet_resync : virtual public gr::block
{
public:
    typedef std::shared_ptr<packet_resync> sptr;

    /*!
     * \param item_bytes     of an item, 1..2^20
     * \param packet_length  items of every packet, or 0: by their length tags; a packet
     *                       has 2^28 bytes at most
     * \param sample_rate    items a second, or 0: by the tag rx_rate
     * \param length_tag_key of the packets that leave, and of those that come
     * \param tolerance      items that a time may be off, 0..2^20
     * \param stamp          sets rx_time on every packet, if a time and a rate are known
     * \throws std::invalid_argument if a parameter is out of range
     */
    static sptr make(size_t item_bytes,
                     uint64_t packet_length = 0,
                     double sample_rate = 0,
                     const std::string& length_tag_key = "packet_len",
                     uint64_t tolerance = 2,
                     bool stamp = false);

    virtual uint64_t packets() const = 0;      //!< that left
    virtual uint64_t gaps() const = 0;         //!< that were seen
    virtual uint64_t lost_items() const = 0;   //!< by the gaps whose length is known
    virtual uint64_t lost_packets() const = 0; //!< torn ones, and those within known gaps
    virtual uint64_t dropped_items() const = 0; //!< that came and did not leave
};

} // namespace gr::cudaphy
