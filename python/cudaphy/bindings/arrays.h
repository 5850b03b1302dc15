/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// What carries arrays to a kernel's queue and back.

#include "gpu_memory.h"
#include "memory_pools.h"
#include <exception>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <optional>
#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

template <typename T>
using numpy_array = py::array_t<T, py::array::c_style | py::array::forcecast>;

//! An argument: an array of numpy, or one that another library has in a GPU's memory.
template <typename T>
class array_argument
{
public:
    array_argument() = default;
    array_argument(const numpy_array<T>& from)
        : d_numpy(from), d_data(from.data()),
          d_shape(from.shape(), from.shape() + from.ndim())
    {
    }
    array_argument(std::shared_ptr<gpu_memory> from)
        : d_gpu(std::move(from)), d_data(static_cast<const T*>(d_gpu->data)),
          d_shape(d_gpu->shape)
    {
    }
    py::ssize_t shape(size_t axis) const { return d_shape.at(axis); }
    py::ssize_t size() const
    {
        py::ssize_t all = 1;
        for (const auto each : d_shape) {
            all *= each;
        }
        return all;
    }
    size_t ndim() const { return d_shape.size(); }
    view<const T> items() const { return { d_data, static_cast<size_t>(size()) }; }
    //! Null for an array of numpy.
    const std::shared_ptr<gpu_memory>& gpu() const { return d_gpu; }

private:
    std::optional<numpy_array<T>> d_numpy; //!< keeps the memory
    std::shared_ptr<gpu_memory> d_gpu;
    const T* d_data = nullptr;
    std::vector<py::ssize_t> d_shape;
};

/*!
 * \brief Where a function's kernel runs, and where its results go.
 *
 * If an argument lies on a GPU: there, on the stream of its library, and the results are
 * arrays of this library. The call then returns before the GPU has finished.
 */
class placement
{
public:
    template <typename... T>
    placement(const std::string& where, int device, const array_argument<T>&... arguments)
    {
        (look_at(arguments.gpu()), ...);
        if (d_gpu) {
            on_queue_of_library(where);
        } else {
            on_own_queue(where, device);
        }
    }

    ~placement();
    placement(const placement&) = delete;
    placement& operator=(const placement&) = delete;

    queue& operator*() const { return *d_queue; }
    queue* operator->() const { return d_queue.get(); }
    operator queue&() const { return *d_queue; }
    //! Null: results are arrays of numpy.
    const gpu_memory* library() const { return d_gpu.get(); }

    //! Waits for the work, unless its results stay on the GPU.
    void finish() const
    {
        if (!d_gpu) {
            d_queue->synchronize();
        }
    }

private:
    void look_at(const std::shared_ptr<gpu_memory>&);
    void on_own_queue(const std::string& where, int device);
    void on_queue_of_library(const std::string& where);

    const int d_exceptions = std::uncaught_exceptions();
    std::shared_ptr<gpu_memory> d_gpu;
    std::unique_ptr<queue> d_queue;
};

//! A kernel's input: the array's own memory where the queue reaches that, else a copy on
//! the device.
template <typename T>
class input
{
public:
    input(queue& q, const array_argument<T>& from) : d_view(from.items())
    {
        if (q.where() == backend::cuda && !from.gpu()) {
            d_copy = array<T>(q, d_view);
            d_view = d_copy;
        }
    }
    operator view<const T>() const { return d_view; }

private:
    view<const T> d_view;
    array<T> d_copy;
};

