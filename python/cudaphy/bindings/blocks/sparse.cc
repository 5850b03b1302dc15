/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/sparse_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/sparse_matvec.h>

namespace gr::cudaphy::bindings {
namespace {

template <typename T>
sparse_matvec::sptr make_matvec(int64_t rows,
                                int64_t columns,
                                const indices& row_start,
                                const indices& column,
                                const numpy_array<T>& value,
                                const std::string& format,
                                int block,
                                const std::string& length_tag_key,
                                const std::string& backend,
                                int device,
                                int max_batch,
                                double max_latency)
{
    return sparse_matvec::make(matrix_of<T>(rows, columns, row_start, column, value),
                               format,
                               block,
                               length_tag_key,
                               backend,
                               device,
                               max_batch,
                               max_latency);
}

} // namespace

void bind_sparse_blocks(py::module& m)
{
    block_class<sparse_matvec>(m, "_sparse_matvec", "A block that sparse_matvec() makes.")
        .def("backend", &sparse_matvec::backend, "The backend in use.")
        .def("matrix_bytes",
             &sparse_matvec::matrix_bytes,
             "Bytes that the matrix takes in its format.");
    m.def("_sparse_matvec_complex64", &make_matvec<complex64>);
    m.def("_sparse_matvec_float32", &make_matvec<float>);
}

} // namespace gr::cudaphy::bindings
