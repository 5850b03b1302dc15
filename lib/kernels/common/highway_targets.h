/* SPDX-License-Identifier: GPL-3.0-or-later */
// The instruction sets that kernels are compiled for: SSE4, AVX2, AVX-512 and NEON, and
// the compiler's baseline. Include it before hwy/foreach_target.h and hwy/highway.h. It
// has no #pragma once, because Highway includes a source file several times.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
