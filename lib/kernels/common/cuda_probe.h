/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

// What the CUDA runtime says of this machine. Nothing here throws, whatever is missing.

int count_devices();

struct asked_device {
    device_info info{};
    std::string problem; //!< why it can't be used; empty where it can
};

//! A GPU as it is now, or why there is none of that index.
asked_device probe_device(int index);

} // namespace gr::cudaphy
