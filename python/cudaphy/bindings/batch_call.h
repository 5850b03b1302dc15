/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "arrays.h"
#include <functional>
#include <gnuradio/cudaphy/kernels/page_locked.h>

namespace gr::cudaphy::bindings {

/*!
 * \brief A kernel's call on a batch whose items do not depend on each other.
 *
 * If the arrays are numpy's and the kernel runs on a GPU, a large batch is cut into
 * pieces: one is copied to the GPU while the kernel works on another and a third comes
 * back. Then a call takes as long as the slower of the two ways over PCIe, or the copy
 * into page-locked memory.
 */
class batch_call
{
public:
    batch_call(const placement& at, py::ssize_t batch);

    //! An input of `batch` items, which the kernel sees whole.
    template <typename T>
    view<const T> input(const array_argument<T>& from)
    {
        if (from.gpu() || !d_copies) {
            return shared_input(from);
        }
        const auto items = from.items();
        auto* const there = static_cast<T*>(
            add(const_cast<T*>(items.data()), items.size() * sizeof(T), d_inputs));
        return { there, items.size() };
    }

    //! An input that all items share: it is never cut.
    template <typename T>
    view<const T> shared_input(const array_argument<T>& from)
    {
        const auto whole = std::make_shared<bindings::input<T>>(*d_at, from);
        d_shared.push_back(whole);
        return *whole;
    }

    template <typename T>
    struct result {
        py::object array;
        view<T> items;
        std::shared_ptr<gpu_memory> gpu;
        operator view<T>() const { return items; }
    };
    //! An output of `batch` items.
    template <typename T>
    result<T> output(std::vector<py::ssize_t> shape,
                     const py::dtype& kind = py::dtype::of<T>())
    {
        result<T> out;
        if (const auto* const library = d_at.library()) {
            out.array = library->library.attr("empty")(py::tuple(py::cast(shape)), kind);
            out.gpu = gpu_memory_of(
                out.array, reinterpret_cast<size_t>(library->stream), library->library);
            out.items = { static_cast<T*>(out.gpu->data), out.gpu->size() };
            return out;
        }
        auto host = host_array(kind, std::move(shape), d_copies);
        out.items = { static_cast<T*>(host.mutable_data()),
                      static_cast<size_t>(host.size()) };
        if (d_copies) {
            out.items = { static_cast<T*>(add(
                              out.items.data(), out.items.size() * sizeof(T), d_outputs)),
                          out.items.size() };
        }
        out.array = std::move(host);
        return out;
    }

    /*!
     * \param operations  multiply-adds of the batch, roughly
     * \param most        items that `work` takes at a time, so that Ctrl-C is heard
     * \param work        work(first, count) submits the kernel for these items
     */
    void run(double operations,
             size_t most,
             const std::function<void(size_t first, size_t count)>& work);

    //! From now on run() takes all items at once, because they are interleaved.
    void keep_whole() { d_whole = true; }

    //! The part of an input or output that these items have.
    template <typename T>
    view<T> part(const view<T>& all, size_t first, size_t count) const
    {
        const size_t item = d_batch ? all.size() / d_batch : 0;
        return all.part(first * item, count * item);
    }
    template <typename T>
    view<T> part(const result<T>& all, size_t first, size_t count) const
    {
        return part(all.items, first, count);
    }

    //! The array of a result, after run().
    template <typename T>
    py::object array_of(const result<T>& out) const
    {
        return d_at.library() ? d_at.library()->library.attr("finished")(out.array)
                              : out.array;
    }

private:
    struct copied {
        char* host;
        size_t item_bytes;
        std::shared_ptr<void> device;
    };
    void* add(void* host, size_t bytes, std::vector<copied>& to);
    size_t bytes_of(const std::vector<copied>&, bool by_piece) const;
    bool goes_by_piece(const copied&) const;
    void run_whole(size_t most, const std::function<void(size_t, size_t)>& work);
    void run_in_pieces(size_t most, const std::function<void(size_t, size_t)>& work);

    const placement& d_at;
    const size_t d_batch;
    const bool d_copies; //!< between numpy and a GPU
    bool d_whole = false;
    std::vector<copied> d_inputs, d_outputs;
    std::vector<std::shared_ptr<void>> d_shared;
};

} // namespace gr::cudaphy::bindings
