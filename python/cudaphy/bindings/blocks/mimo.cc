/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/estimator_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/mimo_channel_estimator.h>
#include <gnuradio/cudaphy/mimo_equalizer.h>

namespace gr::cudaphy::bindings {
void bind_mimo_blocks(py::module& m)
{
    block_class<mimo_channel_estimator>(
        m,
        "mimo_channel_estimator",
        "MIMO channel estimates by least squares or MMSE. In: received pilots, vectors "
        "of "
        "Nr complex, pilot symbols * tones items a slot. Out 0: channel matrices, "
        "vectors "
        "of Nr*Nt complex, one a tone (and one for each of `times`); out 1, which need "
        "not "
        "be connected: noise variance, one float a slot (one for each of `times`). "
        "pilots and what follows "
        "them: as in estimate_channel(); snr_db is the ratio that method \"mmse\" "
        "assumes." BATCH_ARGUMENTS_TEXT)
        .def(py::init([](int receive_antennas,
                         int layers,
                         int tones,
                         const py::object& pilots,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const std::string& method,
                         double delay_spread,
                         double first_delay,
                         double snr_db,
                         int window,
                         const std::vector<double>& pilot_times,
                         const std::vector<double>& times,
                         double doppler,
                         const std::vector<int>& tone_numbers,
                         int group_symbols,
                         bool errors_as_noise) {
                 return mimo_channel_estimator::make(
                     estimator_parameters(receive_antennas,
                                          layers,
                                          tones,
                                          { pilots,
                                            method,
                                            delay_spread,
                                            first_delay,
                                            snr_db,
                                            window,
                                            pilot_times,
                                            times,
                                            doppler,
                                            tone_numbers,
                                            group_symbols,
                                            errors_as_noise }),
                     length_tag_key,
                     backend,
                     device,
                     max_batch,
                     max_latency);
             }),
             py::arg("receive_antennas"),
             py::arg("layers"),
             py::arg("tones"),
             py::arg("pilots"),
             BATCH_ARGUMENTS,
             py::arg("method") = "ls",
             py::arg("delay_spread") = 0.02,
             py::arg("first_delay") = 0.0,
             py::arg("snr_db") = 20.0,
             py::arg("window") = 64,
             py::arg("pilot_times") = std::vector<double>{},
             py::arg("times") = std::vector<double>{},
             py::arg("doppler") = 0.0,
             py::arg("tone_numbers") = std::vector<int>{},
             py::arg("group_symbols") = 0,
             py::arg("errors_as_noise") = false)
        .def("backend", &mimo_channel_estimator::backend, "The backend in use.")
        .def("failures",
             &mimo_channel_estimator::failures,
             "Slots whose pilots were not finite.");

    block_class<mimo_equalizer>(
        m,
        "mimo_equalizer",
        "Separates spatial layers. In: y, vectors of Nr complex, symbols*tones a slot; "
        "then, "
        "each where it comes by a port, H, vectors of Nr*Nt complex, row by row, tones a "
        "slot; the noise variance (noise_input), one float a slot; the covariance of "
        "interference and noise, a vector of Nr*Nr complex a slot. Out 0: x, vectors of "
        "Nt "
        "complex; out 1, which need not be connected: noise variance after equalisation, "
        "vectors of Nt floats. method "
        "\"zf\", \"mmse\", \"mmse_irc\" or \"mrc\"; channel_from \"port\", \"tag\" (tags "
        "'channel' on y) or \"message\" (port channel); covariance_from \"none\", "
        "\"port\" "
        "or \"message\" (port covariance); route \"solve\" or \"inverse\". Without "
        "noise_input the noise variance is also set by tags 'noise_var' on y and "
        "messages "
        "on port noise_var. An unusable H gives x = 0, noise = inf and a tag "
        "'singular'." BATCH_ARGUMENTS_TEXT)
        .def(py::init(&mimo_equalizer::make),
             py::arg("receive_antennas"),
             py::arg("layers"),
             py::arg("method") = "mmse",
             py::arg("unbiased") = true,
             py::arg("symbols") = 1,
             py::arg("tones") = 1,
             py::arg("noise_input") = false,
             py::arg("noise_variance") = 0.01f,
             BATCH_ARGUMENTS,
             py::arg("channel_from") = "port",
             py::arg("covariance_from") = "none",
             py::arg("route") = "solve")
        .def("set_noise_variance",
             &mimo_equalizer::set_noise_variance,
             py::arg("noise_variance"),
             "E|n|^2 at a receive antenna, linear; from the next batch on.")
        .def("noise_variance", &mimo_equalizer::noise_variance, "As last set.")
        .def("backend", &mimo_equalizer::backend, "The backend in use.")
        .def("failures",
             &mimo_equalizer::failures,
             "Channel matrices that could not be used.");
}

} // namespace gr::cudaphy::bindings
