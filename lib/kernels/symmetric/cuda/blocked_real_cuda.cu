/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cuda/blocked_inverse.cuh"

namespace gr::cudaphy::kernels {

CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)

} // namespace gr::cudaphy::kernels
