/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/matrix_inverse.h>
#include <gnuradio/cudaphy/symmetric_inverse.h>
#include <gnuradio/cudaphy/triangular_inverse.h>

namespace gr::cudaphy::bindings {

void bind_linalg_blocks(py::module& m)
{
    block_class<matrix_inverse>(
        m,
        "matrix_inverse",
        "Inverts square matrices of order 1 to 64: vectors of order*order items, row by "
        "row, in and out; type \"complex\" (64 bits) or \"float\"; pivoting \"full\", "
        "\"partial\", or \"none\" for Hermitian positive definite matrices. A singular "
        "matrix gets a tag 'singular' (pmt long: elimination step; -1 for NaN or Inf) "
        "and "
        "gives zeros; a nearly singular one, where pivoting is full, the inverse of a "
        "matrix near it. Source: patent CN102567283 (2011)." BATCH_ARGUMENTS_TEXT)
        .def(py::init(&matrix_inverse::make),
             py::arg("order"),
             py::arg("pivoting") = "full",
             py::arg("type") = "complex",
             BATCH_ARGUMENTS)
        .def("backend", &matrix_inverse::backend, "The backend in use.")
        .def("failures", &matrix_inverse::failures, "Matrices that got the tag.");

    block_class<triangular_inverse>(
        m,
        "triangular_matrix_inverse",
        "Inverts triangular matrices of order 1 to 128: vectors of order*order items, "
        "row by row, in and out; type \"complex\" (64 bits) or \"float\". The triangle "
        "alone is read, with unit_diagonal only what lies beside the diagonal. A matrix "
        "with a zero on its diagonal gives zeros and a tag 'singular' (pmt long: first "
        "row with a zero; -1 for NaN or Inf). Source: triangular inversion by one warp "
        "(Shanghai Biren, 2023)." BATCH_ARGUMENTS_TEXT)
        .def(py::init(&triangular_inverse::make),
             py::arg("order"),
             py::arg("lower") = true,
             py::arg("unit_diagonal") = false,
             py::arg("type") = "complex",
             BATCH_ARGUMENTS)
        .def("backend", &triangular_inverse::backend, "The backend in use.")
        .def("failures", &triangular_inverse::failures, "Matrices that got the tag.");

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
