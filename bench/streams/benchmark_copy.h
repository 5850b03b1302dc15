/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/blocks/copy.h>

namespace gr::cudaphy::benchmarks {

//! GNU Radio's Copy with at least `ring_items` in the ring behind it; 0: 64 KiB. The size
//! is set for port 0, because the setting for all ports has no effect: Copy may have any
//! number of ports.
inline gr::blocks::copy::sptr make_copy(size_t item_bytes, long ring_items)
{
    auto made = gr::blocks::copy::make(item_bytes);
    if (ring_items) {
        made->set_min_output_buffer(0, ring_items);
    }
    return made;
}

} // namespace gr::cudaphy::benchmarks
