/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/memory/device_memory.cuh"
#include <cstring>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <memory>

namespace gr::cudaphy::kernels::nr {

//! One piece of memory for many arrays. First all of them are asked for, then make()
//! allocates, and at() says where each lies.
class arena
{
public:
    //! Where `count` items will lie.
    template <typename T>
    size_t place(size_t count)
    {
        const size_t at = d_size;
        d_size += (count * sizeof(T) + 255) / 256 * 256;
        return at;
    }
    size_t size() const { return d_size; }
    void make_on_device()
    {
        d_device = std::make_unique<device_memory<char>>(std::max<size_t>(d_size, 1));
    }
    void make_on_host()
    {
        d_host.reset(static_cast<char*>(page_locked_memory(std::max<size_t>(d_size, 1))));
        if (!d_host) {
            throw std::bad_alloc();
        }
    }
    template <typename T>
    T* at(size_t place) const
    {
        return reinterpret_cast<T*>(d_device->data() + place);
    }
    template <typename T>
    T* host(size_t place) const
    {
        return reinterpret_cast<T*>(d_host.get() + place);
    }

private:
    struct release {
        void operator()(char* memory) const { release_page_locked(memory); }
    };
    size_t d_size = 0;
    std::unique_ptr<device_memory<char>> d_device;
    std::unique_ptr<char, release> d_host;
};

} // namespace gr::cudaphy::kernels::nr
