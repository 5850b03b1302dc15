/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/warps_per_matrix_launch.cuh"

template void gr::cudaphy::kernels::launch_warps_per_matrix(const batch_of<double>&,
                                                            const inverse_launch&);
template void gr::cudaphy::kernels::prepare_warps_per_matrix<double>(int, int, pivoting);
