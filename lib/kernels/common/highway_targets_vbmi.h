/* SPDX-License-Identifier: GPL-3.0-or-later */
// As highway_targets.h, and AVX-512 of Ice Lake: VBMI looks up a table of 128 bytes in
// one permutation, and VPCLMULQDQ makes four carry-less products at once.
#ifndef HWY_DISABLED_TARGETS
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#elif !defined(HWY_WANT_AVX3_DL)
#error "highway_targets.h came first: the precompiled header, too, unless it is skipped."
#endif
