/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/layout.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

namespace gr::cudaphy::kernels {
namespace {

template <typename T>
sparse_matrix<T> transposed(const sparse_matrix<T>& a)
{
    sparse_matrix<T> out;
    out.rows = a.columns;
    out.columns = a.rows;
    out.row_start.assign(size_t(a.columns) + 1, 0);
    for (const auto column : a.column) {
        ++out.row_start[size_t(column) + 1];
    }
    std::partial_sum(out.row_start.begin(), out.row_start.end(), out.row_start.begin());
    out.column.resize(a.column.size());
    out.value.resize(a.value.size());
    auto next = out.row_start;
    for (int64_t row = 0; row < a.rows; ++row) {
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            const auto place = next[a.column[e]]++;
            out.column[place] = int32_t(row);
            out.value[place] = a.value[e];
        }
    }
    return out;
}

std::vector<int32_t> all_rows(int64_t rows)
{
    std::vector<int32_t> all(rows);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

//! Moves rows that follow each other, eight or more of them, before all others. \returns
//! their number
size_t runs_first(std::vector<int32_t>& rows)
{
    constexpr size_t least = 8;
    std::vector<int32_t> others;
    size_t kept = 0;
    for (size_t i = 0; i < rows.size();) {
        const auto from = i++;
        while (i < rows.size() && rows[i] == rows[i - 1] + 1) {
            ++i;
        }
        if (i - from >= least) {
            kept = std::copy(rows.begin() + from, rows.begin() + i, rows.begin() + kept) -
                   rows.begin();
        } else {
            others.insert(others.end(), rows.begin() + from, rows.begin() + i);
        }
    }
    std::copy(others.begin(), others.end(), rows.begin() + kept);
    return kept;
}

} // namespace

template <typename T>
compressed_layout<T>::compressed_layout(const sparse_matrix<T>& a)
    : start(a.row_start.begin(), a.row_start.end()), column(a.column), value(a.value)
{
    for (int64_t row = 0; row < a.rows; ++row) {
        if (tiles.empty() || row - tiles.back().row == rows_of_tile ||
            a.row_start[row + 1] - tiles.back().entry > entries_of_tile) {
            tiles.push_back({ a.row_start[row], int32_t(row) });
        }
    }
    tiles.push_back({ a.entries(), int32_t(a.rows) });
}

template <typename T>
size_t compressed_layout<T>::bytes() const
{
    return bytes_of(start) + bytes_of(tiles) + bytes_of(column) + bytes_of(value);
}

template <typename T>
ccs_layout<T>::ccs_layout(const sparse_matrix<T>& a) : compressed_layout<T>(transposed(a))
{
}

template <typename T>
bcrs_layout<T>::bcrs_layout(const sparse_matrix<T>& a, int size)
    : block(size), mask_bytes((size * size + 7) / 8), start{ 0 }
{
    for (int64_t top = 0; top < a.rows; top += block) {
        const auto bottom = std::min(top + block, a.rows);
        const auto first = a.row_start[top], end = a.row_start[bottom];
        const auto begin = column.size();
        for (auto e = first; e < end; ++e) {
            column.push_back(a.column[e] / block);
        }
        std::sort(column.begin() + begin, column.end());
        column.erase(std::unique(column.begin() + begin, column.end()), column.end());
        value.resize(column.size() * block * block);
        mask.resize(column.size() * mask_bytes);
        for (auto row = top; row < bottom; ++row) {
            auto place = column.begin() + begin;
            for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
                while (*place != a.column[e] / block) {
                    ++place;
                }
                const size_t number = place - column.begin();
                const int bit = int(a.column[e] % block * block + (row - top));
                value[number * block * block + bit] = a.value[e];
                mask[number * mask_bytes + bit / 8] |= uint8_t(1 << bit % 8);
            }
        }
        start.push_back(int64_t(column.size()));
    }
}

template <typename T>
size_t bcrs_layout<T>::bytes() const
{
    return bytes_of(start) + bytes_of(column) + bytes_of(value) + bytes_of(mask);
}

