/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "block_arguments.h"
#include <cmath>
#include <gnuradio/cudaphy/dvbs2_frame_sync.h>
#include <gnuradio/cudaphy/kernels/dvbs2_frame_sync.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::dvbs2_frame;

numpy_array<std::complex<float>> symbols_of(const dvbs2_frame& frame)
{
    return numpy_array<std::complex<float>>(
        static_cast<py::ssize_t>(frame.symbols.size()), frame.symbols.data());
}

std::string text_of(const dvbs2_frame& frame)
{
    return "<dvbs2_frame " + frame.mode.name() + " at " + std::to_string(frame.first) +
           ">";
}

//! From a symbol on, an offset is removed before, and the turns that this takes from it.
using carrier_change = std::tuple<size_t, double, double>;

//! The frames among all symbols of a stream.
std::vector<dvbs2_frame> frames_of(const numpy_array<std::complex<float>>& symbols,
                                   int gold_code,
                                   const std::vector<int>& pls,
                                   double most_frequency,
                                   bool reference,
                                   const std::vector<carrier_change>& changes)
{
    kernels::dvbs2_frame_sync::parameters how;
    how.gold_code = gold_code;
    how.pls = pls;
    how.most_frequency = most_frequency;
    how.reference = reference;
    const auto sync = kernels::dvbs2_frame_sync::make(how);
    const auto* const in = symbols.data();
    const auto count = static_cast<size_t>(symbols.size());
    std::vector<dvbs2_frame> all;
    const py::gil_scoped_release release;
    dvbs2_frame frame;
    const auto collect = [&] {
        while (sync->next(frame)) {
            all.push_back(std::move(frame));
        }
    };
    constexpr size_t part = 1 << 16;
    auto change = changes.begin();
    for (size_t first = 0; first < count;) {
        for (; change != changes.end() && std::get<0>(*change) <= first; ++change) {
            sync->removed(std::get<1>(*change), std::get<2>(*change));
        }
        const size_t most = change != changes.end() ? std::get<0>(*change) : count;
        const size_t now = std::min({ part, count - first, most - first });
        sync->take(in + first, now);
        collect();
        first += now;
    }
    sync->finish();
    collect();
    return all;
}

void bind_frames(py::module& m)
{
    py::class_<dvbs2_frame>(
        m, "dvbs2_frame", "A frame of DVB-S2 or S2X: what dvbs2_frames() returns.")
        .def_readonly("mode", &dvbs2_frame::mode, "What its header says, a dvb_mode.")
        .def_readonly("first",
                      &dvbs2_frame::first,
                      "The header's first symbol, counted from the first one given.")
        .def_readonly("frequency",
                      &dvbs2_frame::frequency,
                      "Of the carrier amid the frame, in cycles a symbol, with what was "
                      "removed before.")
        .def_readonly("noise_variance",
                      &dvbs2_frame::noise_variance,
                      "E|n|^2 beside symbols of unit energy.")
        .def_property_readonly(
            "es_n0",
            [](const dvbs2_frame& one) { return 10 * std::log10(one.es_n0()); },
            "In dB.")
        .def_property_readonly(
            "symbols",
            &symbols_of,
            "The data symbols, complex64, of unit mean energy: header, pilots, "
            "scrambling, frequency and phase are gone.")
        .def("__repr__", &text_of);
    m.def("_dvbs2_frames", &frames_of);
}

} // namespace

void bind_dvbs2_frame_sync(py::module& m)
{
    bind_frames(m);
    block_class<dvbs2_frame_sync>(
        m,
        "dvbs2_frame_sync",
        R"(Finds the frames of a DVB-S2 or S2X signal, and puts out their data symbols.

In: complex symbols, one sample each, of any amplitude, the carrier off by a quarter of the symbol
rate or less. Out: of each frame the data symbols as a packet: header, pilots and scrambling are gone,
frequency and phase are corrected, the mean energy is 1. Each frame's PLS code says its MODCOD (CCM,
VCM and ACM), its size and whether it has pilots. Frames from before the lock and the last one of the
stream come too; dummy frames are skipped.

gold_code: of the physical layer scrambling, 0 to 262142. pls: PLS codes of the frames that are put
out; empty: all. length_tag_key: names the tag with a packet's length. most_frequency: of the carrier
that is searched, in cycles a symbol, up to 0.25.

Tags on a packet's first symbol: the length tag, pls, modcod, constellation, bit_interleaver, ldpc_code,
bch_code, noise_variance, esn0 (dB), frequency (cycles a symbol, with what Symbol Sync removes), and rx_time, rx_rate and rx_freq that came since the frame before. A tag rx_time
behind the first symbol says that symbols are missing: the frame that is cut is dropped. Message ports:
noise_variance, a number a frame; status, a dictionary once a second.
Raises ValueError for a parameter out of range.)")
        .def(py::init(&dvbs2_frame_sync::make),
             py::arg("gold_code") = 0,
             py::arg("pls") = std::vector<int>{},
             py::arg("length_tag_key") = "packet_len",
             py::arg("most_frequency") = 0.25)
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
             "before.");
}

} // namespace gr::cudaphy::bindings
