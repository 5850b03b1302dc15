/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/nr_ofdm_demodulator.h>
#include <gnuradio/cudaphy/nr_ofdm_modulator.h>
#include <pybind11/stl.h>

namespace gr::cudaphy::bindings {
namespace {

//! The FFT of the functions nr_ofdm_modulate() and nr_ofdm_demodulate(), if none is
//! given.
int fft_size_for(int subcarriers, std::optional<int> given)
{
    int size = 128;
    while (size < subcarriers && size < 4096) {
        size *= 2;
    }
    return given.value_or(size);
}

kernels::nr::ofdm_parameters ofdm_of(int subcarriers,
                                     int numerology,
                                     std::optional<int> fft_size,
                                     bool extended_prefix,
                                     double carrier_frequency,
                                     int middle)
{
    kernels::nr::ofdm_parameters p;
    p.numerology = numerology;
    p.extended_prefix = extended_prefix;
    p.subcarriers = subcarriers;
    p.fft_size = fft_size_for(subcarriers, fft_size);
    p.carrier_frequency = carrier_frequency;
    p.middle = middle;
    return p;
}

bool starts_at_tag(const std::string& start)
{
    if (start == "first_sample" || start == "tag") {
        return start == "tag";
    }
    throw std::invalid_argument("start is \"first_sample\" or \"tag\", not \"" + start +
                                "\"");
}

} // namespace

void bind_nr_ofdm_blocks(py::module& m)
{
    block_class<nr_ofdm_modulator>(
        m,
        "nr_ofdm_modulator",
        R"(OFDM modulator of 5G NR: resource grids to samples (TS 38.211, 5.3.1 and 5.4).

Inputs, one a port: packets of complex items, the resource grid of a slot, (symbols, subcarriers). Outputs, one a port: a packet of the slot's samples. Tags on a packet's first item, in and out: slot (long, of the frame), frame (long, 0 to 1023); without them a slot is the one after the slot before. Slots that nothing came for are not sent. Other tags go to the slot's first sample.

subcarriers: of the grid, 1 to 3300. numerology: mu, 0 to 4. ports: 1 to 64. slot: of the first packet, if it has no tag slot. fft_size: samples of a symbol, a multiple of 128 (extended prefix: 4); None: the power of two at or above the subcarriers. extended_prefix: with numerology 2. carrier_frequency: f_0 of the phase compensation, Hz; 0: none. middle: k_0, subcarriers that the grid's middle lies above the carrier. window: samples that a slot's symbols overlap. length_tag_key: of packets in and out. The sample rate is 15 kHz * 2^mu * fft_size; transforms are scaled by 1 / sqrt(fft_size). Raises ValueError.)")
        .def(py::init([](int subcarriers,
                         int numerology,
                         int ports,
                         int slot,
                         std::optional<int> fft_size,
                         bool extended_prefix,
                         double carrier_frequency,
                         int middle,
                         int window,
                         const std::string& length_tag_key) {
                 auto p = ofdm_of(subcarriers,
                                  numerology,
                                  fft_size,
                                  extended_prefix,
                                  carrier_frequency,
                                  middle);
                 p.window = window;
                 return nr_ofdm_modulator::make(p, ports, slot, length_tag_key);
             }),
             py::arg("subcarriers"),
             py::arg("numerology") = 1,
             py::kw_only(),
             py::arg("ports") = 1,
             py::arg("slot") = 0,
             py::arg("fft_size") = py::none(),
             py::arg("extended_prefix") = false,
             py::arg("carrier_frequency") = 0.0,
             py::arg("middle") = 0,
             py::arg("window") = 0,
             py::arg("length_tag_key") = "packet_len")
        .def("sample_rate",
             &nr_ofdm_modulator::sample_rate,
             "Samples a second: 15 kHz * 2^numerology * fft_size.")
        .def("slots", &nr_ofdm_modulator::slots, "Slots that were modulated.")
        .def("refused_packets",
             &nr_ofdm_modulator::refused_packets,
             "Packets of another length than a slot's grid, and torn ones.");

    block_class<nr_ofdm_demodulator>(
        m,
        "nr_ofdm_demodulator",
        R"(OFDM demodulator of 5G NR: samples to resource grids (TS 38.211, 5.3.1 and 5.4).

Inputs, one an antenna: samples. Outputs, one an antenna: a packet for each slot, its resource grid (symbols, subcarriers), with the tags slot (long, of the frame), frame (long, 0 to 1023) and, if known, rx_time of the slot's first sample. Slots follow each other from the first sample or the first tag slot of input 0 on; each such tag says that this slot begins at its sample, with a tag frame beside it in that frame. If a tag rx_time shows that the radio lost samples, the slots with missing samples are dropped, and the slots' places and numbers are kept over the gap; if the time goes back, the block begins anew. Other tags but rx_rate go to the first item of their slot.

subcarriers, numerology, fft_size, extended_prefix, carrier_frequency, middle, length_tag_key: as of nr_ofdm_modulator. antennas: 1 to 64. slot: the one that begins at the first sample. start: "first_sample", or "tag": no slot before a tag slot. advance: samples that transforms start within the prefix, 0 to the shortest prefix; None: half of it. tolerance: samples that a time may be off. Raises ValueError.)")
        .def(py::init([](int subcarriers,
                         int numerology,
                         int antennas,
                         int slot,
                         const std::string& start,
                         std::optional<int> fft_size,
                         bool extended_prefix,
                         double carrier_frequency,
                         int middle,
                         std::optional<int> advance,
                         int tolerance,
                         const std::string& length_tag_key) {
                 nr_ofdm_demodulator_options options;
                 options.slot = slot;
                 options.start_at_tag = starts_at_tag(start);
                 if (advance && *advance < 0) {
                     throw std::invalid_argument(
                         "advance is None or 0 to the shortest prefix, in samples");
                 }
                 options.advance = advance.value_or(-1);
                 options.tolerance = tolerance;
                 options.length_tag_key = length_tag_key;
                 return nr_ofdm_demodulator::make(ofdm_of(subcarriers,
                                                          numerology,
                                                          fft_size,
                                                          extended_prefix,
                                                          carrier_frequency,
                                                          middle),
                                                  antennas,
                                                  options);
             }),
             py::arg("subcarriers"),
             py::arg("numerology") = 1,
             py::kw_only(),
             py::arg("antennas") = 1,
             py::arg("slot") = 0,
             py::arg("start") = "first_sample",
             py::arg("fft_size") = py::none(),
             py::arg("extended_prefix") = false,
             py::arg("carrier_frequency") = 0.0,
             py::arg("middle") = 0,
             py::arg("advance") = py::none(),
             py::arg("tolerance") = 2,
             py::arg("length_tag_key") = "packet_len")
        .def("sample_rate",
             &nr_ofdm_demodulator::sample_rate,
             "Samples a second: 15 kHz * 2^numerology * fft_size.")
        .def("slots", &nr_ofdm_demodulator::slots, "Slots that were demodulated.")
        .def("lost_slots",
             &nr_ofdm_demodulator::lost_slots,
             "Slots of which samples are missing.")
        .def("gaps", &nr_ofdm_demodulator::gaps, "Gaps that rx_time has shown.")
        .def("dropped_samples",
             &nr_ofdm_demodulator::dropped_samples,
             "Samples of each antenna that belong to no whole slot.");
}

} // namespace gr::cudaphy::bindings
