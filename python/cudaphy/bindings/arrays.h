/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What carries numpy arrays to a kernel's queue and back.

#include <gnuradio/cudaphy/kernels/queue.h>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

template <typename T>
using numpy_array = py::array_t<T, py::array::c_style | py::array::forcecast>;

//! A kernel's input: numpy's own memory where the queue reaches that, else a copy on the
//! device.
template <typename T>
class input
{
public:
    input(queue& q, const numpy_array<T>& from) : d_view(from.data(), from.size())
    {
        if (q.where() == backend::cuda) {
            d_copy = array<T>(q, d_view);
            d_view = d_copy;
        }
    }
    operator view<const T>() const { return d_view; }

private:
    view<const T> d_view;
    array<T> d_copy;
};

//! A kernel's output, and the numpy array that it ends in.
template <typename T>
class output
{
public:
    output(queue& q, std::vector<py::ssize_t> shape)
        : d_queue(q), d_host(std::move(shape))
    {
        if (q.where() == backend::cuda) {
            d_copy = array<T>(q, d_host.size());
        }
    }
    operator view<T>()
    {
        return d_queue.where() == backend::cuda
                   ? d_copy.all()
                   : view<T>(d_host.mutable_data(), d_host.size());
    }
    //! Waits for the queue.
    numpy_array<T> result()
    {
        if (d_queue.where() == backend::cuda && d_host.size()) {
            d_queue.copy_out(
                d_host.mutable_data(), d_copy.data(), d_host.size() * sizeof(T));
        }
        d_queue.synchronize();
        return d_host;
    }

private:
    queue& d_queue;
    numpy_array<T> d_host;
    array<T> d_copy;
};

void bind_backends(py::module& m);
void bind_bch(py::module& m);
void bind_dvb(py::module& m);
void bind_dvbs2_frame_sync(py::module& m);
void bind_fdtd(py::module& m);
void bind_fdtd_blocks(py::module& m);
void bind_linalg(py::module& m);
void bind_mimo(py::module& m);
void bind_symbols(py::module& m);
void bind_symmetric(py::module& m);
void bind_ldpc(py::module& m);
void bind_ldpc_blocks(py::module& m);
void bind_ldpc_fec(py::module& m);
void bind_ldpc_functions(py::module& m);
void bind_ldpc_pdu(py::module& m);
void bind_nr(py::module& m);
void bind_nr5g(py::module& m);
void bind_packets(py::module& m);
void bind_receiver(py::module& m);
void bind_self_test(py::module& m);
void bind_soft_demapper(py::module& m);
void bind_sparse(py::module& m);
void bind_linalg_blocks(py::module& m);
void bind_mimo_blocks(py::module& m);
void bind_ofdm(py::module& m);

} // namespace gr::cudaphy::bindings
