/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/deframer_state.h"
#include <gnuradio/cudaphy/kernels/dvb_mode.h>

namespace gr::cudaphy::bindings {
namespace {

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

py::object mode_of(int pls)
{
    const auto mode = kernels::dvb_mode::of(pls);
    return mode ? py::cast(*mode) : py::none();
}

//! Of VL-SNR frames both headers.
numpy_array<std::complex<float>> header_symbols(int pls)
{
    const auto header = kernels::pl_header(pls);
    std::vector<std::complex<float>> symbols(header.begin(), header.end());
    if (pls >= kernels::first_vl_snr) {
        const auto more = kernels::vl_snr_header(pls - kernels::first_vl_snr);
        symbols.insert(symbols.end(), more.begin(), more.end());
    }
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
reserved. VL-SNR frames have 256 and the number of their VL-SNR header: 256 to 261 and 265 to 267, 268 for
dummies; their PLS codes, 129 and 131, name no mode. (ETSI EN 302 307-1, 5.5.2; EN 302 307-2, tables 17a and
18b.))")
        .def_static("of", &mode_of, py::arg("pls"), "The mode of a PLS code, or None.")
        .def_readonly(
            "pls", &dvb_mode::pls, "The PLS code; 256 and more: a VL-SNR frame.")
        .def_readonly("dummy", &dvb_mode::dummy, "A frame without content.")
        .def_readonly("modulation", &dvb_mode::modulation, "Such as \"8PSK\".")
        .def_readonly("frame", &dvb_mode::frame, "\"normal\", \"short\" or \"medium\".")
        .def_readonly("rate", &dvb_mode::rate, "Of the LDPC code.")
        .def_readonly("extended", &dvb_mode::extended, "The LDPC code is one of S2X.")
        .def_readonly("pilots", &dvb_mode::pilots, "There are pilots.")
        .def_readonly("bits_a_symbol", &dvb_mode::bits_a_symbol, "1 to 8.")
        .def_readonly("repeats",
                      &dvb_mode::repeats,
                      "Times that each data symbol is sent: the spreading factor.")
        .def_property_readonly(
            "is_vl_snr", &dvb_mode::is_vl_snr, "It is the mode of a VL-SNR frame.")
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
}

} // namespace gr::cudaphy::bindings
