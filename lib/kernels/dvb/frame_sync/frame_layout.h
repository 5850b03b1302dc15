/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <algorithm>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <vector>

namespace gr::cudaphy::kernels {

//! Where known symbols and data stand in a frame.
struct frame_layout {
    struct part {
        int at, count;
    };
    std::vector<part> known; //!< behind the header: pilots, and some of a dummy frame
    std::vector<part> data;

    explicit frame_layout(const dvb_mode& mode)
    {
        constexpr int pilot = 36, between = 16 * 90, between_dummy = 4 * 90;
        if (mode.dummy) {
            for (int at = pl_header_symbols + between_dummy; at + pilot <= mode.length();
                 at += between_dummy) {
                known.push_back({ at, pilot });
            }
            return;
        }
        int at = pl_header_symbols, rest = mode.symbols();
        for (int block = 0; block < mode.pilot_blocks(); ++block) {
            data.push_back({ at, between });
            at += between;
            rest -= between;
            known.push_back({ at, pilot });
            at += pilot;
        }
        if (rest > 0) {
            data.push_back({ at, rest });
        }
    }
};

} // namespace gr::cudaphy::kernels
