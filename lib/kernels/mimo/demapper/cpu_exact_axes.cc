/* SPDX-License-Identifier: GPL-3.0-or-later */
#define DEMAP_PART demap_exact_axes
#define DEMAP_SYMBOLS demap_axes<false>
#include "kernels/mimo/demapper/cpu-inl.h"
