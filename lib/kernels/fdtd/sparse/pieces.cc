/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/sparse/product_cpu.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

//! Cuts units 0 ... count - 1 of a part into pieces of about sparse_piece::work.
template <typename Work>
void cut(int part, int64_t count, const Work& work, std::vector<sparse_piece>& pieces)
{
    int64_t first = 0, sum = 0;
    for (int64_t unit = 0; unit < count; ++unit) {
        sum += work(unit);
        if (sum >= sparse_piece::work || unit + 1 == count) {
            pieces.push_back({ part, first, unit + 1 });
            first = unit + 1;
            sum = 0;
        }
    }
}

//! Rows in pieces of `step` rows or multiples of that.
void cut_rows(int part,
              int64_t rows,
              double work_of_row,
              int64_t step,
              std::vector<sparse_piece>& pieces)
{
    const auto height =
        (int64_t(double(sparse_piece::work) / work_of_row) / step + 1) * step;
    for (int64_t first = 0; first < rows; first += height) {
        pieces.push_back({ part, first, std::min(first + height, rows) });
    }
}

} // namespace

template <typename T>
std::vector<sparse_piece> sparse_pieces(const crs_layout<T>& a, int64_t)
{
    std::vector<sparse_piece> pieces;
    cut(
        0,
        int64_t(a.tiles.size()) - 1,
        [&](int64_t tile) {
            const auto &begin = a.tiles[tile], &end = a.tiles[tile + 1];
            return end.entry - begin.entry + end.row - begin.row;
        },
        pieces);
    return pieces;
}

template <typename T>
std::vector<sparse_piece> sparse_pieces(const ccs_layout<T>&, int64_t)
{
    return { { 0, 0, 1 } };
}

template <typename T>
std::vector<sparse_piece> sparse_pieces(const bcrs_layout<T>& a, int64_t)
{
    std::vector<sparse_piece> pieces;
    cut(
        0,
        int64_t(a.start.size()) - 1,
        [&](int64_t top) {
            return (a.start[top + 1] - a.start[top]) * a.block * a.block + a.block;
        },
        pieces);
    return pieces;
}

template <typename T>
std::vector<sparse_piece> sparse_pieces(const subdivided_layout<T>& a, int64_t)
{
    std::vector<sparse_piece> pieces;
    cut(
        1,
        int64_t(a.long_rows.size()),
        [&](int64_t row) { return a.long_rows[row].entries; },
        pieces);
    cut(
        0,
        int64_t(a.chunks.size()),
        [&](int64_t chunk) {
            return a.chunks[chunk].rows() * (a.chunks[chunk].entries() + 1);
        },
        pieces);
    return pieces;
}

template <typename T>
std::vector<sparse_piece> sparse_pieces(const dictionary_layout<T>& a, int64_t rows)
{
    auto pieces = sparse_pieces(a.others, rows);
    if (a.patterns.size() > 0) {
        double entries = 0;
        for (const auto& run : a.patterns.runs) {
            if (run.pattern != a.patterns.none) {
                const auto start = a.patterns.start.begin() + run.pattern;
                entries += double(run.count) * (start[1] - start[0] + 1);
            }
        }
        cut_rows(2, rows, entries / rows, 64, pieces);
    }
    return pieces;
}

template <typename T>
std::vector<sparse_piece> sparse_pieces(const diagonal_layout<T>& a, int64_t rows)
{
    std::vector<sparse_piece> pieces;
    cut_rows(0, rows, double(a.diagonals.size()) + 1, 64, pieces);
    return pieces;
}

#define CUDAPHY_INSTANTIATE_LAYOUT(layout, T) \
    template std::vector<sparse_piece> sparse_pieces(const layout<T>&, int64_t);
#define CUDAPHY_INSTANTIATE(T)                       \
    CUDAPHY_INSTANTIATE_LAYOUT(crs_layout, T)        \
    CUDAPHY_INSTANTIATE_LAYOUT(ccs_layout, T)        \
    CUDAPHY_INSTANTIATE_LAYOUT(bcrs_layout, T)       \
    CUDAPHY_INSTANTIATE_LAYOUT(subdivided_layout, T) \
    CUDAPHY_INSTANTIATE_LAYOUT(dictionary_layout, T) \
    CUDAPHY_INSTANTIATE_LAYOUT(diagonal_layout, T)
CUDAPHY_INSTANTIATE(float)
CUDAPHY_INSTANTIATE(double)
CUDAPHY_INSTANTIATE(complex64)
#undef CUDAPHY_INSTANTIATE
#undef CUDAPHY_INSTANTIATE_LAYOUT

} // namespace gr::cudaphy::kernels
