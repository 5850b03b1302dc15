/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/symbol_sync.h>

namespace gr::cudaphy::bindings {

void bind_symbols_blocks(py::module& m)
{
    block_class<symbol_sync>(
        m,
        "symbol_sync",
        R"(Root-raised-cosine matched filter, symbol timing recovery and gain control.

In: samples of a linear modulation; out: one complex sample a symbol, of unit mean energy.
samples_per_symbol: nominal, 1.5 to 16, any real number; clock errors up to 200 ppm are followed.
roll_off: 0.02 to 1, and at most samples_per_symbol - 1. type: "complex", "sc16" (pairs of int16,
32768 counts as 1) or "sc8" (pairs of int8, 128 counts as 1). span: symbols on either side that the
matched filter sums up, 1 to 128; 0: the greater of 8 and 2 / roll_off. averaging: symbols that an
instant is estimated from, 1 to 131072; 0: 1536 / roll_off; half of them are delay. most_offset:
of the carrier, that is searched for and removed, in symbol rates, 0 to 0.5; 0: none; what is at most
roll_off / 8 stays. sample_rate: in Hz, for rx_time where no rx_rate comes; 0: none. backend: "auto", "cuda", "cpu" or "reference";
device: index of the GPU.

No symbol is lost at the stream's beginning or end, nor at a gap that a tag rx_time shows. Each tag
goes to the nearest symbol; rx_rate becomes the symbol rate. A tag
carrier_offset (in symbol rates) says what is removed from its symbol on; carrier_turns (in cycles), what
that has taken from this symbol more than the offset before would have. Message port samples_per_symbol sets the
nominal rate; message port status gives a dictionary once a second.
Raises ValueError for a parameter out of range, BackendUnavailable if the backend can't be had.)")
        .def(py::init(&symbol_sync::make),
             py::arg("samples_per_symbol"),
             py::arg("roll_off") = 0.2,
             py::arg("type") = "complex",
             py::arg("span") = 0,
             py::arg("averaging") = 0,
             py::arg("most_offset") = 0.25,
             py::arg("sample_rate") = 0.0,
             py::arg("backend") = "auto",
             py::arg("device") = 0)
        .def("set_samples_per_symbol",
             &symbol_sync::set_samples_per_symbol,
             py::arg("samples_per_symbol"),
             "From the next sample on. Raises ValueError if it is out of range.")
        .def("samples_per_symbol",
             &symbol_sync::samples_per_symbol,
             "Measured; nominal at first.")
        .def("clock_error",
             &symbol_sync::clock_error,
             "How much higher the symbol rate is than the nominal one, in ppm.")
        .def("line",
             &symbol_sync::line,
             "Strength of the symbol rate's line, 0 to 1; about 0.03 for noise alone.")
        .def("locked",
             &symbol_sync::locked,
             "Whether the line is at least 2.5 times as strong as noise makes one.")
        .def("level",
             &symbol_sync::level,
             "Mean energy of the symbols before the gain, in units of the input.")
        .def("carrier_offset",
             &symbol_sync::carrier_offset,
             "The carrier offset that is removed, in symbol rates.")
        .def("symbols", &symbol_sync::symbols, "Symbols that came out.")
        .def("gaps", &symbol_sync::gaps, "Gaps that tags rx_time have shown.")
        .def("backend", &symbol_sync::backend, "In use: \"cuda\", \"cpu\" or ...");
}

} // namespace gr::cudaphy::bindings
