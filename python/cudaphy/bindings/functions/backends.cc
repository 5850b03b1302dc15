/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"

namespace gr::cudaphy::bindings {

void bind_backends(py::module& m)
{
    py::register_exception<backend_unavailable>(
        m, "BackendUnavailable", PyExc_RuntimeError)
        .doc() =
        "The backend cannot be had on this machine; the message says what is missing.";
    py::register_exception<cuda_error>(m, "CudaError", PyExc_RuntimeError).doc() =
        "A call of CUDA has failed; the message names the call and its error.";

    py::class_<device_info>(m, "device_info", "A GPU that the CUDA backend can use.")
        .def_readonly("index", &device_info::index)
        .def_readonly("name", &device_info::name)
        .def_readonly(
            "compute_capability", &device_info::compute_capability, "90 stands for 9.0")
        .def_readonly("memory", &device_info::memory, "bytes")
        .def("__repr__", [](const device_info& d) {
            return "<device " + std::to_string(d.index) + ": " + d.name + ">";
        });

    m.def("devices",
          &devices,
          "The GPUs that the CUDA backend can use here, a list of device_info.");
    m.def(
        "backends",
        [] {
            std::vector<std::string> names;
            for (const auto where : backends()) {
                names.push_back(name_of(where));
            }
            return names;
        },
        "Names of the backends that can be used here, best first: of \"cuda\", \"cpu\", "
        "\"reference\".");
    m.def(
        "resolve_backend",
        [](const std::string& name, int device) {
            const auto found = resolve(backend_from_name(name), device);
            return py::make_tuple(name_of(found.where), found.reason);
        },
        py::arg("backend") = "auto",
        py::arg("device") = 0,
        "What a backend's name comes to here and now: (name, reason). A GPU that is lost "
        "to this process counts as none. Raises BackendUnavailable, ValueError.");
}

} // namespace gr::cudaphy::bindings
