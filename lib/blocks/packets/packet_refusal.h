/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <pmt/pmt.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief Why a packet is not processed.
 *
 * The reason becomes a PMT symbol, and PMT symbols are never freed. So a block has a few
 * reasons, the same for all packets. Numbers, which differ, go beside the reason.
 */
struct packet_refusal {
    std::string reason; //!< empty: the packet is processed
    int64_t received = 0,
            expected = 0; //!< items; above 0 only if the packet's length is wrong

    //! The packet's metadata with the reason and the numbers added.
    pmt::pmt_t add_to(pmt::pmt_t metadata) const
    {
        if (expected > 0) {
            metadata =
                pmt::dict_add(metadata, pmt::mp("received"), pmt::from_long(received));
            metadata =
                pmt::dict_add(metadata, pmt::mp("expected"), pmt::from_long(expected));
        }
        return pmt::dict_add(metadata, pmt::mp("reason"), pmt::intern(reason));
    }
};

} // namespace gr::cudaphy
