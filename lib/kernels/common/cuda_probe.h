/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

// What the CUDA runtime says of this machine. Nothing here throws, whatever is missing.

//! How many GPUs there are; where there are none, also why.
int count_devices(std::string& problem);

struct asked_device {
    device_info info{};
    std::string problem; //!< why it can't be used; empty where it can
};

//! A GPU as it is now.
asked_device probe_device(int index);

} // namespace gr::cudaphy
