/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/lanes_per_matrix_launch.cuh"

template void gr::cudaphy::kernels::launch_lanes_per_matrix(const batch_of<double>&,
                                                            const inverse_launch&);
