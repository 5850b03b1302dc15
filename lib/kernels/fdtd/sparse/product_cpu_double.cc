/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SPARSE_NUMBER double
#include "kernels/fdtd/sparse/product_cpu-inl.h"