template <typename T>
subdivided_layout<T>::subdivided_layout(const sparse_matrix<T>& a, bool for_vectors)
    : subdivided_layout(a, all_rows(a.rows), for_vectors)
{
}

template <typename T>
subdivided_layout<T>::subdivided_layout(const sparse_matrix<T>& a,
                                        const std::vector<int32_t>& rows,
                                        bool for_vectors)
{
    const auto count_of = [&](int32_t row) {
        return a.row_start[row + 1] - a.row_start[row];
    };
    std::map<int64_t, std::vector<int32_t>> groups;
    int64_t entries = 0;
    for (const auto row : rows) {
        const auto count = count_of(row);
        groups[count].push_back(row);
        entries += count;
    }
    column.reserve(entries);
    value.reserve(entries);
    const auto append = [&](int64_t e) {
        column.push_back(a.column[e]);
        value.push_back(a.value[e]);
    };
    for (auto& [count, group] : groups) {
        const auto alone =
            for_vectors && count < long_row_if_alone ? runs_first(group) : 0;
        size_t next = 0;
        while (next < group.size()) {
            auto height = std::min<size_t>(group.size() - next, sparse_chunk::most_rows);
            if (next < alone) {
                size_t run = 1;
                while (run < height && group[next + run] == group[next] + int32_t(run)) {
                    ++run;
                }
                height = run;
            }
            const int64_t entry = column.size();
            const auto* first = &group[next];
            if (count >= long_row ||
                (count >= long_row_if_alone && height < sparse_chunk::most_rows)) {
                long_rows.push_back({ entry, *first, int32_t(count) });
                for (int64_t j = 0; j < count; ++j) {
                    append(a.row_start[*first] + j);
                }
                ++next;
                continue;
            }
            int32_t place = *first;
            if (first[height - 1] - *first != int32_t(height) - 1) {
                place = ~int32_t(row_list.size());
                row_list.insert(row_list.end(), first, first + height);
            }
            chunks.push_back(
                { entry,
                  place,
                  uint32_t(count) * sparse_chunk::most_rows + uint32_t(height) - 1 });
            for (int64_t j = 0; j < count; ++j) {
                for (size_t i = 0; i < height; ++i) {
                    append(a.row_start[first[i]] + j);
                }
            }
            next += height;
        }
    }
    // The longest rows first, so that none is still under way when all others are done.
    std::reverse(long_rows.begin(), long_rows.end());
    if (for_vectors) {
        shorten_columns();
    }
}

template <typename T>
void subdivided_layout<T>::shorten_columns()
{
    std::vector<int32_t> all;
    all.swap(column);
    for (const auto& chunk : chunks) {
        const auto rows = chunk.rows(), entries = chunk.entries();
        const auto* const from = all.data() + chunk.entry;
        bool straight = chunk.row >= 0;
        for (int64_t e = 0; straight && e < int64_t(rows) * entries; ++e) {
            straight = from[e] - e % rows == from[e - e % rows];
        }
        columns_at.push_back(straight ? ~int64_t(column.size()) : int64_t(column.size()));
        for (int64_t e = 0; e < int64_t(rows) * entries; e += straight ? rows : 1) {
            column.push_back(from[e]);
        }
    }
    for (const auto& row : long_rows) {
        columns_at.push_back(int64_t(column.size()));
        const auto from = all.begin() + row.entry;
        column.insert(column.end(), from, from + row.entries);
    }
    column.shrink_to_fit();
}

template <typename T>
size_t subdivided_layout<T>::bytes() const
{
    return bytes_of(chunks) + bytes_of(long_rows) + bytes_of(row_list) +
           bytes_of(columns_at) + bytes_of(column) + bytes_of(value);
}

template <typename T>
dictionary_layout<T>::dictionary_layout(const sparse_matrix<T>& a, bool for_vectors)
    : patterns(row_patterns<T>::find(a)), others(a, patterns.explicit_rows, for_vectors)
{
}

