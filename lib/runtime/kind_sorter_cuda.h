/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/kind_sorter.h"

namespace gr::cudaphy {

//! What one block of threads copies while the others do the same.
constexpr size_t most_bytes_a_piece = 16384;

//! Copies pieces of that many bytes at most, any of which may begin anywhere and none
//! overlaps another; the list of them is in the device's memory.
void copy_pieces(queue& line, const copied_piece* pieces, size_t count);

} // namespace gr::cudaphy
