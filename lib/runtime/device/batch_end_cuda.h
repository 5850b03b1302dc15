/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>

namespace gr::cudaphy {

//! Host memory that kernels on the queue's device reach at the same address.
//! \throws std::bad_alloc
std::shared_ptr<void> make_shared_memory(queue& owner, size_t bytes);

//! Copies status words to the host if any is not 0 or `zeros_too`. Then writes `mark` to
//! `host_mark`, plus 1 if the words were copied.
void submit_batch_end(queue& work_queue,
                      const int* status,
                      int* host,
                      size_t words,
                      bool always,
                      unsigned* host_mark,
                      unsigned mark);

//! Writes `mark` to `host_mark` without a kernel; false if the driver can't.
bool submit_mark(queue& work_queue, unsigned* host_mark, unsigned mark);

} // namespace gr::cudaphy
