/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>

namespace gr::cudaphy {

// What the CUDA runtime tells about this machine. No function here throws, whatever is
// missing.

int count_devices();

struct probed_device {
    device_info info{};
    std::string problem; //!< why the device can't be used; empty if it can
};

//! The GPU of this index in its present state, or why it can't be used.
probed_device probe_device(int index);

} // namespace gr::cudaphy
