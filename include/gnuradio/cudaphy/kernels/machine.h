/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>
#include <string>

namespace gr::cudaphy {

//! The vector instructions that the CPU kernels take on this machine, in Highway's words:
//! "SSE4", "AVX2", "AVX3" (AVX-512), "AVX3_ZEN4", "NEON".
CUDAPHY_API std::string cpu_vector_units();

//! Lanes of float32 in one of their vectors.
CUDAPHY_API int cpu_vector_lanes();

//! CUDA's versions, 12040 for 12.4; 0 where there is none.
struct cuda_versions {
    int built_with; //!< the toolkit's
    int driver;     //!< the latest that the driver supports
};
CUDAPHY_API cuda_versions versions_of_cuda();

//! What a backend's hardware does in a second, measured: what no kernel can pass.
struct machine_rates {
    double copied_bytes;    //!< of its memory, read and written ones both counted
    double multiply_adds;   //!< fused, of float32, on all lanes
    double byte_operations; //!< additions of int8 on all lanes; on CUDA two a 32-bit lane
};

//! Takes about a second. \throws backend_unavailable as resolve() does.
CUDAPHY_API machine_rates measure_machine(backend where = backend::automatic,
                                          int device = 0);

} // namespace gr::cudaphy
