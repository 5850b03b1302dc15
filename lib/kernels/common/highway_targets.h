/* SPDX-License-Identifier: GPL-3.0-or-later */
// The instruction sets that kernels are compiled for: SSE4, AVX2, AVX-512 and NEON,
// beside the compiler's own baseline. To be included before hwy/foreach_target.h and
// hwy/highway.h; it stands outside #pragma once because that is how they are used.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
