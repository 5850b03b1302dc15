/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/packet_resync.h>

namespace gr::cudaphy::bindings {

void bind_packets(py::module& m)
{
    block_class<packet_resync>(
        m,
        "packet_resync",
        "Lets whole packets pass and drops those that a radio's overflow has torn, which "
        "a "
        "tag rx_time amid a packet tells. In and out: items of item_bytes. packet_length "
        "above 0: cuts a plain stream into packets, and keeps to their grid over gaps, "
        "by "
        "rx_time and the rate (sample_rate in items a second; 0: the tag rx_rate); 0: "
        "packets come with length tags. tolerance: items that a time may be off. stamp: "
        "sets rx_time on every packet. Message port gaps: a dictionary for each gap. "
        "Raises ValueError for a parameter out of range.")
        .def(py::init(&packet_resync::make),
             py::arg("item_bytes"),
             py::arg("packet_length") = 0,
             py::arg("sample_rate") = 0.0,
             py::arg("length_tag_key") = "packet_len",
             py::arg("tolerance") = 2,
             py::arg("stamp") = false)
        .def("packets", &packet_resync::packets, "Packets that left.")
        .def("gaps", &packet_resync::gaps, "Gaps that were seen.")
        .def("lost_items",
             &packet_resync::lost_items,
             "Items that the radio left out, where the gap's length is known.")
        .def("lost_packets",
             &packet_resync::lost_packets,
             "Packets that were torn, and those within gaps of known length.")
        .def("dropped_items",
             &packet_resync::dropped_items,
             "Items that came and did not leave.");
}

} // namespace gr::cudaphy::bindings
