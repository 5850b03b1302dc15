/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/stream/ring_size.h"
#include <numeric>
#include <unistd.h>

namespace gr::cudaphy {
namespace {

constexpr size_t most = size_t{ 256 } << 20; // bytes
constexpr size_t element = 8;                // of the widest kind, complex64

//! The least bytes of a ring.
size_t ring_bytes(size_t item_bytes, size_t page_bytes)
{
    return std::lcm(item_bytes, page_bytes);
}

} // namespace

std::string ring_problem(size_t item_bytes, size_t page_bytes)
{
    const auto least = ring_bytes(item_bytes, page_bytes);
    if (least <= most) {
        return {};
    }
    std::string text = "items of " + std::to_string(item_bytes) +
                       " bytes take a buffer of " +
                       std::to_string((least + (1 << 20) - 1) >> 20) +
                       " MiB at least, allowed are " + std::to_string(most >> 20);
    for (size_t step = element; step <= page_bytes; step *= 2) {
        const auto padded = (item_bytes + step - 1) / step * step;
        if (ring_bytes(padded, page_bytes) <= most) {
            return text + ": pad the vectors to " + std::to_string(padded) +
                   " bytes, a vlen of " + std::to_string(padded / 8) + " complex or " +
                   std::to_string(padded / 4) + " float items";
        }
    }
    return text + ": use shorter vectors";
}

std::string ring_problem(size_t item_bytes)
{
    return ring_problem(item_bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

} // namespace gr::cudaphy
