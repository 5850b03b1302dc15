/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <string>
#include <vector>

namespace gr::cudaphy::kernels {

//! A sparse matrix in compressed rows: entries row_start[i] ... row_start[i + 1] - 1 are
//! those of row i. Columns ascend within a row and none comes twice.
template <typename T>
struct CUDAPHY_API sparse_matrix {
    int64_t rows = 0, columns = 0;
    std::vector<int64_t> row_start{ 0 }; //!< rows + 1
    std::vector<int32_t> column;
    std::vector<T> value;

    int64_t entries() const { return row_start.back(); }

    /*!
     * From triplets in any order; those of the same place add up. Explicit zeros stay.
     * \throws std::invalid_argument if the arrays differ in length, the sizes are
     * negative or above 2^31 - 1, or an index is out of range; what() names the first
     * one.
     */
    static sparse_matrix from_triplets(int64_t rows,
                                       int64_t columns,
                                       view<const int64_t> row,
                                       view<const int64_t> column,
                                       view<const T> value);
    /*!
     * From compressed rows in any order within a row, duplicates added up.
     * \throws std::invalid_argument as from_triplets(), or if row_start does not ascend
     * from 0 to the number of entries.
     */
    static sparse_matrix from_crs(int64_t rows,
                                  int64_t columns,
                                  view<const int64_t> row_start,
                                  view<const int64_t> column,
                                  view<const T> value);
};

} // namespace gr::cudaphy::kernels
