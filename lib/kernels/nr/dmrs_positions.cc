/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/cudaphy/kernels/nr/dmrs_positions.h>

namespace gr::cudaphy::kernels::nr {
namespace {

//! Positions behind l_0 of durations l_d up to `longest`, by dmrs-AdditionalPosition.
struct row {
    int longest;
    std::vector<int> behind[4];
};
struct position_table {
    int shortest;
    std::vector<row> rows; // by rising duration
};

const position_table type_a{ 4,
                             { { 7, {} },
                               { 9, { {}, { 7 }, { 7 }, { 7 } } },
                               { 11, { {}, { 9 }, { 6, 9 }, { 6, 9 } } },
                               { 12, { {}, { 9 }, { 6, 9 }, { 5, 8, 11 } } },
                               { 14, { {}, { 11 }, { 7, 11 }, { 5, 8, 11 } } } } };
const position_table double_a{
    4, { { 9, {} }, { 12, { {}, { 8 } } }, { 14, { {}, { 10 } } } }
};
const position_table uplink_b{ 1,
                               { { 4, {} },
                                 { 7, { {}, { 4 }, { 4 }, { 4 } } },
                                 { 9, { {}, { 6 }, { 3, 6 }, { 3, 6 } } },
                                 { 11, { {}, { 8 }, { 4, 8 }, { 3, 6, 9 } } },
                                 { 14, { {}, { 10 }, { 5, 10 }, { 3, 6, 9 } } } } };
const position_table uplink_double_b{
    5, { { 7, {} }, { 9, { {}, { 5 } } }, { 11, { {}, { 7 } } }, { 14, { {}, { 9 } } } }
};
const position_table downlink_b{ 2,
                                 { { 4, {} },
                                   { 7, { {}, { 4 }, { 4 }, { 4 } } },
                                   { 8, { {}, { 6 }, { 3, 6 }, { 3, 6 } } },
                                   { 10, { {}, { 7 }, { 4, 7 }, { 4, 7 } } },
                                   { 11, { {}, { 8 }, { 4, 8 }, { 3, 6, 9 } } },
                                   { 13, { {}, { 9 }, { 5, 9 }, { 3, 6, 9 } } } } };
const position_table downlink_double_b{
    5, { { 7, {} }, { 9, { {}, { 5 } } }, { 11, { {}, { 7 } } }, { 13, { {}, { 8 } } } }
};

const position_table& table_of(const dmrs_timing& of)
{
    const bool one = of.length == 1;
    if (of.mapping_type == 'A') {
        return one ? type_a : double_a;
    }
    if (of.direction == link_direction::uplink) {
        return one ? uplink_b : uplink_double_b;
    }
    return one ? downlink_b : downlink_double_b;
}

} // namespace

std::vector<int> dmrs_positions(const dmrs_timing& of)
{
    const bool a = of.mapping_type == 'A';
    // Type A counts from the start of the slot, type B from that of the channel.
    const int origin = a ? 0 : of.first_symbol;
    const int duration = of.first_symbol + of.symbols - origin;
    const auto& which = table_of(of);
    // PDSCH of three symbols has an entry of its own.
    const bool three =
        a && of.direction == link_direction::downlink && of.length == 1 && duration == 3;
    if (of.additional_position < 0 || of.additional_position > (of.length == 1 ? 3 : 1) ||
        (duration < which.shortest && !three)) {
        return {};
    }
    for (const auto& row : which.rows) {
        if (duration <= row.longest) {
            std::vector<int> out{ origin + (a ? of.type_a_position : 0) };
            for (const int position : row.behind[of.additional_position]) {
                out.push_back(origin + position);
            }
            return out;
        }
    }
    return {};
}

} // namespace gr::cudaphy::kernels::nr
