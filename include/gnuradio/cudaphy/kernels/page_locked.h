/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

// What lets copies between host and GPU run beside other work.

//! Memory of the host that a GPU reads and writes by itself, aligned to a page; null if
//! there is none to be had.
CUDAPHY_API void* page_locked_memory(size_t bytes);
CUDAPHY_API void release_page_locked(void* memory);
CUDAPHY_API bool is_page_locked(const void* memory);

//! Copies at the rate of all cores' memory.
CUDAPHY_API void copy_on_all_cores(void* to, const void* from, size_t bytes);

//! What is submitted to `later` from now on runs after what `earlier` has by now. Both
//! are CUDA queues of one device. \throws cuda_error
CUDAPHY_API void run_after(queue& later, queue& earlier);

//! The index of the GPU in whose memory this is; -1 if it is in no GPU's.
CUDAPHY_API int gpu_of_pointer(const void* memory);

} // namespace gr::cudaphy
