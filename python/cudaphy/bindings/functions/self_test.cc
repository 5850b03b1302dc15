/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include <gnuradio/cudaphy/self_test.h>

namespace gr::cudaphy::bindings {

void bind_self_test(py::module& m)
{
    m.def(
        "cpu_vector_units",
        &cpu_vector_units,
        "The vector instructions that the CPU kernels take here, as Highway names them: "
        "\"AVX2\", \"AVX3\" (AVX-512), \"NEON\".");
    m.def("cpu_vector_lanes", &cpu_vector_lanes, "float32 lanes of one such vector.");
    m.def(
        "cuda_versions",
        [] {
            const auto found = versions_of_cuda();
            return py::make_tuple(found.built_with, found.driver);
        },
        "(toolkit that this was built with, latest CUDA that the driver supports), each "
        "as "
        "12040 for 12.4, 0 for none.");

    py::class_<machine_rates>(
        m, "machine_rates", "What a backend's hardware does in a second, measured.")
        .def_readonly("copied_bytes",
                      &machine_rates::copied_bytes,
                      "of its memory, read and written ones both counted")
        .def_readonly("multiply_adds", &machine_rates::multiply_adds, "of float32")
        .def_readonly("byte_operations", &machine_rates::byte_operations, "of int8");
    m.def(
        "measure_machine",
        [](const std::string& where, int device) {
            return measure_machine(backend_from_name(where), device);
        },
        py::arg("backend") = "auto",
        py::arg("device") = 0,
        py::call_guard<py::gil_scoped_release>(),
        "machine_rates of a backend; takes about a second.");

    py::class_<self_test_result>(
        m, "self_test_result", "What a kernel did, beside what the hardware could do.")
        .def_readonly("name", &self_test_result::name)
        .def_readonly("unit", &self_test_result::unit, "what is counted")
        .def_readonly("rate", &self_test_result::rate, "of these a second")
        .def_readonly(
            "bound", &self_test_result::bound, "the most by the hardware's limits")
        .def_readonly("memory_bound",
                      &self_test_result::memory_bound,
                      "that limit is the memory's bandwidth, else arithmetic")
        .def_readonly(
            "error", &self_test_result::error, "against the reference, relative")
        .def_readonly("tolerance", &self_test_result::tolerance)
        .def_readonly("right", &self_test_result::right, "error <= tolerance");
    m.def("self_test_names",
          &self_test_names,
          "Names of the kernels that self_test knows.");
    m.def(
        "self_test",
        [](const std::string& name,
           const machine_rates& machine,
           const std::string& where,
           int device,
           bool damage) {
            return self_test(name, machine, backend_from_name(where), device, damage);
        },
        py::arg("name"),
        py::arg("machine"),
        py::arg("backend") = "auto",
        py::arg("device") = 0,
        py::arg("damage") = false,
        py::call_guard<py::gil_scoped_release>(),
        "Times a kernel and compares what it puts out with the reference's: a "
        "self_test_result. machine: from measure_machine. damage spoils one value, which "
        "the comparison must find.");
}

} // namespace gr::cudaphy::bindings
