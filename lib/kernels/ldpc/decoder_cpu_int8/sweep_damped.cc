/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SWEEP_PART fixed_sweep_damped
#define SWEEP_FIRST false
#define SWEEP_ANSWERS scaled_answers<true>
#include "kernels/ldpc/decoder_cpu_int8/sweep_part.h"
