/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy {

void* cuda_page_locked_memory(size_t bytes);
void cuda_release_page_locked(void* memory);
bool cuda_is_page_locked(const void* memory);
void cuda_run_after(queue& later, queue& earlier);
int gpu_of_cuda_pointer(const void* memory);

} // namespace gr::cudaphy
