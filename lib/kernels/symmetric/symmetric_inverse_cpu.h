/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/symmetric/dense_product.h"
#include "kernels/symmetric/symmetric_inverse_makers.h"

// Between symmetric_inverse_cpu.cc and symmetric_item-inl.h.

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
    bool parallel; //!< all cores work on it, else the calling thread alone
    std::function<void(double)> progress;
    unsigned char* workspace; //!< symmetric_item_bytes(), aligned
    //! The largest residual with which an indefinite matrix's inverse is good enough.
    decltype(std::abs(T())) enough = 8;
};

template <typename T>
struct symmetric_outcome {
    int status = 0;
    decltype(std::abs(T())) residual = 0;
    int refinements = 0;
};

//! The order of the matrix that the butterflies mix: a multiple of 4.
inline size_t mixed_order(size_t n) { return (n + 3) / 4 * 4; }

//! Its rows' distance: whole cache lines, but no large power of two, which would put a
//! column into a few sets of the cache.
inline size_t mixed_stride(size_t n)
{
    const size_t whole = (n + 3 + 15) / 16 * 16;
    return whole % 256 == 0 ? whole + 16 : whole;
}

//! Bytes of a packed slice of a product (dense_product-inl.h).
template <typename T>
size_t symmetric_packed_bytes(size_t n)
{
    return (256 * (n + 4 + 64) * sizeof(T) + 255) / 256 * 256;
}

template <typename T>
size_t symmetric_item_bytes(size_t n, definiteness definite)
{
    return symmetric_packed_bytes<T>(n) + (definite == definiteness::unknown
                                               ? mixed_stride(n) * (n + 3) * sizeof(T)
                                               : 0);
}

} // namespace gr::cudaphy::kernels
