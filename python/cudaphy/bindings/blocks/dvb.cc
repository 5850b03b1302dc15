/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/deframer_state.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/bb_deframer.h>
#include <gnuradio/cudaphy/dvbs2_frame_sync.h>
#include <optional>

namespace gr::cudaphy::bindings {

void bind_dvb_blocks(py::module& m)
{
    block_class<bb_deframer>(m, "bb_deframer", R"(Baseband deframer of DVB-S2 and S2X.

In: bytes, scrambled baseband frames as bch_decoder puts them out, a bit each. Out: bytes, whole
transport packets of 188. A tag 'bch_ok' of value false tells a frame that could not be decoded: its
packets have transport_error_indicator set. The tag 'discontinuity' (long: frames lost, 0: not known)
is on the first byte after a loss.

frame_bits: bits of a frame, k of the BCH code; 0: each packet is a frame.
isi: the input stream whose transport packets are put out, 0 to 255; None: the first one that comes.
gse: whether continuous generic streams are GSE; else a frame's data are a packet.
packed: eight bits a byte, the first one highest.
length_tag_key: names the tag with a packet's length in items; empty: a plain stream, which needs
frame_bits.

Message ports: 'packets': PDUs of GSE and generic packets with isi, protocol and label; 'frames': PDUs
of baseband frames without their scrambling, with ok and the header's fields; 'status': counts and last
header, at most once a second. What can't be taken for a frame (too long, torn, without a length tag)
is counted as one with a bad header.

Raises ValueError for a parameter out of range.)")
        .def(py::init([](int frame_bits,
                         std::optional<int> isi,
                         bool gse,
                         bool packed,
                         const std::string& length_tag_key) {
                 constexpr int any = kernels::bb_deframer::any_stream;
                 return bb_deframer::make(
                     frame_bits, isi.value_or(any), gse, packed, length_tag_key);
             }),
             py::arg("frame_bits") = 0,
             py::arg("isi") = py::none(),
             py::arg("gse") = true,
             py::arg("packed") = false,
             py::arg("length_tag_key") = "packet_len")
        .def("counts",
             &counts_of<bb_deframer>,
             "Since the flowgraph started, as a dict: frames, bad_frames (not decoded), "
             "bad_headers (whose data are lost), transport_packets, bad_packets (CRC "
             "wrong, or of a bad frame), lost_starts (times that packets had to be found "
             "anew), returned_nulls, other_streams (frames).")
        .def("header",
             &header_of<bb_deframer>,
             "The last header that was right, as a dict, or None.");

    block_class<dvbs2_frame_sync>(
        m,
        "dvbs2_frame_sync",
        R"(Finds the frames of a DVB-S2 or S2X signal, and puts out their data symbols.

In: complex symbols, one sample each, of any amplitude, the carrier off by a quarter of the symbol
rate or less. Out: of each frame the data symbols as a packet: header, pilots and scrambling are gone,
frequency and phase are corrected, the mean energy is 1. Each frame's PLS code says its MODCOD (CCM,
VCM and ACM), its size and whether it has pilots. Frames from before the lock and the last one of the
stream come too; dummy frames are skipped.

gold_code: of the physical layer scrambling, 0 to 262142. pls: of the frames that are put out, as
dvb_mode has them; empty: all. length_tag_key: names the tag with a packet's length. most_frequency: of the
carrier that is searched, in cycles a symbol, up to 0.25. vl_snr: look for VL-SNR frames of S2X too, down to
an Es/N0 of -10 dB; any of pls that is one, 256 and more, implies it. backend: that corrects the frames'
symbols: "auto", "cuda", "cpu" or "reference"; "auto" is the GPU if a block behind takes the symbols there,
else the CPU. device: index of the GPU.

Tags on a packet's first symbol: the length tag, pls, modcod, constellation, bit_interleaver, ldpc_code,
bch_code, noise_variance, esn0 (dB), frequency (cycles a symbol, with what Symbol Sync removes), and rx_time, rx_rate and rx_freq that came since the frame before. A tag rx_time
behind the first symbol says that symbols are missing: the frame that is cut is dropped. Message ports:
noise_variance, a number a frame; status, a dictionary once a second.
Raises ValueError for a parameter out of range, BackendUnavailable.)")
        .def(py::init(&dvbs2_frame_sync::make),
             py::arg("gold_code") = 0,
             py::arg("pls") = std::vector<int>{},
             py::arg("length_tag_key") = "packet_len",
             py::arg("most_frequency") = 0.25,
             py::arg("vl_snr") = false,
             py::arg("backend") = "auto",
             py::arg("device") = 0)
        .def("locked", &dvbs2_frame_sync::locked, "Whether headers are found.")
        .def("frames", &dvbs2_frame_sync::frames, "Frames put out.")
        .def("dummy_frames", &dvbs2_frame_sync::dummy_frames, "Dummy frames skipped.")
        .def("filtered",
             &dvbs2_frame_sync::filtered,
             "Frames of other PLS codes than those asked for.")
        .def("dropped",
             &dvbs2_frame_sync::dropped,
             "Frames that were cut where symbols are missing, as a tag rx_time tells.")
        .def("lost_locks",
             &dvbs2_frame_sync::lost_locks,
             "How often headers were no longer where they must be.")
        .def("frequency",
             &dvbs2_frame_sync::frequency,
             "Of the last frame, in cycles a symbol.")
        .def("esn0", &dvbs2_frame_sync::esn0, "Of the last frame, in dB.")
        .def("modcod",
             &dvbs2_frame_sync::modcod,
             "Of the last frame put out, such as \"QPSK 1/2 normal, pilots\"; empty "
             "before.")
        .def("backend",
             &dvbs2_frame_sync::backend,
             "In use: \"cuda\", \"cpu\" or \"reference\". Of \"auto\", once it has "
             "started.");
}

} // namespace gr::cudaphy::bindings
