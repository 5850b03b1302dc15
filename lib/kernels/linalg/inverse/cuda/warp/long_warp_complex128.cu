/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/warp/long_warp_launch.cuh"
#include "kernels/linalg/inverse/cuda/warp/tall_warp_launch.cuh"

template void gr::cudaphy::kernels::launch_long_warp(const batch_of<double2>&,
                                                     const inverse_launch&);
template void gr::cudaphy::kernels::launch_tall_warp(const batch_of<double2>&,
                                                     const inverse_launch&);
