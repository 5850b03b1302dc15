/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/fdtd_stepper_pieces.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

template <typename T>
void fdtd_pieces<T>::add(
    int32_t first, int32_t last, uint32_t code, int32_t stride, uint32_t values)
{
    constexpr auto apart = fdtd_piece::values_apart;
    const auto stored = first / apart * apart;
    while (first < last) {
        const auto base = first / fdtd_slice * fdtd_slice;
        const auto end =
            int32_t(std::min<int64_t>(last, int64_t(base) + fdtd_plan<T>::piece_rows));
        d_plan.tables.pieces.push_back(
            { base,
              code,
              fdtd_piece::rows_of(first - base, end - base, stride),
              values + uint32_t(first - stored) / uint32_t(apart) });
        first = end;
    }
}

template <typename T>
void fdtd_pieces<T>::add(const typename fdtd_system<T>::update& update,
                         std::vector<uint16_t>& number,
                         int64_t begin,
                         int64_t end)
{
    auto& all = d_plan.tables.values;
    const auto& a = update.matrix;
    constexpr auto apart = fdtd_piece::values_apart;
    const auto alike = [&](int64_t row, int64_t other) {
        const auto count = a.row_start[row + 1] - a.row_start[row];
        bool same = count == a.row_start[other + 1] - a.row_start[other];
        for (int64_t e = 0; same && e < count; ++e) {
            same = a.column[a.row_start[row] + e] - row ==
                   a.column[a.row_start[other] + e] - other;
        }
        return same;
    };
    for (auto row = begin; row < end;) {
        const auto from = row++;
        while (row < end && alike(row, from)) {
            ++row;
        }
        const auto code = row - from < fdtd_short_run ? 0 : code_of(update, from);
        if (code == 0) {
            continue;
        }
        const auto first = int32_t(update.first + from),
                   last = int32_t(update.first + row);
        const auto stored = first / apart * apart;
        const auto stride = (last - stored + apart - 1) / apart * apart;
        const auto values = fdtd_align(all, apart);
        for (int64_t e = 0; e < a.row_start[from + 1] - a.row_start[from]; ++e) {
            const auto to = all.size() + size_t(first - stored);
            all.resize(all.size() + size_t(stride));
            for (auto r = from; r < row; ++r) {
                all[to + size_t(r - from)] = a.value[a.row_start[r] + e];
            }
        }
        add(first, last, code, stride, values);
        std::fill(number.begin() + from, number.begin() + row, uint16_t(1));
    }
}

template <typename T>
uint32_t fdtd_pieces<T>::code_of(const typename fdtd_system<T>::update& update,
                                 int64_t row)
{
    const auto& a = update.matrix;
    auto& entries = d_plan.tables.pattern_entries;
    const auto count = a.row_start[row + 1] - a.row_start[row];
    const auto place = std::max<size_t>(1, entries.size() / 2);
    if (count == 0 || count > fdtd_pattern_entries || place >= fdtd_most_patterns) {
        return 0;
    }
    std::vector<int32_t> distances;
    for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
        distances.push_back(int32_t(a.column[e] - update.first - row));
    }
    auto& code = d_codes[distances];
    if (code == 0) {
        code = uint32_t(place << 8) | uint32_t(count);
        entries.resize(2 * place);
        for (const auto distance : distances) {
            entries.push_back({ distance, T(0) });
        }
        entries.resize((entries.size() + 1) / 2 * 2);
    }
    return code;
}

template class fdtd_pieces<float>;
template class fdtd_pieces<double>;

} // namespace gr::cudaphy::kernels
