/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/schedule.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

ldpc_schedule::ldpc_schedule(const ldpc_code& code, layout order)
{
    const auto& row_start = code.row_start();
    const auto degree = [&](int row) { return row_start[row + 1] - row_start[row]; };

    columns.reserve(code.edges());
    layer_start.push_back(0);
    for (auto rows : code.layers()) {
        std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) {
            return degree(a) < degree(b);
        });
        for (size_t first = 0, last = 0; first < rows.size(); first = last) {
            const int bits = degree(rows[first]);
            while (last < rows.size() && degree(rows[last]) == bits) {
                ++last;
            }
            const int count = static_cast<int>(last - first);
            const int base = static_cast<int>(columns.size());
            const bool side_by_side = order == layout::by_slot;
            columns.resize(columns.size() + static_cast<size_t>(bits) * count);
            for (int i = 0; i < count; ++i) {
                const check here = side_by_side ? check{ base + i, count, bits }
                                                : check{ base + i * bits, 1, bits };
                for (int slot = 0; slot < bits; ++slot) {
                    columns[here.first + slot * here.stride] =
                        code.columns()[row_start[rows[first + i]] + slot];
                }
                if (code.telling()[rows[first + i]]) {
                    telling.push_back(static_cast<int>(checks.size()));
                }
                checks.push_back(here);
            }
            max_degree = std::max(max_degree, bits);
        }
        layer_start.push_back(static_cast<int>(checks.size()));
        max_layer = std::max(max_layer, static_cast<int>(rows.size()));
    }
}

} // namespace gr::cudaphy::kernels
