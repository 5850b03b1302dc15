/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/last_columns.h"
#include <algorithm>
#include <numeric>

namespace gr::cudaphy {

std::vector<int> last_columns(const kernels::ldpc_code& code)
{
    const int n = code.n(), checks = code.checks();
    if (code.variables() != n || int64_t{ n } * checks > int64_t{ 1 } << 28) {
        throw std::invalid_argument(
            "info_bits \"last\" is not offered for the code " + code.name() +
            ", which leaves columns out or is too long: \"code\"");
    }
    // Row by row, as gr-fec does: what earlier rows determine is taken out, the first
    // column in the order so far that is left becomes this row's parity bit, and changes
    // places with the column that stood where the parity bits end.
    const size_t words = (static_cast<size_t>(n) + 63) / 64;
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<uint64_t>> reduced; // reduced[i] determines order[i]
    for (int r = 0; r < checks; ++r) {
        std::vector<uint64_t> row(words);
        const auto has = [&row](int c) { return row[c / 64] >> c % 64 & 1; };
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            row[code.columns()[e] / 64] |= uint64_t{ 1 } << code.columns()[e] % 64;
        }
        for (size_t i = 0; i < reduced.size(); ++i) {
            if (has(order[i])) {
                for (size_t w = 0; w < words; ++w) {
                    row[w] ^= reduced[i][w];
                }
            }
        }
        const auto end = order.begin() + static_cast<ptrdiff_t>(reduced.size());
        const auto pivot = std::find_if(end, order.end(), has);
        if (pivot != order.end()) {
            std::iter_swap(end, pivot);
            reduced.push_back(std::move(row));
        }
    }
    return { order.begin() + static_cast<ptrdiff_t>(reduced.size()), order.end() };
}

bool in_last_columns(const std::string& info_bits)
{
    if (info_bits != "code" && info_bits != "last") {
        throw std::invalid_argument("info_bits \"" + info_bits +
                                    "\" is neither \"code\" nor \"last\"");
    }
    return info_bits == "last";
}

} // namespace gr::cudaphy
