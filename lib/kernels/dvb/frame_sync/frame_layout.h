/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/vl_snr_table.h"
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
        if (mode.is_vl_snr()) {
            if (!mode.dummy) {
                lay_out(set_of_vl_snr(mode.pls - first_vl_snr), mode.header_symbols());
            }
            return;
        }
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

private:
    //! Of a VL-SNR frame. (EN 302 307-2, section 5.5.2.5, figures 17 and 18)
    void lay_out(const vl_snr_set& set, int at)
    {
        constexpr int pilot = 36;
        const auto add = [&](std::vector<part>& to, int count) {
            to.push_back({ at, count });
            at += count;
        };
        const auto add_groups = [&](int groups, int half, int amid) {
            for (int i = 0; i < groups; ++i) {
                add(data, half);
                add(known, amid);
                add(data, half);
                add(known, pilot);
            }
        };
        add(data, vl_snr_first_data);
        add(known, pilot);
        add_groups(set.narrow_groups, set.narrow_data, set.narrow_pilots);
        add_groups(set.wide_groups, set.wide_data, set.wide_pilots);
        add(data, set.tail);
    }
};

} // namespace gr::cudaphy::kernels
