/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief Keeps a range of host memory page-locked for as long as a copy of it lives, so
 * that the GPU copies from and to it without staging.
 *
 * Blocks that share a ring share one registration: a second one of the same range would
 * be refused, and ending it under a neighbour's running copy would break that. Null where
 * the range can't be locked.
 */
using page_lock = std::shared_ptr<void>;

page_lock lock_pages(const void* base, size_t bytes);

//! Whether a GPU reads and writes memory that is page-locked like this at the host's own
//! addresses, over the bus.
bool is_reached_by_gpu(const void* memory, int device);

//! Page-locked memory of its own; ordinary memory in a build without CUDA or where
//! locking fails.
std::shared_ptr<void> make_locked_memory(size_t bytes);

} // namespace gr::cudaphy
