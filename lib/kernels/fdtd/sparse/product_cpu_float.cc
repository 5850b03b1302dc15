/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SPARSE_NUMBER float
#include "kernels/fdtd/sparse/product_cpu-inl.h"
