/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/interruptible.h"
#include <gnuradio/cudaphy/kernels/symbol_stream.h>

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

void bind_symbols(py::module& m) { m.def("_symbol_sync", &synchronise); }

} // namespace gr::cudaphy::bindings
