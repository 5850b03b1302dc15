/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>

namespace gr::cudaphy::kernels {

//! A header that was found, or that must be there.
struct frame_header {
    uint64_t at = 0; //!< its first symbol
    int pls = 0;
    int length = 0;       //!< symbols of its frame
    double frequency = 0; //!< by this header alone
    //! |sum|^2 / symbols / their mean energy, the header taken off; of VL-SNR frames over
    //! the VL-SNR header too.
    float score = 0;
    bool is_first = false; //!< nothing is known of what lies before it
    bool is_last = false;  //!< what lies behind its frame is no header
};

} // namespace gr::cudaphy::kernels
