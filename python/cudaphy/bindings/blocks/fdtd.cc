/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/fdtd_channel.h>

namespace gr::cudaphy::bindings {
namespace {

template <typename T>
fdtd_channel::sptr make_channel(const kernels::fdtd_system<T>& system,
                                const std::vector<int32_t>& plane,
                                int plane_every,
                                const std::string& format,
                                const std::string& backend,
                                int device,
                                int max_batch)
{
    return fdtd_channel::make(
        system, plane, plane_every, format, backend, device, max_batch);
}

} // namespace

void bind_fdtd_blocks(py::module& m)
{
    block_class<fdtd_channel>(m, "_fdtd_channel", "A block that fdtd_channel() makes.")
        .def("reset",
             &fdtd_channel::reset,
             "Clears all fields before the next time step that is done.")
        .def("backend", &fdtd_channel::backend, "The backend in use.")
        .def("steps",
             &fdtd_channel::steps,
             "Time steps since the block was made, or since reset().")
        .def("time_step", &fdtd_channel::time_step, "Seconds; 0 if not known.")
        .def("matrix_bytes",
             &fdtd_channel::matrix_bytes,
             "Bytes that the matrices take in their format.");
    // Matrices are laid out meanwhile, which takes as long as they are large.
    using others_may_run = py::call_guard<py::gil_scoped_release>;
    m.def("_fdtd_channel_float32", &make_channel<float>, others_may_run());
    m.def("_fdtd_channel_float64", &make_channel<double>, others_may_run());
}

} // namespace gr::cudaphy::bindings