template <typename T>
size_t dictionary_layout<T>::bytes() const
{
    const auto rows = patterns.runs.empty()
                          ? 0
                          : patterns.runs.back().first + patterns.runs.back().count;
    return size_t(rows) * number_bytes() + bytes_of(patterns.start) +
           bytes_of(patterns.offset) + bytes_of(patterns.value) + others.bytes();
}

template <typename T>
diagonal_layout<T>::diagonal_layout(const sparse_matrix<T>& a)
    : rows(a.rows), columns(a.columns)
{
    // How many entries each diagonal has; that of the lower left corner is the first.
    std::vector<int32_t> entries(size_t(std::max<int64_t>(rows + columns - 1, 0)));
    for (int64_t row = 0; row < rows; ++row) {
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            ++entries[a.column[e] - row + rows - 1];
        }
    }
    std::vector<int32_t> number(entries.size(), -1);
    int32_t with_holes = 0;
    for (size_t d = 0; d < entries.size(); ++d) {
        if (entries[d] > 0) {
            const auto offset = int64_t(d) - (rows - 1);
            const auto first = std::max<int64_t>(0, -offset);
            const auto end = std::min(rows, columns - offset);
            number[d] = int32_t(diagonals.size());
            diagonals.push_back({ int32_t(offset),
                                  int32_t(first),
                                  int32_t(end),
                                  entries[d] < end - first ? with_holes++ : -1 });
        }
    }
    // As floating point, which does not overflow.
    const double needed =
        double(rows) * diagonals.size() * sizeof(T) + 4.0 * words() * with_holes;
    const double compressed = double(a.entries()) * (sizeof(T) + 4) + (rows + 1) * 4.0;
    if (needed > 8 * compressed) {
        throw std::invalid_argument(
            "diagonal format: " + std::to_string(diagonals.size()) +
            " diagonals would take " + std::to_string(std::llround(needed)) +
            " bytes, more than eight times the " +
            std::to_string(std::llround(compressed)) +
            " of compressed rows; take another format, such as subdivided_crs");
    }
    value.resize(size_t(rows) * diagonals.size());
    present.resize(size_t(words()) * with_holes);
    for (int64_t row = 0; row < rows; ++row) {
        for (auto e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
            const auto d = number[a.column[e] - row + rows - 1];
            value[d * rows + row] = a.value[e];
            const auto holes = diagonals[d].holes;
            if (holes >= 0) {
                present[holes * words() + row / 32] |= uint32_t(1) << row % 32;
            }
        }
    }
}

template <typename T>
size_t diagonal_layout<T>::bytes() const
{
    return bytes_of(diagonals) + bytes_of(value) + bytes_of(present);
}

template <typename T>
sparse_layout<T> make_sparse_layout(const sparse_matrix<T>& a,
                                    const typename sparse_product<T>::parameters& p,
                                    bool for_vectors)
{
    switch (p.format) {
    case sparse_format::crs:
        return crs_layout<T>(a);
    case sparse_format::ccs:
        return ccs_layout<T>(a);
    case sparse_format::bcrs:
        return bcrs_layout<T>(a, p.block);
    case sparse_format::subdivided_crs:
        return subdivided_layout<T>(a, for_vectors);
    case sparse_format::dictionary:
        return dictionary_layout<T>(a, for_vectors);
    default:
        return diagonal_layout<T>(a);
    }
}

#define CUDAPHY_INSTANTIATE(T)                       \
    template struct compressed_layout<T>;            \
    template struct ccs_layout<T>;                   \
    template struct bcrs_layout<T>;                  \
    template struct subdivided_layout<T>;            \
    template struct dictionary_layout<T>;            \
    template struct diagonal_layout<T>;              \
    template sparse_layout<T> make_sparse_layout<T>( \
        const sparse_matrix<T>&, const sparse_product<T>::parameters&, bool);
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
#undef CUDAPHY_INSTANTIATE

} // namespace gr::cudaphy::kernels
