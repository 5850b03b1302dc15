/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/cudaphy/kernels/nr/mcs.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels::nr {
namespace {

//! Indices of one order; rates times 1024.
struct rows {
    int order; // 0: q
    std::vector<double> rates;
};
using rate_table = std::vector<rows>;

const rate_table qam64{
    { 2, { 120, 157, 193, 251, 308, 379, 449, 526, 602, 679 } },
    { 4, { 340, 378, 434, 490, 553, 616, 658 } },
    { 6, { 438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948 } }
};
const rate_table qam256{ { 2, { 120, 193, 308, 449, 602 } },
                         { 4, { 378, 434, 490, 553, 616, 658 } },
                         { 6, { 466, 517, 567, 616, 666, 719, 772, 822, 873 } },
                         { 8, { 682.5, 711, 754, 797, 841, 885, 916.5, 948 } } };
const rate_table low_se{
    { 2, { 30, 40, 50, 64, 78, 99, 120, 157, 193, 251, 308, 379, 449, 526, 602 } },
    { 4, { 340, 378, 434, 490, 553, 616 } },
    { 6, { 438, 466, 517, 567, 616, 666, 719, 772 } }
};
const rate_table qam1024{ { 2, { 120, 193, 449 } },
                          { 4, { 378, 490, 616 } },
                          { 6, { 466, 517, 567, 616, 666, 719, 772, 822, 873 } },
                          { 8, { 682.5, 711, 754, 797, 841, 885, 916.5, 948 } },
                          { 10, { 805.5, 853, 900.5, 948 } } };
// The rates of the rows of order q are those times q.
const rate_table transform{
    { 0, { 240, 314 } },
    { 2, { 193, 251, 308, 379, 449, 526, 602, 679 } },
    { 4, { 340, 378, 434, 490, 553, 616, 658 } },
    { 6, { 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948 } }
};
const rate_table transform_low_se{
    { 0, { 60, 80, 100, 128, 156, 198 } },
    { 2, { 120, 157, 193, 251, 308, 379, 449, 526, 602, 679 } },
    { 4, { 378, 434, 490, 553, 616, 658, 699, 772 } },
    { 6, { 567, 616, 666, 772 } }
};

const rate_table& rows_of(mcs_table which)
{
    switch (which) {
    case mcs_table::qam64:
        return qam64;
    case mcs_table::qam256:
        return qam256;
    case mcs_table::qam64_low_se:
        return low_se;
    case mcs_table::qam1024:
        return qam1024;
    case mcs_table::transform_qam64:
        return transform;
    default:
        return transform_low_se;
    }
}

} // namespace

modulation_and_coding find_mcs(mcs_table which, int index, bool pi2_bpsk)
{
    int first = 0;
    for (const auto& [order, rates] : rows_of(which)) {
        const int size = static_cast<int>(rates.size());
        if (index >= first && index < first + size) {
            const double rate = rates[index - first] * 2;
            const int q = pi2_bpsk ? 1 : 2;
            return order ? modulation_and_coding{ order, int(rate) }
                         : modulation_and_coding{ q, int(rate) / q };
        }
        first += size;
    }
    throw std::invalid_argument("nr: MCS index " + std::to_string(index) +
                                " has no code rate; this table has 0 to " +
                                std::to_string(first - 1) +
                                " (TS 38.214, 5.1.3.1 and 6.1.4.1)");
}

} // namespace gr::cudaphy::kernels::nr
