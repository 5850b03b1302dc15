/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pybind11/numpy.h>
#include <vector>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

//! A numpy array with a copy of the items. \param shape  one row of all items if empty
template <typename T>
py::array_t<T> array_of(const std::vector<T>& items, std::vector<py::ssize_t> shape = {})
{
    if (shape.empty()) {
        shape = { py::ssize_t(items.size()) };
    }
    return py::array_t<T>(shape, items.data());
}

} // namespace gr::cudaphy::bindings
