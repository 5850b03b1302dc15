/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/parallel.h"

namespace gr::cudaphy {

//! The same as for_each_item, of an item and a function that calls it.
void for_each_item_by(size_t count,
                      void (*call)(const void* item, size_t i),
                      const void* item);

//! Calls item(i) for 0..count on all cores. An item may itself call for_each_part(); its
//! thread then takes no other item until it has ended this one, so that memory of a
//! thread serves one item at a time. \throws as for_each_part() does
template <typename Item>
void for_each_item(size_t count, const Item& item)
{
    for_each_item_by(
        count,
        [](const void* of, size_t i) { (*static_cast<const Item*>(of))(i); },
        &item);
}

} // namespace gr::cudaphy
