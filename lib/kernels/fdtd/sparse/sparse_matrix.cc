/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/parallel.h"
#include <algorithm>
#include <complex>
#include <gnuradio/cudaphy/kernels/sparse_matrix.h>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace gr::cudaphy::kernels {
namespace {

[[noreturn]] void refuse(const std::string& what)
{
    throw std::invalid_argument("sparse matrix: " + what);
}

void check_size(const char* what, int64_t size)
{
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (size < 0 || size > most) {
        refuse(std::to_string(size) + " " + what + ", allowed are 0 to " +
               std::to_string(most));
    }
}

void check_indices(const char* what, view<const int64_t> indices, int64_t size)
{
    for (size_t e = 0; e < indices.size(); ++e) {
        if (indices[e] < 0 || indices[e] >= size) {
            refuse("entry " + std::to_string(e) + " has " + what + " " +
                   std::to_string(indices[e]) + ", but there are " +
                   std::to_string(size));
        }
    }
}

void check_lengths(const char* what, size_t indices, size_t values)
{
    if (indices != values) {
        refuse(std::to_string(indices) + " " + what + " for " + std::to_string(values) +
               " values");
    }
}

void check_row_start(int64_t rows, view<const int64_t> row_start, size_t entries)
{
    if (row_start.size() != size_t(rows) + 1) {
        refuse("row_start has " + std::to_string(row_start.size()) + " elements, " +
               std::to_string(rows) + " rows take " + std::to_string(rows + 1));
    }
    if (row_start[0] != 0) {
        refuse("row_start begins with " + std::to_string(row_start[0]) + " instead of 0");
    }
    for (int64_t row = 0; row < rows; ++row) {
        if (row_start[row + 1] < row_start[row]) {
            refuse("row_start descends at row " + std::to_string(row));
        }
    }
    if (size_t(row_start[rows]) != entries) {
        refuse("row_start ends with " + std::to_string(row_start[rows]) +
               ", but there are " + std::to_string(entries) + " entries");
    }
}

//! Sorts a row's entries by column, adds up those of one column in the order in which
//! they came, and returns how many are left.
template <typename T>
int64_t tidy_row(int32_t* column, T* value, int64_t count)
{
    if (!std::is_sorted(column, column + count)) {
        std::vector<std::pair<int32_t, T>> row(count);
        for (int64_t e = 0; e < count; ++e) {
            row[e] = { column[e], value[e] };
        }
        std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
            return a.first < b.first;
        });
        for (int64_t e = 0; e < count; ++e) {
            std::tie(column[e], value[e]) = row[e];
        }
    }
    int64_t kept = 0;
    for (int64_t e = 0; e < count; ++e) {
        if (kept > 0 && column[kept - 1] == column[e]) {
            value[kept - 1] += value[e];
        } else {
            column[kept] = column[e];
            value[kept++] = value[e];
        }
    }
    return kept;
}

template <typename T>
void tidy(sparse_matrix<T>& a)
{
    std::vector<int32_t> kept(a.rows);
    for_each_part(a.rows, 4096, [&](size_t first, size_t last) {
        for (size_t row = first; row < last; ++row) {
            const auto start = a.row_start[row];
            kept[row] = int32_t(tidy_row(a.column.data() + start,
                                         a.value.data() + start,
                                         a.row_start[row + 1] - start));
        }
    });
    int64_t end = 0;
    for (int64_t row = 0; row < a.rows; ++row) {
        const auto start = a.row_start[row];
        if (start != end) {
            std::copy_n(a.column.begin() + start, kept[row], a.column.begin() + end);
            std::copy_n(a.value.begin() + start, kept[row], a.value.begin() + end);
        }
        a.row_start[row] = end;
        end += kept[row];
    }
    a.row_start[a.rows] = end;
    a.column.resize(end);
    a.value.resize(end);
}

} // namespace

template <typename T>
sparse_matrix<T> sparse_matrix<T>::from_triplets(int64_t rows,
                                                 int64_t columns,
                                                 view<const int64_t> row,
                                                 view<const int64_t> column,
                                                 view<const T> value)
{
    check_size("rows", rows);
    check_size("columns", columns);
    check_lengths("row indices", row.size(), value.size());
    check_lengths("column indices", column.size(), value.size());
    check_indices("row", row, rows);
    check_indices("column", column, columns);

    sparse_matrix out;
    out.rows = rows;
    out.columns = columns;
    out.row_start.assign(rows + 1, 0);
    for (const int64_t r : row) {
        ++out.row_start[r + 1];
    }
    for (int64_t r = 0; r < rows; ++r) {
        out.row_start[r + 1] += out.row_start[r];
    }
    out.column.resize(value.size());
    out.value.resize(value.size());
    auto next = out.row_start;
    for (size_t e = 0; e < value.size(); ++e) {
        const auto place = next[row[e]]++;
        out.column[place] = int32_t(column[e]);
        out.value[place] = value[e];
    }
    tidy(out);
    return out;
}

template <typename T>
sparse_matrix<T> sparse_matrix<T>::from_crs(int64_t rows,
                                            int64_t columns,
                                            view<const int64_t> row_start,
                                            view<const int64_t> column,
                                            view<const T> value)
{
    check_size("rows", rows);
    check_size("columns", columns);
    check_lengths("column indices", column.size(), value.size());
    check_row_start(rows, row_start, value.size());
    check_indices("column", column, columns);

    sparse_matrix out;
    out.rows = rows;
    out.columns = columns;
    out.row_start.assign(row_start.begin(), row_start.end());
    out.column.assign(column.begin(), column.end());
    out.value.assign(value.begin(), value.end());
    tidy(out);
    return out;
}

template struct sparse_matrix<float>;
template struct sparse_matrix<double>;
template struct sparse_matrix<complex64>;

} // namespace gr::cudaphy::kernels
