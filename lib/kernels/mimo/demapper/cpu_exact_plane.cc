/* SPDX-License-Identifier: GPL-3.0-or-later */
#define DEMAP_PART demap_exact_plane
#define DEMAP_SYMBOLS demap_plane<false>
#include "kernels/mimo/demapper/cpu-inl.h"
