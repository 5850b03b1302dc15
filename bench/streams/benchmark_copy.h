/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/blocks/copy.h>

namespace gr::cudaphy::benchmarks {

//! GNU Radio's Copy, with room for so many items in the ring behind it; 64 KiB where it
//! is 0. Said of all its ports at once, it would have no effect: Copy may have any
//! number.
inline gr::blocks::copy::sptr make_copy(size_t item_bytes, long ring_items)
{
    auto made = gr::blocks::copy::make(item_bytes);
    if (ring_items) {
        made->set_min_output_buffer(0, ring_items);
    }
    return made;
}

} // namespace gr::cudaphy::benchmarks
