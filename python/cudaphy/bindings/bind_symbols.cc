/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "block_arguments.h"
#include "interruptible.h"
#include <gnuradio/cudaphy/kernels/symbol_stream.h>
#include <gnuradio/cudaphy/symbol_sync.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::sample_format;

sample_format format_of(const py::array& samples)
{
    return samples.dtype().kind() == 'c'     ? sample_format::complex64
           : samples.dtype().itemsize() == 2 ? sample_format::sc16
                                             : sample_format::sc8;
}

//! Symbols; of each block the first symbol's instant, the step, the number of symbols,
//! the clock error, the line, and the gain; a line that noise does not make; and from
//! which sample on what carrier offset is removed, in cycles a sample.
py::tuple synchronise(const py::array& samples,
                      double samples_per_symbol,
                      double roll_off,
                      int span,
                      int averaging,
                      double most_offset,
                      const std::string& where,
                      int device)
{
    kernels::symbol_sync_parameters p;
    p.samples_per_symbol = samples_per_symbol;
    p.roll_off = roll_off;
    p.format = format_of(samples);
    p.span = span;
    p.averaging = averaging;
    kernels::symbol_stream stream(
        p, most_offset, resolve(backend_from_name(where), device));
    const size_t each = kernels::bytes_of(p.format);
    const size_t count = static_cast<size_t>(samples.nbytes()) / each;
    const auto* const from = static_cast<const unsigned char*>(samples.data());
    std::vector<complex64> symbols;
    std::vector<kernels::symbol_block> blocks;
    std::vector<std::pair<int64_t, double>> changes;
    run_interruptibly(static_cast<double>(count) * 100, [&] {
        size_t at = 0;
        do {
            const size_t now = std::min(count - at, stream.most_samples());
            stream.feed(from + at * each, now, at + now == count);
            const auto some = stream.symbols();
            const auto more = stream.blocks();
            symbols.insert(symbols.end(), some.begin(), some.end());
            blocks.insert(blocks.end(), more.begin(), more.end());
            for (const auto& one : stream.changes()) {
                changes.emplace_back(one.sample, one.frequency);
            }
            at += now;
        } while (at < count);
    });
    py::array_t<complex64> out(static_cast<py::ssize_t>(symbols.size()), symbols.data());
    py::array_t<double> numbers(
        std::vector<py::ssize_t>{ static_cast<py::ssize_t>(blocks.size()), 6 });
    double* to = numbers.mutable_data();
    for (const auto& one : blocks) {
        for (const double number : { one.instant,
                                     one.step,
                                     double(one.symbols),
                                     double(one.clock_error),
                                     double(one.line),
                                     double(one.gain) }) {
            *to++ = number;
        }
    }
    return py::make_tuple(out, numbers, stream.line_of_signal(), changes);
}

} // namespace

void bind_symbols(py::module& m)
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
instant is estimated from, 1 to 131072; 0: 2048 / roll_off; half of them are delay. most_offset:
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
    m.def("_symbol_sync", &synchronise);
}

} // namespace gr::cudaphy::bindings
