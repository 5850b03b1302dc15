/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>

namespace gr::cudaphy::benchmarks {

//! Page-locks host memory during its lifetime, so that copies run beside the kernels. If
//! locking fails, the memory stays pageable.
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
