/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/cpu_product/dense_product.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"
#include <algorithm>

// Between inverse_cpu.cc and the files inverse_<type>.cc, one for each element type; not
// installed.

namespace gr::cudaphy::kernels {

//! One matrix to invert on the CPU.
template <typename T>
struct symmetric_item {
    const T* a;
    T* x;
    size_t order;
    symmetric_algorithm algorithm;
    definiteness definite;
    bool wants_residual;
    bool wants_rcond;
    bool parallel; //!< all cores work on it, else the calling thread alone
    std::function<void(double)> progress;
    unsigned char* workspace; //!< symmetric_item_bytes(), aligned
};

template <typename T>
struct symmetric_outcome {
    int status = 0;
    decltype(std::abs(T())) residual = 0;
    int refinements = 0;
    decltype(std::abs(T())) rcond = 0;
};

//! Inverts the matrix with the widest vectors that the processor has.
template <typename T>
symmetric_outcome<T> invert_symmetric(const symmetric_item<T>&);

//! Elements from row to row of the matrix that is factored: whole cache lines, but no
//! large power of two, which would put a column into few sets of the cache.
inline size_t factored_stride(size_t n)
{
    const size_t whole = (n + 15) / 16 * 16;
    return whole % 256 == 0 ? whole + 16 : whole;
}

//! Rows among which the pivots of an indefinite matrix are chosen, and pivots at a time.
constexpr size_t window_order = 256;
constexpr size_t pivots_at_a_time = 64;
//! Columns far from the pivots are brought up to date this many pivots at a time. A strip
//! of columns is always up to date; it holds the windows of this many pivots.
constexpr size_t pivots_in_a_block = 256;
constexpr size_t strip_width = pivots_in_a_block + window_order;

//! Elements from column to column in pivot_window: whole vectors.
inline size_t pivot_window_stride(size_t order) { return (order + 15) / 16 * 16; }

//! Reals that pivot_window needs. parts: 2 for complex elements, else 1.
inline size_t pivot_window_reals(size_t order, size_t parts)
{
    return ((order + 2 * pivots_at_a_time + 2) * parts + 3) * pivot_window_stride(order);
}

inline size_t whole_lines(size_t bytes) { return (bytes + 255) / 256 * 256; }

//! Bytes of a packed slice of a product (dense_product-inl.h, split_product-inl.h).
template <typename T>
size_t symmetric_packed_bytes(size_t n)
{
    const size_t split = std::is_same_v<T, float> ? 256 * (n + 64) * 6 : 0;
    return whole_lines(std::max(256 * (n + 64) * sizeof(T), split));
}

//! Bytes of the packed strip.
template <typename T>
size_t symmetric_strip_bytes(size_t n)
{
    return symmetric_packed_bytes<T>(std::min(n, strip_width));
}

//! Bytes of the matrix that is factored.
template <typename T>
size_t symmetric_factored_bytes(size_t n)
{
    return whole_lines(factored_stride(n) * n * sizeof(T));
}

//! Bytes of the strip, of the window, and of a panel of L beside the matrix.
template <typename T>
size_t symmetric_pivoting_bytes(size_t n)
{
    using real = decltype(std::abs(T()));
    return symmetric_strip_bytes<T>(n) +
           whole_lines(
               pivot_window_reals(std::min(n, window_order), sizeof(T) / sizeof(real)) *
               sizeof(real)) +
           n * pivots_at_a_time * sizeof(T);
}

template <typename T>
size_t symmetric_item_bytes(size_t n, definiteness definite)
{
    return symmetric_packed_bytes<T>(n) +
           (definite == definiteness::unknown
                ? symmetric_factored_bytes<T>(n) + symmetric_pivoting_bytes<T>(n)
                : 0);
}

} // namespace gr::cudaphy::kernels
