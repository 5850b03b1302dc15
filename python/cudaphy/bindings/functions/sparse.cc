/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/interruptible.h"
#include "bindings/sparse_arguments.h"
#include <gnuradio/cudaphy/kernels/sparse_product.h>
#include <mutex>

namespace gr::cudaphy::bindings {
namespace {

//! A product with a queue of its own, on numpy arrays.
template <typename T>
class product_on_numpy
{
public:
    product_on_numpy(int64_t rows,
                     int64_t columns,
                     const indices& row_start,
                     const indices& column,
                     const numpy_array<T>& value,
                     const std::string& format,
                     int block,
                     const std::string& where,
                     int device)
        : d_queue(queue::make(backend_from_name(where), device)),
          d_product(kernels::sparse_product<T>::make(
              matrix_of<T>(rows, columns, row_start, column, value),
              { kernels::sparse_format_from_name(format), true, block },
              d_queue->where(),
              d_queue->device()))
    {
    }

    size_t matrix_bytes() const { return d_product->matrix_bytes(); }
    std::string backend() const { return name_of(d_queue->where()); }

    //! x: (batch, columns); y: (batch, rows), to which A x is added in place.
    void add(const numpy_array<T>& x, numpy_array<T> y)
    {
        input<T> from(*d_queue, x);
        const view<T> host(y.mutable_data(), y.size());
        array<T> there;
        view<T> to = host;
        if (d_queue->where() == backend::cuda) {
            there = array<T>(*d_queue, view<const T>(host));
            to = there;
        }
        const double batch = x.shape(0);
        run_interruptibly(batch * d_product->matrix_bytes() / sizeof(T), [&] {
            const std::lock_guard<std::mutex> turn(d_turn);
            d_product->run(from, to, *d_queue);
            if (there.size()) {
                d_queue->copy_out(host.data(), there.data(), host.size() * sizeof(T));
            }
            d_queue->synchronize();
        });
    }

private:
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<kernels::sparse_product<T>> d_product;
    std::mutex d_turn; //!< of threads that share it
};

template <typename T>
void bind_product(py::module& m, const char* name)
{
    using product = product_on_numpy<T>;
    py::class_<product>(m, name)
        .def(py::init<int64_t,
                      int64_t,
                      const indices&,
                      const indices&,
                      const numpy_array<T>&,
                      const std::string&,
                      int,
                      const std::string&,
                      int>())
        .def("matrix_bytes", &product::matrix_bytes)
        .def("backend", &product::backend)
        .def("add", &product::add, py::arg("x"), py::arg("y").noconvert());
}

} // namespace

void bind_sparse(py::module& m)
{
    bind_product<float>(m, "_sparse_product_float32");
    bind_product<double>(m, "_sparse_product_float64");
    bind_product<complex64>(m, "_sparse_product_complex64");
}

} // namespace gr::cudaphy::bindings
