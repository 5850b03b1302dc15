/* SPDX-License-Identifier: GPL-3.0-or-later */
#define DEMAP_PART demap_max_log
#define DEMAP_SYMBOLS demap_all<true>
#include "kernels/mimo/demapper/cpu-inl.h"
