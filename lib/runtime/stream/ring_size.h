/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <string>

namespace gr::cudaphy {

//! Why GNU Radio's ring of such items would be too large, and what size of item to use
//! instead; empty if the ring is not too large. A ring is a whole number of items and of
//! pages, so that items of some odd 100 KB would take a ring of hundreds of megabytes.
std::string ring_problem(size_t item_bytes, size_t page_bytes);

//! The same for this machine's pages.
std::string ring_problem(size_t item_bytes);

} // namespace gr::cudaphy
