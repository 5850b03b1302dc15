/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr/require.h"
#include <gnuradio/cudaphy/kernels/nr/resource_blocks.h>

namespace gr::cudaphy::kernels::nr {
namespace {

void require_bwp(int start, int size)
{
    require(start >= 0 && size >= 1 && size <= 275,
            "a bandwidth part starts at resource block 0 or later and has 1 to 275 (TS "
            "38.211, 4.4.5)");
}

//! P of table 5.1.2.2.1-1.
int group_size(int bwp_size, int configuration)
{
    const bool first = configuration == 1;
    if (bwp_size <= 36) {
        return first ? 2 : 4;
    }
    if (bwp_size <= 72) {
        return first ? 4 : 8;
    }
    if (bwp_size <= 144) {
        return first ? 8 : 16;
    }
    return 16;
}

} // namespace

std::vector<int> bitmap_resource_blocks(const std::string& bitmap,
                                        int bwp_start,
                                        int bwp_size,
                                        int configuration)
{
    require_bwp(bwp_start, bwp_size);
    require(configuration == 1 || configuration == 2,
            "rbg-Size is configuration 1 or 2 (TS 38.214, 5.1.2.2.1)");
    const int size = group_size(bwp_size, configuration);
    const int offset = bwp_start % size;
    const int groups = (bwp_size + offset + size - 1) / size;
    require(static_cast<int>(bitmap.size()) == groups,
            "the bitmap has " + std::to_string(bitmap.size()) +
                " digits, the bandwidth part " + std::to_string(groups) +
                " resource block groups (TS 38.214, 5.1.2.2.1)");
    std::vector<int> out;
    for (int i = 0; i < bwp_size; ++i) {
        // The first group ends at a multiple of the groups' size.
        const char digit = bitmap[(i + offset) / size];
        require(digit == '0' || digit == '1', "the bitmap has digits other than 0 and 1");
        if (digit == '1') {
            out.push_back(i);
        }
    }
    require(!out.empty(), "the bitmap names no resource block");
    return out;
}

std::vector<int> interleaved_resource_blocks(int bwp_start, int bwp_size, int bundle)
{
    require_bwp(bwp_start, bwp_size);
    require(bundle == 2 || bundle == 4,
            "vrb-ToPRB-Interleaver is bundles of 2 or 4 resource blocks (TS 38.211, "
            "7.3.1.6)");
    const int offset = bwp_start % bundle;
    const int bundles = (bwp_size + offset + bundle - 1) / bundle;
    const int columns = bundles / 2;
    std::vector<int> out;
    for (int j = 0; j < bundles; ++j) {
        const int to = j == bundles - 1 ? j : j % 2 * columns + j / 2;
        for (int i = 0; i < bundle; ++i) {
            // Bundles start at multiples of their size, counted as common blocks are.
            const int virtual_block = j * bundle - offset + i;
            const int block = to * bundle - offset + i;
            if (virtual_block >= 0 && virtual_block < bwp_size) {
                // The first bundle is short of `offset` blocks and maps onto itself.
                out.push_back(block);
            }
        }
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr
