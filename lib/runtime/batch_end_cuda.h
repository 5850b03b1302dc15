/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>

namespace gr::cudaphy {

//! Memory of the host's that kernels on the queue's device reach at the same address.
//! \throws std::bad_alloc
std::shared_ptr<void> make_shared_memory(queue& owner, size_t bytes);

//! Copies status words to the host if any is not 0, or always; then writes there `mark`,
//! plus 1 if they were copied.
void submit_batch_end(queue& line,
                      const int* status,
                      int* host,
                      size_t words,
                      bool always,
                      unsigned* host_mark,
                      unsigned mark);

//! Writes there the mark alone, without a kernel; false where the driver can't.
bool submit_mark(queue& line, unsigned* host_mark, unsigned mark);

} // namespace gr::cudaphy
