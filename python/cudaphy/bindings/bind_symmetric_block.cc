/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/symmetric_inverse.h>

namespace gr::cudaphy::bindings {

void bind_symmetric_block(py::module& m)
{
    block_class<symmetric_inverse>(
        m,
        "symmetric_matrix_inverse",
        R"(Inverts large symmetric (complex: Hermitian) matrices, definite or not.

In and out: vectors of `order` items (1 to 32768), a row each, `order` rows a matrix; type "complex" (64 bits) or "float". definite: "unknown", or "positive", which is faster. algorithm: "blocked", or "bordering", row after row as the source prints it. check: whether matrices are looked at for symmetry; otherwise only their lower triangles are read.

The first row of a matrix without an inverse gets a tag 'singular' (pmt long: the order; definite="positive": of the leading minor that is not positive definite; -1 for NaN or Inf), that of one that is not symmetric a tag 'asymmetric' (pmt tuple: row and column, from 0, of the first element that differs from its counterpart); their rows are zeros.

length_tag_key: names the tag with a packet's length in rows; empty: a plain stream. backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU. max_batch: matrices inverted together at most, 0: automatic.
Raises ValueError for a parameter out of range, BackendUnavailable if the backend can't be had, MemoryError or RuntimeError if the memory can't.
Source: Huo, Wang, Peng, Fang (Northwestern Polytechnical University).)")
        .def(py::init(&symmetric_inverse::make),
             py::arg("order"),
             py::arg("type") = "complex",
             py::arg("definite") = "unknown",
             py::arg("algorithm") = "blocked",
             py::arg("check") = true,
             py::arg("length_tag_key") = "",
             py::arg("backend") = "auto",
             py::arg("device") = 0,
             py::arg("max_batch") = 0)
        .def("backend", &symmetric_inverse::backend, "The backend in use.")
        .def("failures", &symmetric_inverse::failures, "Matrices that got a tag.")
        .def("matrices", &symmetric_inverse::matrices, "Matrices that have come.");
}

} // namespace gr::cudaphy::bindings
