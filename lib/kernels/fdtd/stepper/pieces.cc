/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/pieces.h"
#include <algorithm>

namespace gr::cudaphy::kernels {

template <typename T>
void fdtd_pieces<T>::add(
    int32_t first, int32_t last, uint32_t code, int32_t stride, uint32_t values)
{
    constexpr auto apart = fdtd_piece::values_apart;
    const auto stored = first / apart * apart;
    // As many elements under way as registers allow.
    const bool many = (code & fdtd_pattern_entries) > 5;
    const auto rows = fdtd_plan<T>::piece_rows / (many ? 2 : 1);
    while (first < last) {
        const auto base = first / fdtd_slice * fdtd_slice;
        const auto end = int32_t(std::min<int64_t>(last, int64_t(base) + rows));
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
void fdtd_pieces<T>::find_sequences(const std::vector<uint16_t>& number,
                                    const uint32_t* codes)
{
    d_number = &number;
    d_code = codes;
    d_stretches.clear(), d_sequences.clear(), d_found.clear();
    const auto rows = int32_t(number.size());
    int32_t begin = -1, end = -1; // of the short runs since the last long one
    const auto close = [&] {
        if (begin >= 0) {
            add_sequences(begin, end - begin);
            begin = -1;
        }
    };
    for (int32_t row = 0; row < rows;) {
        const auto from = row;
        while (row < rows && number[row] == number[from]) {
            ++row;
        }
        const auto code = codes[number[from]];
        const bool empty = code == fdtd_code_empty;
        if (code == 0 || row - from >= fdtd_short_run) {
            close();
            if (code && !empty) {
                d_stretches.push_back({ from, row - from, code, -1 });
            }
        } else if (!empty) {
            begin = begin < 0 ? from : begin;
            end = row;
        }
    }
    close();
    for (auto& each : d_sequences) {
        share(each);
    }
}

template <typename T>
void fdtd_pieces<T>::add_sequences(int32_t first, int32_t rows)
{
    const auto& number = *d_number;
    int32_t entries = 0;
    for (auto row = first; row < first + rows; ++row) {
        entries = std::max(entries, int32_t(d_code[number[row]] & fdtd_pattern_entries));
    }
    const auto add = [&](int32_t from, int32_t count) {
        const auto [found, added] = d_found.try_emplace(
            std::u16string(number.begin() + from, number.begin() + from + count),
            int32_t(d_sequences.size()));
        if (added) {
            d_sequences.push_back({ from, count, entries, 0, 0 });
        }
        ++d_sequences[found->second].times;
        d_stretches.push_back({ from, count, 0, found->second });
    };
    // Cuts sequences where the following rows say so: before the row that is the least of
    // so many rows, by an arbitrary order. So a series that recurs is cut at the same
    // places again and again.
    constexpr auto most = fdtd_plan<T>::piece_rows, span = most / 4 * 3;
    struct row_before {
        int32_t row;
        uint32_t rank;
    };
    std::vector<row_before> less; // rows after which all are greater
    auto from = first;
    for (auto row = first; row < first + rows; ++row) {
        const auto rank = uint32_t(number[row]) * 0x9E3779B1u;
        bool alone = true;
        while (!less.empty() && less.back().rank >= rank) {
            alone = alone && (less.back().rank > rank || row - less.back().row > span);
            less.pop_back();
        }
        const auto before = less.empty() ? first : less.back().row;
        less.push_back({ row, rank });
        if (row - from == most ||
            (row > from && row - before > span && (alone || row - from >= span))) {
            add(from, row - from);
            from = row;
        }
    }
    add(from, first + rows - from);
}

template <typename T>
void fdtd_pieces<T>::share(sequence& s)
{
    auto& all = d_plan.tables.pattern_entries;
    constexpr size_t apart = 16, a_pair = 2;
    const auto stride = int32_t((s.rows + apart - 1) / apart * apart);
    const auto begin = (all.size() + apart - 1) / apart * apart;
    // Else its rows are less, one by one.
    if (size_t(s.entries) > size_t(s.times) || begin / a_pair >= fdtd_most_patterns) {
        return;
    }
    all.resize(begin + size_t(stride) * size_t(s.entries), { fdtd_no_entry, T(0) });
    for (int32_t r = 0; r < s.rows; ++r) {
        const auto code = d_code[(*d_number)[s.first + r]];
        for (uint32_t e = 0; e < (code & fdtd_pattern_entries); ++e) {
            all[begin + e * stride + r] = all[size_t(code >> 8) * a_pair + e];
        }
    }
    s.code = uint32_t(begin / a_pair) << 8 | uint32_t(s.entries);
    d_plan.has_sequences = true;
}

template <typename T>
void fdtd_pieces<T>::add_runs(int32_t first, int64_t begin, int64_t end)
{
    auto& t = d_plan.tables;
    const auto singles = t.singles.size(), pieces = t.pieces.size();
    auto s = std::upper_bound(d_stretches.begin(),
                              d_stretches.end(),
                              begin,
                              [](int64_t row, const stretch& other) {
                                  return row < int64_t(other.first) + other.rows;
                              });
    for (; s != d_stretches.end() && s->first < end; ++s) {
        const auto from = std::max(int32_t(begin), s->first),
                   to = std::min(int32_t(end), s->first + s->rows);
        if (s->number < 0) {
            add(first + from, first + to, s->code);
        } else if (const auto& shared = d_sequences[s->number]; shared.code) {
            const auto stride = (shared.rows + 15) / 16 * 16;
            add_shared(pieces,
                       first + s->first,
                       shared.code,
                       fdtd_piece::rows_of(from - s->first, to - s->first, stride));
        } else {
            for (auto row = from; row < to; ++row) {
                const auto code = d_code[(*d_number)[row]];
                if (code != fdtd_code_empty) {
                    t.singles.push_back({ first + row, code });
                }
            }
        }
    }
    for (auto i = singles; i < t.singles.size(); i += fdtd_slice) {
        t.pieces.push_back({ int32_t(i), 0, 0, 0 });
    }
    t.singles.resize((t.singles.size() + fdtd_slice - 1) / fdtd_slice * fdtd_slice,
                     { -1, 0 });
}

template <typename T>
void fdtd_pieces<T>::add_shared(size_t begin, int32_t first, uint32_t code, uint32_t rows)
{
    auto& all = d_plan.tables.pieces;
    constexpr size_t looked_at = 16;
    for (auto p = all.size(); p > begin && all.size() - p < looked_at; --p) {
        auto& piece = all[p - 1];
        if (piece.code != code || piece.rows != rows) {
            continue;
        }
        const auto number = int32_t(piece.values >> 24),
                   apart = int32_t(piece.values & fdtd_piece::most_apart);
        const auto distance = first - (piece.first + (number - 1) * apart);
        if (number < fdtd_piece::most_sequences && distance <= fdtd_piece::most_apart &&
            (number == 1 || distance == apart)) {
            piece.values = fdtd_piece::sequences_of(number + 1, distance);
            return;
        }
        break;
    }
    all.push_back({ first, code, rows, fdtd_piece::sequences_of(1, 0) });
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
