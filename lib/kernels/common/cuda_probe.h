/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

struct cuda_state {
    std::vector<device_info> devices; //!< usable ones
    std::string problem;              //!< why there is none
};

//! Asks the CUDA runtime; never throws for a machine without GPU, driver or CUDA
//! libraries.
cuda_state probe_cuda();

} // namespace gr::cudaphy
