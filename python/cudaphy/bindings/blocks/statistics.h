/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pybind11/pybind11.h>

namespace gr::cudaphy::bindings {

//! Gives stats() and the pc_* getters to every block that the module has by now.
void bind_statistics(pybind11::module& m);

} // namespace gr::cudaphy::bindings
