/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CUDAPHY_SYMMETRIC_TYPE float
#include "kernels/symmetric/cpu/inverse_type.h"
