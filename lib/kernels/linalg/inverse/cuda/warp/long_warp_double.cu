/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/warp/long_warp_launch.cuh"

template void gr::cudaphy::kernels::launch_long_warp(const batch_of<double>&,
                                                     const inverse_launch&);
