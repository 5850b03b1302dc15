/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "arrays.h"
#include <gnuradio/cudaphy/kernels/bb_deframer.h>

namespace gr::cudaphy::bindings {

//! What a deframer, kernel or block, has counted.
template <typename Deframer>
py::dict counts_of(const Deframer& deframer)
{
    const auto counts = deframer.so_far();
    py::dict all;
    all["frames"] = counts.frames;
    all["bad_frames"] = counts.bad_frames;
    all["bad_headers"] = counts.bad_headers;
    all["transport_packets"] = counts.transport_packets;
    all["bad_packets"] = counts.bad_packets;
    all["lost_starts"] = counts.lost_starts;
    all["returned_nulls"] = counts.returned_nulls;
    all["other_streams"] = counts.other_streams;
    return all;
}

//! The last header that was right, or None.
template <typename Deframer>
py::object header_of(const Deframer& deframer)
{
    kernels::bb_header header;
    if (!deframer.last_header(header)) {
        return py::none();
    }
    constexpr const char* contents[] = {
        "packets", "continuous", "gse_hem", "transport"
    };
    constexpr double roll_offs[] = { 0.35, 0.25, 0.20 };
    py::dict all;
    all["content"] = contents[static_cast<int>(header.what)];
    all["single_stream"] = header.single_stream;
    all["constant_coding"] = header.constant_coding;
    all["isi"] = header.isi;
    if (header.roll_off < 3) {
        all["roll_off"] = roll_offs[header.roll_off];
    } else {
        all["roll_off"] = py::none();
    }
    all["packet_bits"] = header.packet_bits;
    all["data_bits"] = header.data_bits;
    return all;
}

} // namespace gr::cudaphy::bindings
