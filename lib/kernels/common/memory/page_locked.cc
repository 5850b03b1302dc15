/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include <cstring>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#ifdef CUDAPHY_HAVE_CUDA
#include "kernels/common/memory/page_locked_cuda.h"
#endif

namespace gr::cudaphy {

#ifdef CUDAPHY_HAVE_CUDA

void* page_locked_memory(size_t bytes) { return cuda_page_locked_memory(bytes); }
void release_page_locked(void* memory) { cuda_release_page_locked(memory); }
bool is_page_locked(const void* memory) { return cuda_is_page_locked(memory); }
void run_after(queue& later, queue& earlier) { cuda_run_after(later, earlier); }
int gpu_of_pointer(const void* memory) { return gpu_of_cuda_pointer(memory); }

#else

void* page_locked_memory(size_t) { return nullptr; }
void release_page_locked(void*) {}
bool is_page_locked(const void*) { return false; }
void run_after(queue&, queue&) {} // there are no CUDA queues
int gpu_of_pointer(const void*) { return -1; }

#endif

void copy_on_all_cores(void* to, const void* from, size_t bytes)
{
    for_each_part(bytes, 1 << 18, [&](size_t first, size_t last) {
        std::memcpy(static_cast<char*>(to) + first,
                    static_cast<const char*>(from) + first,
                    last - first);
    });
}

} // namespace gr::cudaphy
