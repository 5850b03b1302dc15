/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Keeps a range of host memory page-locked for as long as a copy of it lives, so
 * that the GPU copies from and to it without staging.
 *
 * Blocks that share a ring share one registration. CUDA would refuse a second one of the
 * same range, and ending the first would break a copy that the other block has under way.
 * Null if the range can't be locked.
 */
using page_lock = std::shared_ptr<void>;

page_lock lock_pages(const void* base, size_t bytes);

//! Whether a GPU reads and writes memory that is page-locked like this at the host's own
//! addresses, over the bus.
bool is_reached_by_gpu(const void* memory, int device);

//! Allocates page-locked memory; ordinary memory in a build without CUDA or if locking
//! fails.
std::shared_ptr<void> make_locked_memory(size_t bytes);

} // namespace gr::cudaphy
