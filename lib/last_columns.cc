/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "last_columns.h"

namespace gr::cudaphy {

std::vector<int> last_columns(const kernels::ldpc_code& code)
{
    const int n = code.n(), checks = code.checks();
    if (code.variables() != n || int64_t{ n } * checks > int64_t{ 1 } << 28) {
        throw std::invalid_argument(
            "info_bits \"last\" is not offered for the code " + code.name() +
            ", which leaves columns out or is too long: \"code\"");
    }
    const size_t words = (n + 63) / 64;
    std::vector<std::vector<uint64_t>> rows(checks, std::vector<uint64_t>(words, 0));
    for (int r = 0; r < checks; ++r) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            rows[r][code.columns()[e] / 64] |= uint64_t{ 1 } << code.columns()[e] % 64;
        }
    }
    std::vector<int> left;
    size_t rank = 0;
    for (int c = 0; c < n; ++c) {
        const auto has = [&](size_t r) { return rows[r][c / 64] >> c % 64 & 1; };
        size_t pivot = rank;
        while (pivot < rows.size() && !has(pivot)) {
            ++pivot;
        }
        if (pivot == rows.size()) {
            left.push_back(c);
            continue;
        }
        std::swap(rows[rank], rows[pivot]);
        for (size_t r = rank + 1; r < rows.size(); ++r) {
            if (has(r)) {
                for (size_t w = c / 64; w < words; ++w) {
                    rows[r][w] ^= rows[rank][w];
                }
            }
        }
        ++rank;
    }
    return left;
}

} // namespace gr::cudaphy
