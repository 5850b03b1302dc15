/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/ofdm_synchronizer.h>

namespace gr::cudaphy::bindings {

void bind_ofdm(py::module& m)
{
    block_class<ofdm_synchronizer>(
        m,
        "ofdm_synchronizer",
        "Finds OFDM frames in the samples of several receive antennas by a preamble "
        "whose "
        "halves are alike (Schmidl and Cox, and a matched filter), and puts out their "
        "symbols without cyclic prefix and carrier offset: in, a stream of samples an "
        "antenna; out, for each antenna, vectors of fft_size, `symbols` a frame. "
        "preamble: half a preamble symbol in samples; shifts: cyclic shifts of the "
        "transmit antennas' preambles; advance: samples by which the FFT's window begins "
        "early; most_offset: carrier offset to search for, in tone spacings; threshold: "
        "of the metric, 0: automatic. Tags on a frame's first vector: the length tag, "
        "carrier_offset (tone spacings), frame_start (sample), rx_time where it is "
        "known. "
        "Raises ValueError for a parameter out of range.")
        .def(py::init(&ofdm_synchronizer::make),
             py::arg("antennas"),
             py::arg("fft_size"),
             py::arg("cyclic_prefix"),
             py::arg("symbols"),
             py::arg("preamble"),
             py::arg("shifts") = std::vector<int>{ 0 },
             py::arg("advance") = 0,
             py::arg("most_offset") = 1.0,
             py::arg("threshold") = 0.0,
             py::arg("length_tag_key") = "packet_len",
             py::arg("sample_rate") = 0.0)
        .def("frames", &ofdm_synchronizer::frames, "Frames put out.")
        .def("false_alarms",
             &ofdm_synchronizer::false_alarms,
             "What repeated like a preamble, and was none.")
        .def("torn_frames",
             &ofdm_synchronizer::torn_frames,
             "Frames that had begun when the radio lost samples, as a tag rx_time tells.")
        .def("carrier_offset",
             &ofdm_synchronizer::carrier_offset,
             "Of the last frame, in tone spacings.");
}

} // namespace gr::cudaphy::bindings
