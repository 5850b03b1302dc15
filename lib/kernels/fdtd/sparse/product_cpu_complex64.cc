/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SPARSE_NUMBER complex64
#include "kernels/fdtd/sparse/product_cpu-inl.h"
