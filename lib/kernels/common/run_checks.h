/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

// Checks of the arguments of every kernel's run(), apart from their sizes.

namespace gr::cudaphy {

//! \throws std::invalid_argument if `queue` can't reach the memory that `kernel`, made
//! for `where`, works on.
inline void check_queue(const char* kernel, const queue& queue, backend where)
{
    if ((queue.where() == backend::cuda) != (where == backend::cuda)) {
        throw std::invalid_argument(std::string(kernel) + ": made for " + name_of(where) +
                                    ", but the queue is on " + name_of(queue.where()));
    }
}

//! \param what  "batch" or "plan": what needs the bytes
//! \throws std::invalid_argument if the workspace has fewer bytes than needed.
inline void
check_workspace(const char* kernel, const char* what, size_t bytes, size_t needed)
{
    if (bytes < needed) {
        throw std::invalid_argument(
            std::string(kernel) + ": the workspace has " + std::to_string(bytes) +
            " bytes; this " + what +
            " needs workspace_bytes() = " + std::to_string(needed));
    }
}

} // namespace gr::cudaphy
