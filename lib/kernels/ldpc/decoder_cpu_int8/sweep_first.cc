/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SWEEP_PART fixed_sweep_first
#define SWEEP_FIRST true
#define SWEEP_ANSWERS scaled_answers<false>
#include "kernels/ldpc/decoder_cpu_int8/sweep_part.h"
