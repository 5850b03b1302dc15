/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/symmetric/cuda/blocked_inverse.cuh"

namespace gr::cudaphy::kernels {

CUDAPHY_INSTANTIATE(complex64)
CUDAPHY_INSTANTIATE(complex128)

} // namespace gr::cudaphy::kernels
