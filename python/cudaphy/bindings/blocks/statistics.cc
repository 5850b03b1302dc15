/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "statistics.h"
#include <gnuradio/basic_block.h>
#include <gnuradio/cudaphy/runtime/block_statistics.h>
#include <pybind11/stl.h>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

namespace {

block_statistics statistics_of(const std::shared_ptr<gr::basic_block>& block)
{
    const auto* counting = dynamic_cast<const counting_block*>(block.get());
    if (!counting) {
        throw py::type_error(block->alias() + " counts no batches");
    }
    return counting->statistics();
}

py::dict stats_of(const py::object& block)
{
    const auto got = statistics_of(block.cast<std::shared_ptr<gr::basic_block>>());
    py::dict found;
    found["backend"] = got.backend;
    found["batches"] = got.batches;
    found["frames"] = got.frames;
    found["last_batch"] = got.last_batch;
    found["average_batch"] = got.batches ? double(got.frames) / got.batches : 0.0;
    found["largest_batch"] = got.largest_batch;
    found["queue_depth"] = got.queue_depth;
    found["largest_depth"] = got.largest_depth;
    found["failures"] = got.failures;
    found["compute_seconds"] = got.compute_seconds;
    found["last_compute"] = got.last_compute;
    return found;
}

const char* stats_text =
    "What the block has done since it was made, a dictionary: backend; batches, launches "
    "that are done; frames in them (matrices, slots, codewords); last_batch, "
    "average_batch, largest_batch in frames; queue_depth and largest_depth, batches or "
    "PDUs under way or waiting, now and at most; failures, frames that failed and "
    "packets "
    "refused; compute_seconds and last_compute, time in kernels (on a GPU by its own "
    "clock, without copies, of at most a hundred batches a second, which stand for the "
    "others; of PDU blocks with copies) of all batches and of the last.";

struct getter {
    const char* name;
    const char* key; //!< of stats()
    const char* text;
};
constexpr getter getters[] = {
    { "pc_batch_size", "last_batch", "Frames of the last batch." },
    { "pc_batch_size_avg", "average_batch", "Frames of a batch, average of all." },
    { "pc_queue_depth", "queue_depth", "Batches or PDUs under way or waiting." },
    { "pc_failures", "failures", "Frames that failed and packets refused." },
    { "pc_compute_time", "last_compute", "Seconds in kernels of the last batch." },
    { "pc_compute_time_total", "compute_seconds", "Seconds in kernels of all batches." },
};

} // namespace

void bind_statistics(py::module& m)
{
    const auto basic_block =
        py::module::import("gnuradio.gr.gr_python").attr("basic_block");
    const auto is_subclass = py::module::import("builtins").attr("issubclass");
    for (const auto& [name, value] : m.attr("__dict__").cast<py::dict>()) {
        if (!PyType_Check(value.ptr()) || !is_subclass(value, basic_block).cast<bool>()) {
            continue;
        }
        const auto type = py::reinterpret_borrow<py::object>(value);
        type.attr("stats") = py::cpp_function(
            &stats_of, py::name("stats"), py::is_method(type), stats_text);
        for (const auto& one : getters) {
            type.attr(one.name) = py::cpp_function(
                [key = one.key](const py::object& block) {
                    return py::object(stats_of(block)[key]);
                },
                py::name(one.name),
                py::is_method(type),
                one.text);
        }
    }
}

} // namespace gr::cudaphy::bindings
