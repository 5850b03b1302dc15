/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/linalg/inverse/as_published/patent.cuh"
#include "kernels/linalg/inverse/cuda/launch.cuh"

namespace gr::cudaphy::kernels {

template <typename T>
void launch_patent(const batch_of<T>& batch, const inverse_launch& how)
{
    const patent_launch<T> launch(batch.size, how.order);
    inverse_patent<T><<<launch.grid, launch.block, launch.shared_bytes, how.stream>>>(
        batch, how.order);
    cuda_check_launch("inverse: inverse_patent");
}

template void launch_patent(const batch_of<float>&, const inverse_launch&);
template void launch_patent(const batch_of<double>&, const inverse_launch&);
template void launch_patent(const batch_of<float2>&, const inverse_launch&);
template void launch_patent(const batch_of<double2>&, const inverse_launch&);

} // namespace gr::cudaphy::kernels
