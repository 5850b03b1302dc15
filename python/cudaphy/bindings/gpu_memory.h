/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Memory of a GPU that arrays of other Python libraries lie in.

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <vector>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

//! An array in a GPU's memory: C order, without gaps.
struct gpu_memory {
    void* data = nullptr;
    std::vector<py::ssize_t> shape;
    py::dtype kind;
    int device = 0;
    std::shared_ptr<void> owner; //!< keeps the memory
    //! The memory is taken, and put out, in this order of work; a cudaStream_t.
    void* stream = nullptr;
    //! Of gpu_libraries.py: makes the arrays of results.
    py::object library;

    size_t size() const;
};

/*!
 * \brief What `array` shows of its memory: by DLPack, or by __cuda_array_interface__.
 * \param stream   of the caller; what was submitted before is then done before what we
 * submit there
 * \throws py::value_error if the array has gaps, TypeError if its items are not known
 */
std::shared_ptr<gpu_memory>
gpu_memory_of(const py::object& array, py::size_t stream, const py::object& library);

void bind_gpu_memory(py::module& m);

} // namespace gr::cudaphy::bindings
