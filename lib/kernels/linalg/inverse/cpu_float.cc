/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CUDAPHY_INVERSE_TYPE float
#include "kernels/linalg/inverse/cpu_type.h"
