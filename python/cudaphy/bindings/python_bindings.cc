/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"

PYBIND11_MODULE(cudaphy_python, m)
{
    namespace py = pybind11;
    using namespace gr::cudaphy::bindings;
    py::module::import("gnuradio.gr"); // the base classes of the blocks
    bind_backends(m);
    bind_linalg(m);
    bind_mimo(m);
    bind_ldpc(m);
    bind_blocks(m);
}
