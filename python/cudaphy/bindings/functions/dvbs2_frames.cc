/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include <cmath>
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
                                   bool vl_snr,
                                   const std::string& where,
                                   int device,
                                   const std::vector<carrier_change>& changes)
{
    kernels::dvbs2_frame_sync::parameters how;
    how.gold_code = gold_code;
    how.pls = pls;
    how.most_frequency = most_frequency;
    how.vl_snr = vl_snr;
    how.where = backend_from_name(where);
    how.device = device;
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

} // namespace

void bind_dvbs2_frames(py::module& m)
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
            "In dB, of a symbol as it was sent.")
        .def_property_readonly(
            "symbols",
            &symbols_of,
            "The data symbols, complex64, of unit mean energy: header, pilots, "
            "scrambling, frequency and phase are gone. Of pi/2-BPSK 1 and -1 are left; "
            "what was sent repeatedly is added up.")
        .def("__repr__", &text_of);
    m.def("_dvbs2_frames", &frames_of);
}

} // namespace gr::cudaphy::bindings
