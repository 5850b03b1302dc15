/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "runtime/device/kind_sorter.h"

namespace gr::cudaphy {

//! The most that one block of threads copies.
constexpr size_t most_bytes_a_piece = 16384;

//! Copies pieces of at most that many bytes. A piece may begin at any address; none
//! overlaps another. The list of pieces is in the device's memory.
void copy_pieces(queue& work_queue, const copied_piece* pieces, size_t count);

} // namespace gr::cudaphy
