/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy::kernels {
namespace {

//! Divides a workspace into pieces aligned to 256 bytes. From a null pointer it only
//! counts the bytes.
class workspace_pieces
{
public:
    explicit workspace_pieces(unsigned char* from = nullptr) : d_from(from) {}

    template <typename Item>
    Item* take(size_t count)
    {
        auto* piece = reinterpret_cast<Item*>(d_from + d_bytes);
        d_bytes += (count * sizeof(Item) + 255) / 256 * 256;
        return d_from ? piece : nullptr;
    }
    size_t bytes() const { return d_bytes; }

private:
    unsigned char* d_from;
    size_t d_bytes = 0;
};

//! \throws cuda_error if the current device has no room for a workspace of that size.
inline void expect_memory_for(size_t bytes, const std::string& what)
{
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess && bytes > free) {
        const auto megabytes = [](size_t b) { return std::to_string((b >> 20) + 1); };
        throw cuda_error(what + " needs " + megabytes(bytes) +
                         " MB of device memory to work in; " + megabytes(free) +
                         " MB are free of the device's " + megabytes(total));
    }
}

} // namespace
} // namespace gr::cudaphy::kernels
