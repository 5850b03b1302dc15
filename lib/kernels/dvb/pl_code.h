/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

// The code of a physical layer header, for those that make one and those that find one.

namespace gr::cudaphy::kernels::pl_code {

constexpr int first_extended = 128; //!< PLS code of S2X

//! The rows of the code for bits 1 to 6 of the PLS code. (EN 302 307-1, figure 13b)
constexpr uint32_t generator[] = { 0x55555555, 0x33333333, 0x0f0f0f0f,
                                   0x00ff00ff, 0x0000ffff, 0xffffffff };
//! The row for bit 0, of S2X. (EN 302 307-2, section 5.5.2.4)
constexpr uint32_t extended_row = 0x90ac2ddd;
//! (EN 302 307-1, section 5.5.2.4)
constexpr uint64_t scrambler = 0x719d83c953422dfa;
constexpr uint32_t start_of_frame = 0x18d2e82; // 26 bits

//! Symbol i of pi/2-BPSK for a bit 0, from i = 0.
inline std::complex<float> turned(int i)
{
    const float part = std::sqrt(0.5f);
    return i % 2 == 0 ? std::complex<float>(part, part)
                      : std::complex<float>(-part, part);
}

//! Hadamard's transform of 32 values, in place.
template <typename T>
void transform(T* values)
{
    for (int half = 1; half < 32; half *= 2) {
        for (int first = 0; first < 32; first += 2 * half) {
            for (int i = first; i < first + half; ++i) {
                const T a = values[i], b = values[i + half];
                values[i] = a + b;
                values[i + half] = a - b;
            }
        }
    }
}

//! The PLS code of value u of the transform; `negative`: its sign is the other one.
inline int code_of_value(int u, bool negative, bool extended, bool pilots)
{
    int pls = extended ? first_extended : 0;
    for (int row = 0; row < 5; ++row) {
        pls |= (u >> row & 1) << (6 - row);
    }
    return pls | negative << 1 | pilots;
}

} // namespace gr::cudaphy::kernels::pl_code