//! A kernel's output, and the array that it ends in.
template <typename T>
class output
{
public:
    //! \param kind  what the result calls T, if that is not numpy's name for it
    output(const placement& at,
           std::vector<py::ssize_t> shape,
           const py::dtype& kind = py::dtype::of<T>())
        : output(*at, at.library(), std::move(shape), kind)
    {
    }
    //! An array of numpy.
    output(queue& q, std::vector<py::ssize_t> shape)
        : output(q, nullptr, std::move(shape), py::dtype::of<T>())
    {
    }
    operator view<T>() const { return d_view; }
    //! Waits for the queue, except if the result stays on the GPU.
    py::object result()
    {
        if (d_library) {
            return d_library->library.attr("finished")(d_result);
        }
        if (d_copy.size()) {
            d_queue.copy_out(d_host.data(), d_copy.data(), d_host.size() * sizeof(T));
        }
        d_queue.synchronize();
        return d_result;
    }

private:
    output(queue& q,
           const gpu_memory* library,
           std::vector<py::ssize_t> shape,
           const py::dtype& kind)
        : d_queue(q), d_library(library)
    {
        if (d_library) {
            d_result = d_library->library.attr("empty")(py::tuple(py::cast(shape)), kind);
            d_gpu = gpu_memory_of(d_result,
                                  reinterpret_cast<size_t>(d_library->stream),
                                  d_library->library);
            d_view = { static_cast<T*>(d_gpu->data), d_gpu->size() };
            return;
        }
        auto host = host_array(kind, std::move(shape), q.where() == backend::cuda);
        d_view = { static_cast<T*>(host.mutable_data()),
                   static_cast<size_t>(host.size()) };
        d_host = d_view;
        d_result = std::move(host);
        if (d_queue.where() == backend::cuda) {
            d_copy = array<T>(d_queue, d_view.size());
            d_view = d_copy.all();
        }
    }
    queue& d_queue;
    const gpu_memory* d_library;
    std::shared_ptr<gpu_memory> d_gpu;
    view<T> d_view, d_host;
    array<T> d_copy;
    py::object d_result;
};

//! A kernel's workspace. It is of the caller's library where there is one: that gives it
//! out again without waiting for the GPU.
class scratch
{
public:
    scratch(const placement& at, size_t bytes)
    {
        if (at.library() && bytes) {
            d_result.emplace(at, std::vector<py::ssize_t>{ py::ssize_t(bytes) });
            d_view = *d_result;
        } else {
            d_own = array<unsigned char>(*at, bytes);
            d_view = d_own.all();
        }
    }
    operator view<unsigned char>() const { return d_view; }

private:
    std::optional<output<unsigned char>> d_result;
    array<unsigned char> d_own;
    view<unsigned char> d_view;
};

void bind_backends(py::module& m);
void bind_bch(py::module& m);
void bind_dvb(py::module& m);
void bind_dvbs2_frames(py::module& m);
void bind_fdtd(py::module& m);
void bind_gpu_memory(py::module& m);
void bind_ldpc(py::module& m);
void bind_ldpc_functions(py::module& m);
void bind_linalg(py::module& m);
void bind_mimo(py::module& m);
void bind_nr(py::module& m);
void bind_nr_receiver(py::module& m);
void bind_nr5g(py::module& m);
void bind_nr_cell(py::module& m);
void bind_receiver(py::module& m);
void bind_self_test(py::module& m);
void bind_sparse(py::module& m);
void bind_symbols(py::module& m);
void bind_symmetric(py::module& m);
//! Of all blocks; in a build with GNU Radio alone.
void bind_blocks(py::module& m);

} // namespace gr::cudaphy::bindings

namespace pybind11::detail {

template <typename T>
struct type_caster<gr::cudaphy::bindings::array_argument<T>> {
    using argument = gr::cudaphy::bindings::array_argument<T>;
    PYBIND11_TYPE_CASTER(argument, handle_type_name<array_t<T>>::name);

    bool load(handle from, bool convert)
    {
        using namespace gr::cudaphy::bindings;
        if (hasattr(from, "gpu_memory")) { // of gpu_arrays.py
            auto memory = from.attr("gpu_memory")().cast<std::shared_ptr<gpu_memory>>();
            if (!memory->kind.equal(dtype::of<T>())) {
                throw type_error("an array on a GPU has items of type " +
                                 std::string(str(object(memory->kind))) + "; expected " +
                                 std::string(str(object(dtype::of<T>()))));
            }
            value = argument(std::move(memory));
            return true;
        }
        if (!convert && !numpy_array<T>::check_(from)) {
            return false;
        }
        const auto numpy = numpy_array<T>::ensure(from);
        if (!numpy) {
            return false;
        }
        value = argument(numpy);
        return true;
    }
    static handle cast(const argument&, return_value_policy, handle) = delete;
};

} // namespace pybind11::detail
