/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/estimator_arguments.h"
#include "bindings/ldpc_arguments.h"
#include <variant>

namespace gr::cudaphy::bindings {
namespace {

using kernels::pilot_pattern;

py::array_t<complex64> pilots_of(const pilot_pattern& p)
{
    return py::array_t<complex64>({ p.symbols, p.tones, p.layers }, p.pilots.data());
}

void check_layers_and_tones(py::ssize_t layers, py::ssize_t tones, int wanted, int wide)
{
    if (layers != wanted || (tones && tones != wide)) {
        throw std::invalid_argument(
            "pilots are of " + std::to_string(layers) + " layers" +
            (tones ? " and " + std::to_string(tones) + " tones" : "") + ", wanted are " +
            std::to_string(wanted) + " and " + std::to_string(wide) +
            ": shape (pilot symbols, layers) or (pilot symbols, tones, layers)");
    }
}

} // namespace

void estimator_arguments::take(keywords& from)
{
    from.take("delay_spread", delay_spread);
    from.take("first_delay", first_delay);
    from.take("snr_db", snr_db);
    from.take("window", window);
    from.take("times", times);
    from.take("doppler", doppler);
    from.take("tone_numbers", tone_numbers);
    from.take("group_symbols", group_symbols);
    from.take("errors_as_noise", errors_as_noise);
}

kernels::channel_estimator::parameters estimator_parameters(int receive_antennas,
                                                            int layers,
                                                            int tones,
                                                            const estimator_arguments& a)
{
    kernels::channel_estimator::parameters p{ receive_antennas, layers, tones, {} };
    if (py::isinstance<pilot_pattern>(a.pilots)) {
        const auto& pattern = a.pilots.cast<const pilot_pattern&>();
        check_layers_and_tones(pattern.layers, pattern.tones, layers, tones);
        p = pattern.estimator(receive_antennas);
    } else {
        const auto pilots = a.pilots.cast<numpy_array<complex64>>();
        if (pilots.ndim() != 2 && pilots.ndim() != 3) {
            check_layers_and_tones(0, 0, layers, tones);
        }
        p.pilots_by_tone = pilots.ndim() == 3;
        check_layers_and_tones(pilots.shape(pilots.ndim() - 1),
                               p.pilots_by_tone ? pilots.shape(1) : 0,
                               layers,
                               tones);
        p.pilots.assign(pilots.data(), pilots.data() + pilots.size());
    }
    if (!a.tone_numbers.empty()) {
        p.tone_numbers = a.tone_numbers;
    }
    if (a.group_symbols) {
        p.group_symbols = a.group_symbols;
    }
    p.method = kernels::pilot_method_from_name(a.method);
    p.delay_spread = a.delay_spread;
    p.first_delay = a.first_delay;
    p.snr_db = a.snr_db;
    p.window = a.window;
    p.pilot_times = a.pilot_times;
    p.times = a.times;
    p.doppler = a.doppler;
    p.errors_as_noise = a.errors_as_noise;
    return p;
}

void bind_pilots(py::module& m)
{
    py::class_<pilot_pattern>(m,
                              "pilot_pattern",
                              "What each layer sends on each tone of the pilot symbols. "
                              "Taken by estimate_channel() and mimo_channel_estimator.")
        .def_property_readonly("pilots",
                               &pilots_of,
                               "complex64, (symbols, tones, layers); 0 where a layer is "
                               "silent")
        .def_readonly("tone_numbers",
                      &pilot_pattern::tone_numbers,
                      "of each tone, from the carrier")
        .def_readonly("group_symbols",
                      &pilot_pattern::group_symbols,
                      "symbols that tell the layers apart")
        .def_readonly("symbols", &pilot_pattern::symbols)
        .def_readonly("tones", &pilot_pattern::tones)
        .def_readonly("layers", &pilot_pattern::layers);
    m.def("_pseudo_random_bits", &kernels::pseudo_random_bits);
    m.def("comb_pilots",
          &kernels::comb_pilots,
          py::arg("symbols"),
          py::arg("layers"),
          py::arg("tones"),
          "Each layer on tones of its own: layer t on the tones k with k % layers == t, "
          "with energy `layers`, signs by the pseudo-random sequence of 3GPP TS 38.211, "
          "5.2.1. Raises ValueError out of range.");
    m.def("block_pilots",
          &kernels::block_pilots,
          py::arg("symbols"),
          py::arg("layers"),
          py::arg("tones"),
          "All layers on every tone, told apart over the symbols by orthogonal_pilots, "
          "with a pseudo-random sign for each tone. Raises ValueError unless 1 <= layers "
          "<= symbols.");
    m.def("ht_ltf_pilots",
          &kernels::ht_ltf_pilots,
          py::arg("streams"),
          py::arg("bandwidth_mhz") = 20,
          "HT-LTF of IEEE 802.11n for 1 to 4 streams with its P matrix (IEEE Std "
          "802.11-2020, 19.3.9.4.6): 56 tones, or 114 at 40 MHz; 1, 2, 4, 4 symbols. "
          "Raises ValueError out of range.");
    m.def(
        "nr_dmrs_pilots",
        [](const std::variant<int, std::vector<int>>& ports,
           int resource_blocks,
           const std::vector<int>& symbols,
           bool double_symbol,
           int slot,
           int scrambling_id,
           int n_scid,
           int first_block,
           float amplitude) {
            kernels::nr_dmrs d{ 0,        resource_blocks, symbols, double_symbol,
                                slot,     scrambling_id,   n_scid,  first_block,
                                amplitude };
            if (const auto* const count = std::get_if<int>(&ports)) {
                d.ports = *count;
            } else {
                d.port_numbers = std::get<1>(ports);
            }
            return kernels::nr_dmrs_pilots(d);
        },
        py::arg("ports"),
        py::arg("resource_blocks"),
        py::arg("symbols") = std::vector<int>{ 2 },
        py::arg("double_symbol") = false,
        py::arg("slot") = 0,
        py::arg("scrambling_id") = 0,
        py::arg("n_scid") = 0,
        py::arg("first_block") = 0,
        py::arg("amplitude") = 1.0f,
        "DM-RS of 5G NR's shared channels, configuration type 1 (3GPP TS 38.211, "
        "7.4.1.1). ports: how many from 1000 on, up to 4, or 8 with double symbols; or a "
        "list of those that the layers have, 0 for 1000: [2, 3] is the second CDM group. "
        "symbols: the first of each occasion in the slot. Raises ValueError out of "
        "range.");
}

} // namespace gr::cudaphy::bindings
