/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

// Products of complex64 on tensor cores, as products of TF32 numbers with 11 bits:
// a = high + low, and a b = high high + high low + low high to about 2^-22, as exact as
// float's own product. The 8 terms of a sum have an order in which an accumulator is an
// operand without a move. Lane 4 g + t of `mma` then has
//     of a      rows g and g + 8, columns 2 t (elements 0 and 1), 2 t + 1 (2 and 3)
//     of b      rows 2 t and 2 t + 1, column g
//     of a b    row g, columns 2 t and 2 t + 1 (0 and 1), and row g + 8 (2 and 3)

namespace gr::cudaphy::kernels {
namespace {

//! A number as two parts for TF32, which cuts off the last bits of `low`.
struct tf32_parts {
    uint32_t high, low;
};
__device__ __forceinline__ tf32_parts parts_of(float a)
{
    constexpr uint32_t half = 0x1000, kept_bits = 0xffffe000;
    const uint32_t high = (__float_as_uint(a) + half) & kept_bits;
    return { high, __float_as_uint(a - __uint_as_float(high)) };
}

//! d += a b, for a of 16 x 8 and b of 8 x 8 elements.
__device__ __forceinline__ void
add_product(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
        " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

//! A lane's N elements of a complex factor: 4 of a left factor, 2 of a right factor.
template <int N>
struct tf32_factor {
    uint32_t re_high[N], re_low[N], im_high[N], im_low[N];

    __device__ __forceinline__ void set(int e, float re, float im)
    {
        const auto r = parts_of(re), i = parts_of(im);
        re_high[e] = r.high;
        re_low[e] = r.low;
        im_high[e] = i.high;
        im_low[e] = i.low;
    }
    //! Row g + 8 `second` of a left factor, from column g of a right factor.
    __device__ __forceinline__ void set_row(int second, const tf32_factor<2>& column)
    {
        static_assert(N == 4);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            re_high[2 * e + second] = column.re_high[e];
            re_low[2 * e + second] = column.re_low[e];
            im_high[2 * e + second] = column.im_high[e];
            im_low[2 * e + second] = column.im_low[e];
        }
    }
};

//! re + i im += a b, small terms first.
__device__ __forceinline__ void add_complex_product(float (&re)[4],
                                                    float (&im)[4],
                                                    const tf32_factor<4>& a,
                                                    const tf32_factor<2>& b)
{
    constexpr uint32_t sign = 0x80000000;
    const uint32_t minus_im_high[] = { b.im_high[0] ^ sign, b.im_high[1] ^ sign };
    const uint32_t minus_im_low[] = { b.im_low[0] ^ sign, b.im_low[1] ^ sign };
    add_product(re, a.re_low, b.re_high);
    add_product(im, a.re_low, b.im_high);
    add_product(re, a.re_high, b.re_low);
    add_product(im, a.re_high, b.im_low);
    add_product(re, a.im_low, minus_im_high);
    add_product(im, a.im_low, b.re_high);
    add_product(re, a.im_high, minus_im_low);
    add_product(im, a.im_high, b.re_low);
    add_product(re, a.re_high, b.re_high);
    add_product(im, a.re_high, b.im_high);
    add_product(re, a.im_high, minus_im_high);
    add_product(im, a.im_high, b.re_high);
}

} // namespace
} // namespace gr::cudaphy::kernels
