/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// The matrix units (AMX) of x86 processors.

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CUDAPHY_MATRIX_UNITS 1
#else
#define CUDAPHY_MATRIX_UNITS 0
#endif

namespace gr::cudaphy::kernels::matrix_units {

/*
 * Matrix units multiply bfloat16 and add in float. A float is the sum of three bfloat16:
 * high, middle and low. The six largest of the nine products of such parts make a product
 * of floats but for its last bit (Henry, Tang, Heinecke, "Leveraging the bfloat16
 * Artificial Intelligence Datatype For Higher-Precision Computations", 2019).
 *
 * A panel has 32 rows of the first factor or 32 columns of the second, in steps of 32
 * elements. A step has three parts (high, middle, low) of two tiles each. A tile has 16
 * rows of 16 words, a word two bfloat16. A tile of the first factor has 32 elements of 16
 * rows. A row of a tile of the second factor has two elements of each of 16 columns.
 */
constexpr size_t side = 32;
constexpr size_t step = 32;
constexpr size_t tile_side = 16;
constexpr size_t tile_words = tile_side * tile_side;
constexpr size_t step_words = 3 * 2 * tile_words;

#if CUDAPHY_MATRIX_UNITS

//! Whether this process may use matrix units. The first call asks the kernel for them.
inline bool usable()
{
    static const bool granted = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        constexpr unsigned bfloat16 = 1u << 22, tiles = 1u << 24;
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & bfloat16) == 0 ||
            (d & tiles) == 0) {
            return false;
        }
        constexpr long request = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM
        return syscall(SYS_arch_prctl, request, tile_data) == 0;
    }();
    return granted;
}

//! Configures the calling thread's tiles, and releases them at its end.
class session
{
public:
    session()
    {
        struct alignas(64) {
            uint8_t palette = 1, first_row = 0, reserved[14] = {};
            uint16_t bytes[16] = { 64, 64, 64, 64, 64, 64, 64, 64 };
            uint8_t rows[16] = { 16, 16, 16, 16, 16, 16, 16, 16 };
        } const configuration;
        asm volatile("ldtilecfg %0" ::"m"(configuration));
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() { asm volatile("tilerelease"); }

    //! Writes the product of two panels of `steps` steps to `to`, (side, side). Each step
    //! prefetches the next `lines` cache lines of `ahead` into the second-level cache.
    void multiply(size_t steps,
                  const uint32_t* a,
                  const uint32_t* b,
                  float* to,
                  const uint32_t* ahead,
                  size_t lines) const
    {
        asm volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\t"
                     "tilezero %%tmm2\n\ttilezero %%tmm3" ::);
        for (size_t s = 0; s < steps; ++s, a += step_words, b += step_words) {
            for (size_t l = 0; l < lines; ++l, ahead += tile_side) {
                __builtin_prefetch(ahead, 0, 2);
            }
            load_a(a, high);
            load_b(b, low);
            multiply_tiles();
            load_b(b, middle);
            multiply_tiles();
            load_b(b, high);
            multiply_tiles();
            load_a(a, middle);
            multiply_tiles();
            load_b(b, middle);
            multiply_tiles();
            load_a(a, low);
            load_b(b, high);
            multiply_tiles();
        }
        constexpr size_t row = side * sizeof(float);
        asm volatile(
            "tilestored %%tmm0, (%0,%4,1)\n\ttilestored %%tmm1, (%1,%4,1)\n\t"
            "tilestored %%tmm2, (%2,%4,1)\n\ttilestored %%tmm3, (%3,%4,1)" ::"r"(to),
            "r"(to + tile_side),
            "r"(to + tile_side * side),
            "r"(to + tile_side * side + tile_side),
            "r"(row)
            : "memory");
    }

private:
    enum part { high, middle, low };

    // A goes to tiles 4 and 5, B to tiles 6 and 7.
    static void load_a(const uint32_t* a, part p)
    {
        asm volatile("tileloadd (%0,%2,1), %%tmm4\n\ttileloadd (%1,%2,1), %%tmm5" ::"r"(
                         a + 2 * p * tile_words),
                     "r"(a + (2 * p + 1) * tile_words),
                     "r"(tile_side * sizeof(uint32_t))
                     : "memory");
    }
    static void load_b(const uint32_t* b, part p)
    {
        asm volatile("tileloadd (%0,%2,1), %%tmm6\n\ttileloadd (%1,%2,1), %%tmm7" ::"r"(
                         b + 2 * p * tile_words),
                     "r"(b + (2 * p + 1) * tile_words),
                     "r"(tile_side * sizeof(uint32_t))
                     : "memory");
    }
    static void multiply_tiles()
    {
        asm volatile("tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                     "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
                     "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                     "tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::);
    }
};

#else

inline bool usable() { return false; }

#endif

} // namespace gr::cudaphy::kernels::matrix_units
