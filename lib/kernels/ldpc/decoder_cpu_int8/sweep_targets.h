/* SPDX-License-Identifier: GPL-3.0-or-later */
// As kernels/common/highway_targets.h, and AVX-512 with VBMI, which looks up a table of
// 128 bytes in one permutation.
#ifndef HWY_DISABLED_TARGETS
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
