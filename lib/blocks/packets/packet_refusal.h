/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <pmt/pmt.h>
#include <string>

namespace gr::cudaphy {

/*!
 * \brief Why a packet is not processed.
 *
 * The reason becomes a PMT symbol, and those are never freed: a block has a few of them,
 * the same for all packets. What differs goes beside it, as numbers.
 */
struct packet_refusal {
    std::string reason; //!< empty: there is none
    int64_t received = 0,
            expected = 0; //!< items; where a length is wrong, expected is above 0

    //! The packet's metadata with this in it.
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
