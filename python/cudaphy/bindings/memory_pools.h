/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Memory that functions on numpy arrays use again in the next call. Getting it anew from
// CUDA, or page by page from the system, takes longer than most calls.

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>
#include <pybind11/numpy.h>
#include <vector>

namespace gr::cudaphy::bindings {

namespace py = pybind11;

//! Before the first use, with Python's lock.
void make_memory_pools();

//! Page-locked memory of the host; null if the pool holds as much as it may, or CUDA has
//! none. It returns to the pool with its last owner.
std::shared_ptr<void> page_locked(size_t bytes);

//! A device's memory. Its earlier use has ended, and it returns to the pool with its last
//! owner, which therefore must have waited for its work. \throws std::bad_alloc
std::shared_ptr<void> device_memory(int device, size_t bytes);

//! An array for a result: in page-locked memory if a GPU writes it, and it is large.
py::array host_array(const py::dtype& kind, std::vector<py::ssize_t> shape, bool of_gpu);

//! A queue that no other call uses, of those that earlier calls have made.
std::unique_ptr<queue> spare_queue(backend where, int device);
//! Only after a call that went well.
void give_back(std::unique_ptr<queue>);

} // namespace gr::cudaphy::bindings
