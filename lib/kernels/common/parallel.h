/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>

// TBB's headers take a second to compile, so that parallel.cc alone has them.

namespace gr::cudaphy {

//! The pieces of work that for_each_part runs at the same time.
size_t cores();

//! The same as for_each_part, of a part and a function that calls it.
void for_each_part_by(size_t count,
                      size_t grain,
                      void (*call)(const void* part, size_t first, size_t last),
                      const void* part);

//! Calls part(first, last) for pieces of 0..count on all cores. Every piece but the last
//! has at least `grain` items. \throws interrupted if the calling thread's interruption
//! is requested
template <typename Part>
void for_each_part(size_t count, size_t grain, const Part& part)
{
    for_each_part_by(
        count,
        grain,
        [](const void* of, size_t first, size_t last) {
            (*static_cast<const Part*>(of))(first, last);
        },
        &part);
}

} // namespace gr::cudaphy
