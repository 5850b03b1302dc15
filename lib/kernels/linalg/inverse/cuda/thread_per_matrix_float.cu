/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/cuda/thread_per_matrix_launch.cuh"

template void gr::cudaphy::kernels::launch_thread_per_matrix(const batch_of<float>&,
                                                             const inverse_launch&);
