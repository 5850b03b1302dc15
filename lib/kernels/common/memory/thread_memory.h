/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <hwy/aligned_allocator.h>
#include <new>

namespace gr::cudaphy {

//! Aligned memory that lasts from call to call: `thread_local thread_memory<float>
//! memory;`. A thread_local array would take its bytes from the stack of every thread of
//! the process. Threads with small stacks, as TBB's, could then not start.
template <typename T>
class thread_memory
{
public:
    //! At least `count` elements with undefined values. \throws std::bad_alloc
    T* get(size_t count)
    {
        if (d_count < count) {
            d_count = 0;
            d_memory.reset();
            d_memory = hwy::AllocateAligned<T>(count);
            if (!d_memory) {
                throw std::bad_alloc();
            }
            d_count = count;
        }
        return d_memory.get();
    }

private:
    hwy::AlignedFreeUniquePtr<T[]> d_memory;
    size_t d_count = 0;
};

} // namespace gr::cudaphy
