/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include <gnuradio/cudaphy/kernels/bb_deframer.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::bb_deframer;
using kernels::bb_header;

py::bytes bytes_of(const std::vector<uint8_t>& data)
{
    return { reinterpret_cast<const char*>(data.data()), data.size() };
}

//! frames: (batch, bytes), eight bits a byte; ok: (batch).
py::tuple take(bb_deframer& deframer,
               const numpy_array<uint8_t>& frames,
               const numpy_array<bool>& ok)
{
    bb_deframer::output all;
    const size_t each = frames.shape(1);
    for (py::ssize_t i = 0; i < frames.shape(0); ++i) {
        deframer.take(frames.data(i, 0), each, ok.at(i), all);
    }
    py::list packets;
    for (const auto& one : all.packets) {
        packets.append(py::make_tuple(
            bytes_of(one.data), one.isi, one.protocol, bytes_of(one.label)));
    }
    return py::make_tuple(bytes_of(all.transport), packets);
}

py::dict counts_of(const bb_deframer& deframer)
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

py::object header_of(const bb_deframer& deframer)
{
    bb_header header;
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

} // namespace

void bind_dvb(py::module& m)
{
    py::class_<bb_deframer>(m, "_bb_deframer")
        .def(py::init([](int isi, bool gse) {
            return bb_deframer::make({ isi, gse });
        }))
        .def("take", &take)
        .def("counts", &counts_of)
        .def("header", &header_of);
}

} // namespace gr::cudaphy::bindings
