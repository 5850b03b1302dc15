/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/bb_deframer.h>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <optional>

namespace gr::cudaphy::bindings {
namespace {

using kernels::bb_header;

py::bytes bytes_of(const std::vector<uint8_t>& data)
{
    return { reinterpret_cast<const char*>(data.data()), data.size() };
}

//! frames: (batch, bytes), eight bits a byte; ok: (batch).
py::tuple take(kernels::bb_deframer& deframer,
               const numpy_array<uint8_t>& frames,
               const numpy_array<bool>& ok)
{
    kernels::bb_deframer::output all;
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

py::object mode_of(int pls)
{
    const auto mode = kernels::dvb_mode::of(pls);
    return mode ? py::cast(*mode) : py::none();
}

numpy_array<std::complex<float>> header_symbols(int pls)
{
    const auto symbols = kernels::pl_header(pls);
    return numpy_array<std::complex<float>>(symbols.size(), symbols.data());
}

py::tuple decided(const numpy_array<std::complex<float>>& symbols)
{
    if (symbols.size() != 64) {
        throw std::invalid_argument("a PLS code has 64 symbols");
    }
    const auto found = kernels::decide_pls(symbols.data());
    return py::make_tuple(found.pls, found.correlation, found.second);
}

void bind_modes(py::module& m)
{
    using kernels::dvb_mode;
    py::class_<dvb_mode>(
        m,
        "dvb_mode",
        R"(What a physical layer header of DVB-S2 or S2X says of its frame.

dvb_mode.of(pls): by the PLS code, 0 to 255 (its lowest bit says pilots); None for codes that are
reserved, and for VL-SNR frames. (ETSI EN 302 307-1, 5.5.2; EN 302 307-2, table 17a.))")
        .def_static("of", &mode_of, py::arg("pls"), "The mode of a PLS code, or None.")
        .def_readonly("pls", &dvb_mode::pls, "The PLS code.")
        .def_readonly("dummy", &dvb_mode::dummy, "A frame without content.")
        .def_readonly("modulation", &dvb_mode::modulation, "Such as \"8PSK\".")
        .def_readonly("frame", &dvb_mode::frame, "\"normal\" or \"short\".")
        .def_readonly("rate", &dvb_mode::rate, "Of the LDPC code.")
        .def_readonly("extended", &dvb_mode::extended, "The LDPC code is one of S2X.")
        .def_readonly("pilots", &dvb_mode::pilots, "There are pilots.")
        .def_readonly("bits_a_symbol", &dvb_mode::bits_a_symbol, "1 to 8.")
        .def_readonly("rings", &dvb_mode::rings, "Of APSK, from the inside.")
        .def_property_readonly(
            "bit_interleaver",
            &dvb_mode::bit_interleaver,
            "The block interleaver's columns in the order in which a symbol's "
            "bits are read from them, such as \"012\"; empty: there is none.")
        .def_property_readonly(
            "constellation", &dvb_mode::constellation, "Such as \"dvbs2_16apsk_2/3\".")
        .def_property_readonly("code",
                               &dvb_mode::code,
                               "Names the LDPC and the BCH code: \"dvbs2_normal_1/2\".")
        .def_property_readonly("symbols", &dvb_mode::symbols, "Symbols that carry bits.")
        .def_property_readonly("length", &dvb_mode::length, "Symbols of the frame.")
        .def("__repr__", &dvb_mode::name);
    m.def("_pl_header", &header_symbols);
    m.def("_decide_pls", &decided);
}

} // namespace

void bind_dvb(py::module& m)
{
    bind_modes(m);
    using reader = kernels::bb_deframer;
    py::class_<reader>(m, "_bb_frame_reader")
        .def(py::init([](int isi, bool gse) {
            return reader::make({ isi, gse });
        }))
        .def("take", &take)
        .def("counts", &counts_of<reader>)
        .def("header", &header_of<reader>);
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
}

} // namespace gr::cudaphy::bindings
