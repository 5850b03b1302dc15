/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/mimo/demapper/runs.cuh"

namespace gr::cudaphy::kernels {

bool launch_demapper_runs_float16(const demapper_points& from,
                                  const demapper_cuda_job& job,
                                  cudaStream_t stream)
{
    return launch_type<as_float16>(from, job, stream);
}

} // namespace gr::cudaphy::kernels
