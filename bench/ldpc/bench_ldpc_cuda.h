/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>

namespace gr::cudaphy::benchmarks {

//! Page-locks memory of the host while it lives, so that copies from and to it run beside
//! the kernels. Where that fails, nothing is locked.
class page_locked
{
public:
    page_locked(void* memory, size_t bytes);
    ~page_locked();
    page_locked(const page_locked&) = delete;
    page_locked& operator=(const page_locked&) = delete;

private:
    void* d_memory;
};

} // namespace gr::cudaphy::benchmarks
